# A model service in a process of its own, for tests over real HTTP.

find_up <- function(path, from = getwd(), levels = 6L) {
  for (i in seq_len(levels)) {
    candidate <- file.path(from, path)
    if (file.exists(candidate)) return(normalizePath(candidate))
    from <- dirname(from)
  }
  NULL
}

# Waits until `ready()` is TRUE; FALSE when it was not within `seconds`.
wait_until <- function(ready, seconds = 20) {
  deadline <- Sys.time() + seconds
  while (!isTRUE(ready())) {
    if (Sys.time() > deadline) return(FALSE)
    Sys.sleep(0.01)
  }
  TRUE
}

# Starts the mock for the rest of the calling test. `replies` is a list of replies, see its own description; without one
# it obeys the prompts. With `faults`, a mock that knows them is needed.
serve <- function(replies = NULL, faults = FALSE, args = "--no-auth", env = parent.frame(), extra = list()) {
  testthat::skip_if_not_installed("processx")
  testthat::skip_if_not_installed("jsonlite")
  testthat::skip_if(!nzchar(Sys.which("python3")), "python3 is not there")
  full <- find_up("shared/mock/mock_llm.py")
  file <- if (!is.null(full)) full else if (!faults) find_up("tools/mock_llm.py")
  testthat::skip_if(is.null(file), "no mock service is there")
  work <- withr::local_tempdir(.local_envir = env)
  port_file <- file.path(work, "port")
  args <- c(file, if (!is.null(full)) args, "--port", "0", "--port-file", port_file)
  if (!is.null(replies)) {
    script <- file.path(work, "script.json")
    jsonlite::write_json(c(list(replies = replies), extra), script, auto_unbox = TRUE, null = "null")
    args <- c(args, "--script", script)
  }
  process <- processx::process$new("python3", args, stdout = NULL, stderr = file.path(work, "log"))
  withr::defer(process$kill(), envir = env)
  up <- wait_until(function() file.exists(port_file) || !process$is_alive())
  if (!up || !file.exists(port_file)) {
    stop("the mock did not start: ", paste(readLines(file.path(work, "log")), collapse = "\n"))
  }
  port <- readLines(port_file)
  list(url = paste0("http://127.0.0.1:", port), port = port, process = process,
    requests = function() jsonlite::fromJSON(paste0("http://127.0.0.1:", port, "/__requests"), simplifyVector = FALSE))
}

# A provider spec for a service.
wire <- function(service, name = "wire", auth = NULL, path = "/v1", ...) {
  gptr_provider(name, api = "openai-completions", base_url = paste0(service$url, path), auth = auth, models = "m-1", ...)
}
