# The session object: what it shows, and that it can't be changed from outside.

made <- function(...) peter("hi", model = fake("hello"), envir = new.env(parent = globalenv()), ...)

accessors <- c(
  "text", "value", "usage", "cost", "history", "messages", "model", "mode", "status", "reason", "id", "kind", "file",
  "turns", "envir", "children", "ext"
)

test_that("every accessor has its type, before and after a run", {
  session <- made(.run = FALSE)
  expect_identical(session$text, NA_character_)
  expect_null(session$value)
  expect_s3_class(session$usage, "data.frame")
  expect_identical(nrow(session$usage), 0L)
  expect_identical(session$cost, 0)
  expect_identical(nrow(session$history), 0L)
  expect_identical(session$messages, list())
  expect_identical(session$model, "fake/fake-1")
  expect_identical(session$mode, "manual")
  expect_identical(session$status, "idle")
  expect_identical(session$reason, NA_character_)
  expect_match(session$id, "^s[0-9a-f]{10}$")
  expect_identical(session$kind, "chat")
  expect_identical(session$file, NA_character_)
  expect_identical(session$turns, 0L)
  expect_true(is.environment(session$envir))
  expect_length(session$children, 0L)
  gptr_step(session)
  expect_identical(session$text, "hello")
  expect_identical(session$turns, 1L)
  expect_identical(vapply(session$messages, function(m) names(m)[[1]], ""), c("role", "role"))
})

test_that("usage and history are data frames with NA for what is unknown", {
  session <- run(fake(r_call("1 + 1"), "two"))
  usage <- session$usage
  expect_identical(usage$agent, c("main", "main"))
  expect_identical(usage$provider, c("fake", "fake"))
  expect_identical(usage$stop_reason, c("tool_use", "stop"))
  expect_true(all(usage$input > 0))
  expect_true(is.numeric(usage$cost) && is.logical(usage$estimated))
  expect_true(all(vapply(usage, is.atomic, NA)))
  history <- session$history
  expect_identical(history$role, c("user", "assistant", "tool_result", "assistant"))
  expect_identical(history$turn, c(1L, 1L, 1L, 1L))
  expect_identical(history$tools, c("", "r", "", ""))
  expect_identical(history$preview[[1]], "go")
  expect_true(is.numeric(history$tokens))
  partly <- gptr:::usage_rows(list(list(request_id = "q1", input = 1), list(cost = 2)))
  expect_identical(partly$input, c(1, NA))
  expect_identical(partly$cost, c(NA, 2))
  expect_identical(partly$request_id, c("q1", NA))
  expect_identical(partly$estimated, c(NA, NA))
})

test_that("a preview is one line of at most 60 characters", {
  session <- peter(prompt = paste0(strrep("x", 100), "\nmore"), model = fake("a"), envir = new.env())
  expect_identical(session$history$preview[[1]], strrep("x", 60))
})

test_that("case_7: nothing of a session or of peter can be set", {
  session <- made()
  cond <- caught(session$text <- "a")
  expect_s3_class(cond, "gptr_error_readonly")
  expect_identical(c(cond$object, cond$field), c("gptr_session", "text"))
  expect_s3_class(caught(session[["text"]] <- "a"), "gptr_error_readonly")
  expect_s3_class(caught(session$made_up <- 1), "gptr_error_readonly")
  expect_s3_class(caught(session[[1]] <- 1), "gptr_error_readonly")
  expect_identical(session$text, "hello")
  own <- peter
  cond <- caught(own$x <- 1)
  expect_s3_class(cond, "gptr_error_readonly")
  expect_identical(c(cond$object, cond$field), c("peter", "x"))
  expect_s3_class(caught(own[["x"]] <- 1), "gptr_error_readonly")
})

test_that("case_7: an unknown name is an error that lists the names, and no name matches in part", {
  session <- made()
  for (name in c("nope", "tex", "stat", ".data", "")) {
    cond <- caught(session[[name]])
    expect_s3_class(cond, "gptr_error_unknown_member")
    expect_identical(cond$name, name)
    expect_identical(cond$available, accessors)
  }
  expect_s3_class(caught(session$te), "gptr_error_unknown_member")
})

test_that("case_7: a child that is not there is an error of i", {
  session <- made()
  for (i in list(1, 0, -1, NA_real_, c(1, 2), TRUE, NULL, 1.5, Inf)) {
    cond <- caught(session[[i]])
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "i")
  }
})

