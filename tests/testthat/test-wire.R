# Real HTTP and server-sent events: what every trouble of a service becomes, and that the session lives on.

quick <- function(env = parent.frame(), attempts = 1L) {
  withr::local_options(gptr.max_attempts = attempts, gptr.max_retry_delay = 60, .local_envir = env)
}

add_tool <- function() {
  number <- list(type = "number")
  gptr_tool("add", "Add two numbers", parameters = list(type = "object", required = I(c("a", "b")),
    properties = list(a = number, b = number)), execute = function(input, ctx) as.character(input$a + input$b))
}

test_that("a text comes over HTTP, and a second turn", {
  service <- serve()
  session <- run(wire(service), prompt = "echo:hello over the wire")
  expect_identical(session$text, "hello over the wire")
  expect_identical(session$model, "wire/m-1")
  session <- peter(session, "echo:na\u00efve \u2713 \U1F600")
  expect_identical(session$text, "na\u00efve \u2713 \U1F600")
  expect_identical(Encoding(session$text), "UTF-8")
  expect_identical(session$status, "idle")
  expect_identical(nrow(session$usage), 2L)
})

test_that("what a model costs that has no price is unknown, not nothing", {
  service <- serve()
  session <- run(wire(service), prompt = "echo:hello")
  expect_identical(session$cost, NA_real_)
  expect_match(utils::tail(utils::capture.output(print(session)), 1), "unknown cost")
})

test_that("a tool loop comes over HTTP", {
  service <- serve(list(
    list(tools = list(list(name = "add", input = list(a = 40, b = 2)))),
    list(tools = list(list(name = "r", input = list(code = "6 * 7")))), list(text = "both are 42")
  ))
  session <- run(wire(service), tools = add_tool())
  expect_identical(session$text, "both are 42")
  expect_identical(result_text(session, 1), "42")
  expect_match(result_text(session, 2), "[1] 42", fixed = TRUE)
  expect_balanced(session)
  expect_goes_on(session)
})

test_that("a refused connection is a network error with the session, which can go on", {
  quick()
  free <- list(url = "http://127.0.0.1:1")
  cond <- caught(run(wire(free)))
  expect_s3_class(cond, "gptr_error_network")
  expect_s3_class(cond, "gptr_error_provider")
  expect_identical(cond$provider, "wire")
  expect_identical(cond$session$status, "error")
  expect_balanced(cond$session)
  expect_goes_on(peter(cond$session, "again", model = fake("recovered", "and on")), "and on")
})

test_that("the table of troubles: class, requests made, and a next turn that works", {
  quick()
  rows <- list(
    list(reply = list(status = 401, error = list(type = "invalid_request_error", message = "Incorrect API key")),
      class = "gptr_error_auth", status = 401),
    list(reply = list(status = 403, error = list(message = "no access")), class = "gptr_error_auth", status = 403),
    list(reply = list(status = 404, error = list(message = "no such model")), class = "gptr_error_provider", status = 404),
    list(reply = list(status = 400, error = list(message = "bad request")), class = "gptr_error_provider", status = 400),
    list(reply = list(status = 429, error = list(message = "slow down")), class = "gptr_error_rate_limit", status = 429),
    list(reply = list(status = 429, error = list(message = "pay", code = "insufficient_quota", type = "insufficient_quota")),
      class = "gptr_error_provider", status = 429),
    list(reply = list(status = 500, error = list(message = "oops")), class = "gptr_error_overloaded", status = 500),
    list(reply = list(status = 503, error = list(message = "busy")), class = "gptr_error_overloaded", status = 503),
    list(reply = list(status = 400, error = list(message = "This model's maximum context length is 100 tokens",
      code = "context_length_exceeded")), class = "gptr_error_context_overflow", status = 400),
    list(reply = list(text = "never seen", fault = "html_error"), class = "gptr_error_overloaded", status = 502),
    list(reply = list(text = "never seen", fault = "drop"), class = "gptr_error_network"),
    list(reply = list(text = "never seen", fault = "empty_body"), class = "gptr_error_provider"),
    list(reply = list(text = "a long text that is cut in the middle of it", fault = "truncate"), class = "gptr_error_network"),
    list(reply = list(text = "a long text that is cut in the middle of it", fault = "reset"), class = "gptr_error_network"),
    list(reply = list(text = "a long text that ends too early, all in order", fault = "early_eof"), class = "gptr_error_provider"),
    list(reply = list(text = "a long text with an error inside of it", fault = "error_in_stream"), class = "gptr_error_provider"),
    list(reply = list(text = "moved", fault = "redirect_away"), class = "gptr_error_provider")
  )
  service <- serve(c(lapply(rows, function(row) row$reply), list(list(text = "works again"))), faults = TRUE,
    extra = list(repeat_last = TRUE))
  for (i in seq_along(rows)) {
    row <- rows[[i]]
    label <- paste(i, row$class)
    cond <- caught(run(wire(service)))
    expect_s3_class(cond, row$class)
    expect_true(inherits(cond, row$class), info = label)
    expect_true(inherits(cond, "gptr_error_provider"), info = label)
    expect_identical(cond$provider, "wire", info = label)
    expect_identical(cond$session$status, "error", info = label)
    if (!is.null(row$status)) expect_equal(cond$status, row$status, info = label)
    expect_true(nzchar(conditionMessage(cond)), info = label)
    expect_balanced(cond$session)
    # The conversation itself can go on, with whatever model.
    next_turn <- peter(cond$session, "again", model = fake("fine"))
    expect_identical(next_turn$text, "fine", info = label)
    expect_length(the$frames, 0L)
  }
  expect_identical(run(wire(service))$text, "works again")
})

