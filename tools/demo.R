# The main job of gptr, twice: with the scripted provider inside this process, then over HTTP against a mock service.
# Run from the root of the checkout: make demo

library(gptr)
source("tools/mock.R")
options(gptr.verbose = 2) # as at the console: the answer is shown as it streams

say <- function(...) cat("\n== ", ..., "\n", sep = "")

# A session has to reach the same end on both ways.
expect_answer <- function(session, results) {
  result <- paste(unlist(results), collapse = " ")
  if (!identical(session$text, "The sum is 42.") || !grepl("42", result, fixed = TRUE)) {
    stop("the session did not end as the demo promises", call. = FALSE)
  }
}

tool_results <- function(session) {
  messages <- Filter(function(m) identical(m$role, "tool_result"), session$messages)
  lapply(messages, function(m) m$content)
}

add_tool <- gptr_tool(
  "add", "Add two numbers",
  parameters = list(
    type = "object", required = I(c("a", "b")),
    properties = list(a = list(type = "number"), b = list(type = "number"))
  ),
  fun = function(a, b) a + b,
  exposure = "r", namespace = "demo"
)
off_tool <- gptr_register(add_tool)

say("1. A registered tool is an R function: peter$demo$add(2, 3)")
print(peter$demo$add(2, 3))

say("2. The model calls it from R code (scripted provider, no network)")
fake <- gptr_fake_provider(list(
  list(tool = "r", input = list(code = "peter$demo$add(40, 2)")),
  list(text = "The sum is 42.", chunk = 4, gap = 0.05)
))
session <- peter("Add 40 and 2 with the demo tool.", model = fake, envir = new.env(), mode = "auto")
cat("\n\nThe session, printed:\n")
print(session)
expect_answer(session, tool_results(session))

say("3. The same over HTTP and server-sent events")
mock <- start_mock(c(
  '{"replies": [',
  '  {"tools": [{"name": "r", "input": {"code": "peter$demo$add(40, 2)"}}]},',
  '  {"text": "The sum is 42.", "gap_ms": 50}',
  "]}"
))
cat("service: ", mock$file, ", port ", mock$port, "\n", sep = "")
off_provider <- gptr_register(gptr_provider(
  "mock", api = "openai-completions", base_url = sprintf("http://127.0.0.1:%d/v1", mock$port), auth = NULL,
  models = "mock-1"
))
session <- tryCatch(
  peter("Add 40 and 2 with the demo tool.", model = "mock/mock-1", envir = new.env(), mode = "auto"),
  finally = mock$stop()
)
cat("\n\nThe session, printed:\n")
print(session)
expect_answer(session, tool_results(session))

off_provider()
off_tool()
cat("\nIt works. Try your own: peter(\"Summarize this table.\", mtcars, model = ...)\n")
