# Starts a mock model service in the background. `script`: the lines of a JSON script, or NULL to obey the commands in
# the prompts. Value: list(`port`, `file` (which mock), `stop` (a function that ends it)). Needs Python 3 and a
# Unix shell.
start_mock <- function(script = NULL, root = ".") {
  candidates <- file.path(root, c("../shared/mock/mock_llm.py", "tools/mock_llm.py"))
  file <- candidates[file.exists(candidates)][[1L]]
  work <- tempfile("mock")
  dir.create(work)
  port_file <- file.path(work, "port")
  args <- c(shQuote(file), "--no-auth", "--port", "0", "--port-file", shQuote(port_file))
  if (!is.null(script)) {
    writeLines(script, file.path(work, "script.json"))
    args <- c(args, "--script", shQuote(file.path(work, "script.json")))
  }
  log <- file.path(work, "log")
  command <- paste("python3", paste(args, collapse = " "), ">", shQuote(log), "2>&1 & echo $!")
  pid <- as.integer(system(command, intern = TRUE))
  deadline <- Sys.time() + 10
  while (!file.exists(port_file)) {
    if (Sys.time() > deadline) {
      tools::pskill(pid)
      stop("the mock did not start: ", paste(readLines(log), collapse = "\n"), call. = FALSE)
    }
    Sys.sleep(0.02)
  }
  list(port = as.integer(readLines(port_file)), file = normalizePath(file), stop = function() {
    tools::pskill(pid)
    unlink(work, recursive = TRUE)
    invisible(NULL)
  })
}