test_that("[[ reads accessors as $ does", {
  session <- made()
  for (name in setdiff(accessors, c("envir", "usage", "history"))) {
    expect_identical(session[[name]], eval(as.call(list(as.name("$"), session, as.name(name)))), info = name)
  }
})

test_that("names and completion offer the accessors, then the children", {
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) {
    peter("x", model = fake("child"))$text
  }))
  expect_identical(names(session), c(accessors, names(session$children)))
  expect_identical(utils:::.DollarNames(session, "^te"), "text")
  expect_identical(utils:::.DollarNames(session, ""), names(session))
  expect_identical(utils:::.DollarNames(session, "^("), character())
  expect_identical(length(session), 1L)
})

test_that("case_12: a session prints its answer and a footer, and str() one line", {
  session <- made()
  lines <- utils::capture.output(shown <- withVisible(print(session)))
  expect_false(shown$visible)
  expect_identical(shown$value, session)
  expect_identical(lines[[1]], "hello")
  footer <- lines[[length(lines)]]
  expect_match(footer, "^idle")
  for (part in c("fake/fake-1", "1 turn", "tokens", "$0.0000")) expect_match(footer, part, fixed = TRUE)
  expect_true(endsWith(footer, session$id))
  separator <- if (l10n_info()[["UTF-8"]]) " \u00b7 " else " . "
  expect_length(strsplit(footer, separator, fixed = TRUE)[[1]], 6L)
  expect_identical(
    utils::capture.output(value <- withVisible(str(session))),
    paste0("<gptr_session ", session$id, " | chat | idle | 1 turns | fake/fake-1>")
  )
  expect_identical(value, list(value = NULL, visible = FALSE))
})

test_that("a session without an answer prints its footer alone", {
  session <- made(.run = FALSE)
  expect_length(utils::capture.output(print(session)), 1L)
})

test_that("two turns are turns", {
  session <- made()
  session |> peter("again")
  expect_match(utils::tail(utils::capture.output(print(session)), 1), "2 turns", fixed = TRUE)
})

test_that("format() and as.character() are the text; summary() prints the history", {
  session <- made()
  expect_identical(format(session), "hello")
  expect_identical(as.character(session), "hello")
  summed <- summary(session)
  expect_s3_class(summed, "gptr_session_summary")
  lines <- utils::capture.output(print(summed))
  expect_match(lines[[1]], "turn +role +preview")
  expect_length(lines, 3L)
})

test_that("text is the last whole answer: none with calls, none that failed", {
  session <- run(fake(list(text = "let me see", tool = "r", input = list(code = "1")), "the answer"))
  expect_identical(session$text, "the answer")
  cond <- caught(peter(session, "more", model = gptr_fake_provider(list(list(error = "no", status = 400)), name = "bad")))
  expect_identical(cond$session, session)
  expect_identical(session$text, "the answer")
  expect_identical(session$status, "error")
  expect_identical(session$messages[[length(session$messages)]]$stop_reason, "error")
})

test_that("case_15: gptr_return() outside of a run hands its argument on, with one notice a session", {
  state <- gptr:::return_notice
  withr::defer(state$given <- NULL)
  state$given <- NULL
  expect_message(value <- withVisible(gptr_return(42)), class = "gptr_message_notice")
  expect_identical(value, list(value = 42, visible = FALSE))
  expect_no_message(gptr_return(1))
})

test_that("a handed-over value may be NULL's neighbour: FALSE, an environment, a function", {
  home <- new.env(parent = globalenv())
  session <- run(fake(r_call("f <- function(x) x\ngptr_return(f)"), "end", r_call("gptr_return(FALSE)"), "end"), envir = home)
  expect_identical(session$value, home$f)
  session |> peter("again")
  expect_identical(session$value, FALSE)
})

test_that("messages have the fields of their role, and blocks their type first", {
  session <- run(fake(list(thinking = "hm", signature = "sig", text = "see", tool = "r", input = list(code = "1")), "end"))
  messages <- session$messages
  expect_identical(roles_of(session), c("user", "assistant", "tool_result", "assistant"))
  expect_true(all(c("role", "content", "source", "timestamp") %in% names(messages[[1]])))
  expect_true(all(c("api", "provider", "model", "usage", "stop_reason", "request_id") %in% names(messages[[2]])))
  expect_true(all(c("tool_call_id", "tool_name", "content", "is_error") %in% names(messages[[3]])))
  expect_identical(vapply(messages[[2]]$content, function(b) b$type, ""), c("thinking", "text", "tool_call"))
  expect_identical(messages[[2]]$content[[1]]$signature, "sig")
  expect_identical(messages[[2]]$content[[3]]$arguments, list(code = "1"))
  expect_identical(messages[[2]]$stop_reason, "tool_use")
  expect_false("value" %in% names(messages[[3]]))
  for (m in messages) expect_identical(names(m)[[1]], "role")
})