test_that("after a trouble the same service answers the same session", {
  quick()
  service <- serve(list(
    list(text = "a long text that is cut in the middle of it", fault = "truncate"), list(text = "whole this time")
  ), faults = TRUE)
  cond <- caught(run(wire(service)))
  session <- peter(cond$session, "again")
  expect_identical(session$text, "whole this time")
  failed <- Filter(function(m) identical(m$stop_reason, "error"), session$messages)
  expect_length(failed, 1L)
  sent <- service$requests()
  last <- sent[[length(sent)]]$body$messages
  expect_false(any(vapply(last, function(m) identical(m$role, "assistant"), NA)))
})

test_that("odd but harmless streams are read whole", {
  faults <- c("crlf", "cr", "bom", "comments", "no_space", "multi_data", "unknown_event", "no_done", "no_usage", "null_content",
    "usage_every_chunk", "dup_finish", "split_bytes", "gzip", "json_instead_of_stream", "content_parts", "deep_json")
  service <- serve(lapply(faults, function(fault) list(text = "na\u00efve text \u2713 that is whole", fault = fault)), faults = TRUE)
  for (fault in faults) {
    outcome <- caught(run(wire(service)))
    expect_true(inherits(outcome, "gptr_session"), info = fault)
    if (inherits(outcome, "gptr_session")) {
      expect_identical(outcome$text, "na\u00efve text \u2713 that is whole", info = fault)
    }
  }
})

test_that("a redirect on the same host is followed or refused, but never loses the key to another origin", {
  quick()
  withr::local_envvar(GPTR_WIRE_KEY = "sk-wire-redirect-0123456789abcdef")
  service <- serve(list(list(text = "moved", fault = "redirect_away")), faults = TRUE)
  caught(run(wire(service, auth = "GPTR_WIRE_KEY")))
  away <- Filter(function(r) identical(r$port, "away"), service$requests())
  expect_no_match(paste(unlist(away), collapse = " "), "sk-wire-redirect")
})

test_that("503, 503, then an answer: tried again, within the bound", {
  quick(attempts = 4L)
  service <- serve(list(
    list(status = 503, error = list(message = "busy")), list(status = 503, error = list(message = "busy")), list(text = "at last")
  ))
  tried <- 0L
  registered(gptr_hook("retry_start", function(event, ctx) tried <<- tried + 1L))
  session <- run(wire(service))
  expect_identical(session$text, "at last")
  expect_identical(tried, 2L)
  expect_identical(sum(vapply(session$messages, function(m) identical(m$stop_reason, "error"), NA)), 2L)
})

test_that("broken JSON arguments from a service are an error result, and the run goes on", {
  ran <- FALSE
  stream <- function(...) paste0("data: ", c(...), "\n\n", collapse = "")
  delta <- function(id, arguments) {
    form <- paste0(
      '{"id":"x","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant",',
      '"tool_calls":[{"index":0,"id":"%s","type":"function","function":{"name":"t","arguments":%s}}]},"finish_reason":null}]}'
    )
    sprintf(form, id, jsonlite::toJSON(arguments, auto_unbox = TRUE))
  }
  end <- paste0('{"id":"x","object":"chat.completion.chunk","created":1,"model":"m-1",',
    '"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}')
  service <- serve(list(
    list(body = stream(delta("call_1", "{\"a\":"), end, "[DONE]")), list(body = stream(delta("call_2", "[1, 2"), end, "[DONE]")),
    list(text = "sorry")
  ), faults = TRUE)
  session <- run(wire(service), tools = plain_tool("t", function(input, ctx) {
    ran <<- TRUE
    "x"
  }))
  expect_false(ran)
  expect_match(result_text(session, 1), "not valid JSON")
  expect_true(result_failed(session, 2))
  expect_identical(session$text, "sorry")
  expect_balanced(session)
})

