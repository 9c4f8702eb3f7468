# The main job of gptr, twice: with the scripted provider inside this process, then over HTTP against a mock service.
# Run from the root of the checkout: make demo

library(gptr)
source("tools/mock.R")
options(gptr.verbose = 2) # as at the console: the answer is shown as it streams

heading <- function(...) cat("\n== ", ..., "\n\n", sep = "")

# Shows code as the console would, then runs it in the caller's frame.
at_prompt <- function(...) {
  code <- c(...)
  cat(paste0(c("> ", rep("+ ", length(code) - 1L)), code, "\n"), sep = "")
  shown <- withVisible(eval(parse(text = code), parent.frame()))
  if (shown$visible) print(shown$value)
  invisible(shown$value)
}

# Both ways have to end alike: the call's result went back to the model, and the model answered.
expect_answer <- function(session) {
  results <- Filter(function(message) identical(message$role, "tool_result"), session$messages)
  told <- paste(unlist(lapply(results, function(message) message$content)), collapse = " ")
  if (!identical(session$text, "The sum is 42.") || !grepl("42", told, fixed = TRUE)) {
    stop("the session did not end as the demo promises", call. = FALSE)
  }
}

heading("1. A registered tool is an R function")
at_prompt(
  "off <- gptr_register(gptr_tool(",
  "  \"add\", \"Add two numbers\", namespace = \"demo\", exposure = \"r\", fun = function(a, b) a + b,",
  "  parameters = list(",
  "    type = \"object\", required = c(\"a\", \"b\"),",
  "    properties = list(a = list(type = \"number\"), b = list(type = \"number\"))",
  "  )",
  "))"
)
at_prompt("peter$demo$add(2, 3)")

heading("2. The model calls it from R code (a scripted model: no key, no network)")
at_prompt(
  "fake <- gptr_fake_provider(list(",
  "  list(tool = \"r\", input = list(code = \"peter$demo$add(40, 2)\")),",
  "  list(text = \"The sum is 42.\", chunk = 4, gap = 0.1)",
  "))"
)
at_prompt("session <- peter(\"Add 40 and 2 with the demo tool.\", model = fake, mode = \"auto\")")
at_prompt("session")
at_prompt("session |> summary()")
expect_answer(session)

heading("3. The same over HTTP and server-sent events")
mock <- start_mock(c(
  "{\"replies\": [",
  "  {\"tools\": [{\"name\": \"r\", \"input\": {\"code\": \"peter$demo$add(40, 2)\"}}]},",
  "  {\"text\": \"The sum is 42.\", \"gap_ms\": 50}",
  "]}"
))
tryCatch({
  cat("# A mock of a model service listens on port ", mock$port, ": ", mock$file, "\n", sep = "")
  Sys.setenv(MOCK_URL = sprintf("http://127.0.0.1:%d/v1", mock$port))
  at_prompt(
    "off_mock <- gptr_register(gptr_provider(",
    "  \"mock\", api = \"openai-completions\", base_url = Sys.getenv(\"MOCK_URL\"), auth = NULL, models = \"mock-1\"",
    "))"
  )
  at_prompt("session <- peter(\"Add 40 and 2 with the demo tool.\", model = \"mock/mock-1\", mode = \"auto\")")
  at_prompt("session")
  expect_answer(session)
}, finally = mock$stop())

off_mock()
off()
cat("\nIt works. The README says how to connect a model of your own.\n")
