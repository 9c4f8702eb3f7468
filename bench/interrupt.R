# How long Ctrl-C takes: SIGINT to a real Rscript process that is deep in a run.
# Promise: R is back within 200 ms, the session is `aborted`, and a second turn on it works.
# Needs processx, Python 3 and a Unix system. Run from the root of the checkout.

source("tools/mock.R")

# Each case builds `session` with its prompt queued; the second turn has to answer "again".
over_http <- function(prompt) {
  c(
    "gptr_register(gptr_provider('mock', api = 'openai-completions', base_url = Sys.getenv('MOCK_URL'), auth = NULL,",
    "                            models = 'mock-1'))",
    sprintf("session <- peter('%s', model = 'mock/mock-1', envir = new.env(), mode = 'auto', .run = FALSE)", prompt)
  )
}
in_body <- function(body) {
  c(
    "slow <- gptr_tool('slow', 'Take long', parameters = list(type = 'object'), exposure = 'direct',",
    sprintf("                  execute = function(input, ctx) { %s; 'done' })", body),
    "fake <- gptr_fake_provider(list(list(tool = 'slow', input = list()), 'again'))",
    "session <- peter('Go.', model = fake, envir = new.env(), mode = 'auto', tools = list(slow), .run = FALSE)"
  )
}
cases <- list(
  "HTTP, the first byte is awaited" = over_http("delay 60000 echo:late"),
  "HTTP, a stream that hangs" = over_http("fault hang echo:a text of more than one piece"),
  "scripted provider that hangs" = c(
    "fake <- gptr_fake_provider(list(list(hang = TRUE), 'again'))",
    "session <- peter('Go.', model = fake, envir = new.env(), mode = 'auto', .run = FALSE)"
  ),
  "tool body in Sys.sleep()" = in_body("Sys.sleep(60)"),
  "tool body in a loop of R code" = in_body("repeat sqrt(2)")
)
around <- function(case) {
  c(
    "library(gptr)", "options(gptr.verbose = 0)", case,
    "cat('started\\n')",
    "how <- tryCatch({ gptr_step(session); 'returned' }, interrupt = function(e) 'interrupt')",
    "back <- as.numeric(Sys.time())",
    "status <- session$status",
    "session <- peter(session, 'echo:again')",
    "cat(sprintf('%.6f|%s|%s|%s\\n', back, how, status, session$text))"
  )
}

settle_seconds <- 1 # from `started` to the signal: enough for the run to be where the case wants it
give_up_seconds <- 20

measure <- function(case, url) {
  script <- tempfile(fileext = ".R")
  writeLines(around(case), script)
  out <- tempfile()
  child <- processx::process$new("Rscript", script, stdout = out, stderr = "2>&1", env = c("current", MOCK_URL = url))
  on.exit(child$kill())
  lines <- function() if (file.exists(out)) readLines(out, warn = FALSE) else character()
  wait_for <- function(pattern) {
    deadline <- Sys.time() + give_up_seconds
    while (!any(grepl(pattern, lines())) && child$is_alive() && Sys.time() < deadline) Sys.sleep(0.01)
    grep(pattern, lines(), value = TRUE)
  }
  if (!length(wait_for("^started"))) return(c(NA, "did not start", utils::tail(lines(), 1L), ""))
  Sys.sleep(settle_seconds)
  sent <- as.numeric(Sys.time())
  child$signal(tools::SIGINT)
  answer <- wait_for("^[0-9.]+[|]")
  if (!length(answer)) return(c(NA, "never came back", utils::tail(lines(), 1L), ""))
  parts <- strsplit(answer[[1L]], "|", fixed = TRUE)[[1L]]
  c(round((as.numeric(parts[[1L]]) - sent) * 1000, 1), parts[2:4])
}

mock <- start_mock()
rows <- tryCatch(
  lapply(cases, measure, url = sprintf("http://127.0.0.1:%d/v1", mock$port)),
  finally = mock$stop()
)
table <- data.frame(names(cases), do.call(rbind, rows), row.names = NULL)
names(table) <- c("SIGINT while", "ms_to_R", "raised", "status", "second_turn")
print(table, row.names = FALSE, right = FALSE)

in_time <- !is.na(table$ms_to_R) & as.numeric(table$ms_to_R) <= 200
ok <- in_time & table$status == "aborted" & table$second_turn == "again"
cat(sprintf("\n%d of %d cases keep the promise\n", sum(ok), nrow(table)))
quit(status = as.integer(!all(ok)))