test_that("a copy of the handle is the same session", {
  session <- made()
  copy <- session
  copy |> peter("again")
  expect_identical(session$turns, 2L)
})

test_that("a session that was saved and read again is refused with a class, and kills nothing", {
  session <- made()
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(session, file)
  dead <- readRDS(file)
  for (expr in list(quote(dead$text), quote(dead$usage), quote(dead$status), quote(peter(dead, "x")), quote(gptr_step(dead)),
    quote(gptr_on(dead, "input", function(event, ctx) NULL)),
    quote(gptr_prompt(dead)))) {
    cond <- caught(eval(expr))
    expect_s3_class(cond, "gptr_error")
  }
  expect_identical(session$text, "hello")
})

test_that("gptr_on() listens to one session, and its remover works once", {
  session <- made(.run = FALSE)
  heard <- character()
  off <- withVisible(gptr_on(session, "message_end", function(event, ctx) heard <<- c(heard, event$role)))
  expect_false(off$visible)
  gptr_step(session)
  made()
  expect_identical(heard, c("user", "assistant"))
  removed <- withVisible(off$value())
  expect_identical(removed, list(value = TRUE, visible = FALSE))
  expect_false(off$value())
  session |> peter("again")
  expect_length(heard, 2L)
})

test_that("gptr_on() checks what it gets", {
  session <- made(.run = FALSE)
  h <- function(event, ctx) NULL
  rows <- list(
    s = quote(gptr_on("x", "input", h)), event = quote(gptr_on(session, "nope", h)), event = quote(gptr_on(session, 1, h)),
    event = quote(gptr_on(session, "PreToolUse", h)), handler = quote(gptr_on(session, "input", "h")),
    handler = quote(gptr_on(session, "input", function() NULL)), matcher = quote(gptr_on(session, "input", h, 1))
  )
  for (i in seq_along(rows)) {
    cond <- caught(eval(rows[[i]]))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, names(rows)[[i]], info = deparse(rows[[i]]))
  }
  expect_match(conditionMessage(caught(gptr_on(session, "PreToolUse", h))), "tool_call")
})

test_that("case_64: a session keeps its prompt, a new one sees what is registered now", {
  model <- fake("a", "b")
  off <- gptr_register(gptr_prompt_section("frozen_rule", "Rule one of the tests."))
  session <- peter("hi", model = model, envir = new.env())
  off()
  session |> peter("again")
  later <- fake("c")
  peter("hi", model = later, envir = new.env())
  holds <- function(request) grepl("Rule one of the tests.", paste(unlist(request$system), collapse = ""), fixed = TRUE)
  expect_identical(vapply(c(model$log$requests, later$log$requests), holds, NA), c(TRUE, TRUE, FALSE))
  expect_match(paste(unlist(gptr_prompt(session)$system), collapse = ""), "Rule one of the tests.", fixed = TRUE)
})

test_that("case_61: gptr_prompt() sends nothing, sums its parts and checks its arguments", {
  view <- gptr_prompt()
  expect_s3_class(view, "gptr_prompt_view")
  expect_identical(names(view)[1:5], c("system", "tools_json", "first_message", "sections", "total_tokens"))
  expect_true(all(c("preamble", "tools", "rules") %in% view$sections$name))
  expect_true(is.na(gptr_prompt(tokens = FALSE)$total_tokens))
  expect_true(all(is.na(gptr_prompt(tokens = FALSE)$sections$tokens)))
  rows <- list(preset = quote(gptr_prompt(preset = "nosuch")), x = quote(gptr_prompt(1)), tokens = quote(gptr_prompt(tokens = NA)),
    preset = quote(gptr_prompt(preset = 1)))
  for (i in seq_along(rows)) expect_identical(caught(eval(rows[[i]]))$arg, names(rows)[[i]])
})

test_that("a usage row and a message say when and by whom", {
  session <- made()
  expect_match(session$usage$request_id, "^q")
  expect_identical(session$usage$session, session$id)
  expect_equal(session$usage$started, as.numeric(Sys.time()), tolerance = 60)
})