test_that("first byte and idle limits end a silent service", {
  quick()
  service <- serve(faults = TRUE)
  withr::local_options(gptr.first_byte_timeout = 0.3)
  cond <- caught(run(wire(service), prompt = "delay 60000 late"))
  expect_s3_class(cond, "gptr_error_timeout_first_byte")
  expect_s3_class(cond, "gptr_error_timeout")
  withr::local_options(gptr.first_byte_timeout = 30, gptr.idle_timeout = 0.3)
  cond <- caught(run(wire(service), prompt = "fault hang echo:a text with more than one piece in it"))
  expect_s3_class(cond, "gptr_error_timeout_idle")
  expect_goes_on(peter(cond$session, "again", model = fake("fine", "fine too")), "fine too")
})

test_that("B89: a key is in no condition, print, diagnostic, message or listing", {
  quick()
  key <- "sk-marked-7f3a9c1e5b2d8a60f4e7c9b1"
  withr::local_envvar(GPTR_MARKED_KEY = key)
  service <- serve(list(
    list(status = 401, error = list(message = paste("Incorrect API key provided:", key))),
    list(status = 500, error = list(message = paste("the header was Bearer", key))),
    list(tools = list(list(name = "r", input = list(code = "Sys.getenv('GPTR_MARKED_KEY')")))), list(text = "done")
  ), faults = TRUE)
  provider <- wire(service, auth = "GPTR_MARKED_KEY")
  registered(provider)
  show <- function(x) c(utils::capture.output(print(x)), utils::capture.output(utils::str(x)))
  shown <- c(show(provider), show(gptr_registry()), show(gptr_models()))
  outcomes <- list()
  withr::local_options(gptr.verbose = 3)
  for (i in 1:3) {
    text <- utils::capture.output(outcomes[[i]] <- caught(run("wire/m-1", mode = "auto")))
    shown <- c(shown, text)
  }
  sent <- service$requests()
  expect_true(all(vapply(sent, function(r) identical(r$headers$authorization, paste("Bearer", key)), NA)))
  bodies <- vapply(sent, function(r) as.character(jsonlite::toJSON(r$body, auto_unbox = TRUE, null = "null")), "")
  expect_no_match(paste(bodies, collapse = ""), key, fixed = TRUE)
  for (outcome in outcomes) {
    session <- if (inherits(outcome, "gptr_session")) outcome else outcome$session
    shown <- c(shown, show(outcome), show(session), show(session$messages), show(session$usage), show(session$history),
      session$text, session$reason, show(summary(session)), show(gptr_prompt(session)))
    if (!inherits(outcome, "gptr_session")) {
      shown <- c(shown, conditionMessage(outcome), show(unclass(outcome)[setdiff(names(outcome), "session")]))
    }
  }
  network <- caught(run(wire(list(url = "http://127.0.0.1:1"), name = "nobody", auth = "GPTR_MARKED_KEY")))
  shown <- c(shown, conditionMessage(network), show(network), show(gptr_registry(diagnostics = TRUE)))
  expect_identical(grep(key, shown, value = TRUE, fixed = TRUE), character())
  expect_identical(grep(substr(key, 4, 20), shown, value = TRUE, fixed = TRUE), character())
})

test_that("a key in a function or a literal header is hidden, too", {
  quick()
  key <- "sk-header-marked-55aa66bb77cc88dd"
  service <- serve(list(list(status = 401, error = list(message = paste("bad key", key)))), faults = TRUE)
  for (provider in list(
    wire(service, auth = function() key), wire(service, headers = list("X-Api-Key" = key), name = "headed")
  )) {
    cond <- caught(run(provider))
    shown <- c(utils::capture.output(print(provider)), conditionMessage(cond), utils::capture.output(print(cond$session)),
      utils::capture.output(utils::str(unclass(cond)[setdiff(names(cond), "session")])),
      utils::capture.output(utils::str(cond$session$messages)))
    expect_identical(grep(key, shown, value = TRUE, fixed = TRUE), character())
  }
})

test_that("a key that is missing is told by its variable, and nothing is sent", {
  withr::local_envvar(GPTR_NO_SUCH_KEY = NA)
  service <- serve()
  cond <- caught(run(wire(service, auth = "GPTR_NO_SUCH_KEY")))
  expect_s3_class(cond, "gptr_error_no_key")
  expect_true("GPTR_NO_SUCH_KEY" %in% unlist(cond$variables))
})

test_that("a session left in a stream by a jump is aborted, and goes on", {
  service <- serve(faults = TRUE)
  session <- NULL
  registered(gptr_hook("message_update", function(event, ctx) {
    session <<- ctx$session
    invokeRestart("out_of_the_stream")
  }))
  value <- withRestarts(
    run(wire(service), prompt = "fault hang echo:a text with more than one piece in it"),
    out_of_the_stream = function() "left"
  )
  expect_identical(value, "left")
  expect_identical(session$status, "aborted")
  expect_length(the$frames, 0L)
})
