# What handlers may ask of the session that runs them.

body_tool <- function(body, name = "work", ...) plain_tool(name, body, ...)

# Runs `body(input, ctx)` as the tool `work` and returns the session.
in_body <- function(body, ..., replies = list("done")) {
  model <- gptr_fake_provider(c(list(call_of("work")), replies))
  session <- run(model, tools = list(body_tool(body)), ...)
  list(session = session, model = model)
}

test_that("ctx$execute_tool() passes the pipeline and gives the value", {
  seen <- character()
  registered(gptr_hook("tool_call", function(event, ctx) {
    seen <<- c(seen, paste(event$tool_name, event$tool_call_id, event$nested))
    NULL
  }))
  registered(gptr_tool("half", "Halve", parameters = list(type = "object", properties = list(x = list(type = "number"))),
    execute = function(input, ctx) {
      if (input$x < 0) stop("below zero")
      gptr_tool_result("a half", value = input$x / 2)
    }))
  got <- NULL
  failed <- NULL
  ran <- in_body(function(input, ctx) {
    got <<- ctx$execute_tool("half", list(x = 3))
    failed <<- list(
      caught(ctx$execute_tool("half", list(x = -1))), caught(ctx$execute_tool("half", list(x = "a"))),
      caught(ctx$execute_tool("nope", list())))
    "ok"
  })
  expect_identical(got, 1.5)
  for (cond in failed) expect_s3_class(cond, "gptr_error_tool")
  expect_identical(vapply(failed, function(f) f$status, ""), c("error", "invalid", "not_found"))
  expect_identical(conditionMessage(failed[[1L]]), "below zero")
  expect_identical(seen, c("work fake_1_1 FALSE", "half fake_1_1/1 TRUE", "half fake_1_1/2 TRUE"))
  nested <- results_of(ran$session)[[1L]]$details$nested
  # What is no tool is not noted.
  expect_identical(vapply(nested, function(row) row$tool, ""), c("half", "half", "half"))
  expect_identical(nested[[1L]]$summary, "a half")
  expect_balanced(ran$session)
})

test_that("a policy sees and refuses what ctx$execute_tool() calls", {
  registered(gptr_policy("no_half", function(call, ctx) {
    if (call$name == "half") list(decision = "deny", reason = "not today")
  }))
  registered(plain_tool("half", function(input, ctx) "never"))
  cond <- NULL
  in_body(function(input, ctx) {
    cond <<- caught(ctx$execute_tool("half", list()))
    "ok"
  })
  expect_identical(cond$status, "denied")
  expect_match(conditionMessage(cond), "not today", fixed = TRUE)
})

test_that("an object that is no JSON reaches a body that was called from R as it is", {
  fit <- lm(mpg ~ wt, mtcars)
  got <- NULL
  registered(gptr_tool("keep", "Keep", parameters = list(type = "object", properties = list(x = list(description = "any"))),
    execute = function(input, ctx) {
      got <<- input$x
      "kept"
    }, namespace = "lab"))
  home <- new.env(parent = globalenv())
  home$fit <- fit
  run(fake(r_call("peter$lab$keep(x = fit)"), "done"), envir = home)
  expect_identical(got, fit)
})

test_that("ctx$update() is an event and a line", {
  seen <- list()
  registered(gptr_hook("tool_execution_update", function(event, ctx) {
    seen <<- c(seen, list(event[c("tool_call_id", "tool_name", "text")]))
  }))
  in_body(function(input, ctx) {
    ctx$update("1 of 2")
    ctx$update("2 of 2")
    "ok"
  })
  expect_identical(seen, list(
    list(tool_call_id = "fake_1_1", tool_name = "work", text = "1 of 2"),
    list(tool_call_id = "fake_1_1", tool_name = "work", text = "2 of 2")))
})

test_that("ctx$send() is a user message that names the extension", {
  ran <- in_body(function(input, ctx) {
    ctx$send("look again")
    ctx$send("and sum up", as = "follow_up")
    "ok"
  }, replies = list("first", "second"))
  users <- Filter(function(m) identical(m$role, "user"), ran$session$messages)
  expect_identical(vapply(users, function(m) m$source, ""), c("prompt", "extension", "extension"))
  expect_match(texts_of(users[[2L]]), "The extension 'session' sent this; the user did not write it:\n\nlook again",
    fixed = TRUE)
  expect_match(texts_of(users[[3L]]), "and sum up", fixed = TRUE)
  expect_identical(ran$session$text, "second")
  expect_identical(ran$model$log$n, 3L)
})

test_that("ctx$set_model() counts from the next request on", {
  registered(gptr_fake_provider(list("from the other"), name = "other"))
  seen <- NULL
  registered(gptr_hook("model_select", function(event, ctx) seen <<- event[c("from", "to", "reason")]))
  ran <- in_body(function(input, ctx) {
    ctx$set_model("other/other-1", reason = "harder")
    "ok"
  })
  expect_identical(ran$session$text, "from the other")
  expect_identical(ran$session$model, "other/other-1")
  expect_identical(seen, list(from = "fake/fake-1", to = "other/other-1", reason = "harder"))
  notes <- Filter(function(m) identical(m$role, "operator"), ran$session$messages)
  expect_identical(notes[[1L]]$kind, "model")
  unknown <- NULL
  in_body(function(input, ctx) {
    unknown <<- caught(ctx$set_model("nobody/none"))
    "ok"
  })
  expect_s3_class(unknown, "gptr_error_unknown_model")
})

test_that("ctx$add_tools() adds to the session alone, and the model is told", {
  late <- gptr_tool("late", "Come late", parameters = list(type = "object"), fun = function() "here", exposure = "r",
    namespace = "party")
  remove <- NULL
  ran <- in_body(function(input, ctx) {
    remove <<- ctx$add_tools(list(late))
    "ok"
  }, replies = list(r_call("peter$party$late()"), "done"))
  expect_match(result_text(ran$session, 2L), "here", fixed = TRUE)
  notes <- Filter(function(m) identical(m$kind, "tool_change"), ran$session$messages)
  expect_identical(texts_of(notes[[1L]]), "New tools are available from now on:\n- peter$party$late: Come late")
  expect_false("party" %in% names(peter))
  expect_true(remove())
  expect_false(remove())
  bad <- NULL
  in_body(function(input, ctx) {
    bad <<- caught(ctx$add_tools(mtcars))
    "ok"
  })
  expect_identical(bad$arg, "specs")
})

test_that("ctx$state() belongs to extension and session", {
  count <- function(input, ctx) {
    state <- ctx$state()
    state$n <- (state$n %||% 0L) + 1L
    paste("call", state$n)
  }
  one <- function(gptr) {
    gptr$register(plain_tool("one", count))
    gptr$on("turn_end", function(event, ctx) {
      state <- ctx$state()
      state$turns <- event$turn
    })
  }
  session <- run(fake(call_of("one"), call_of("one"), "done"), extensions = list(one))
  expect_identical(c(result_text(session, 1L), result_text(session, 2L)), c("call 1", "call 2"))
  expect_length(session$ext, 1L)
  expect_identical(mget(c("n", "turns"), session$ext[[1L]]), list(n = 2L, turns = 1L))
  expect_identical(run(fake("hello"))$ext, list())
})

test_that("ctx$append_entry() notes JSON under the extension's name", {
  conds <- NULL
  ran <- in_body(function(input, ctx) {
    ctx$append_entry("score", list(n = 2))
    conds <<- list(caught(ctx$append_entry("gptr.x", 1)), caught(ctx$append_entry("a b", 1)),
      caught(ctx$append_entry("env", new.env())))
    "ok"
  })
  entries <- session_get(ran$session, "entries")
  expect_length(entries, 1L)
  expect_identical(entries[[1L]]$type, "session.score")
  expect_equal(entries[[1L]]$data, list(n = 2))
  for (cond in conds) expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(vapply(conds, function(cond) cond$arg, ""), c("type", "type", "data"))
})

test_that("ctx$emit() reaches the hooks of a channel, and handlers that emit what they hear come to an end", {
  heard <- 0L
  registered(gptr_hook("lab:assay", function(event, ctx) {
    heard <<- heard + 1L
    if (identical(event$data$again, TRUE)) ctx$emit("lab:assay", event$data)
  }))
  before <- nrow(gptr_registry(diagnostics = TRUE))
  bad <- NULL
  ran <- in_body(function(input, ctx) {
    ctx$emit("lab:assay", list(again = FALSE))
    stopifnot(heard == 1L)
    ctx$emit("lab:assay", list(again = TRUE))
    bad <<- list(caught(ctx$emit("turn_end", 1)), caught(ctx$emit("lab:assay", mean)))
    "ok"
  })
  expect_identical(result_text(ran$session), "ok")
  expect_identical(heard, 17L)
  expect_identical(diagnostics_since(before)$class, "too_deep")
  expect_identical(vapply(bad, function(cond) cond$arg, ""), c("event", "data"))
})

test_that("ctx$eval() evaluates in the home, ctx$input is the call's input", {
  home <- new.env(parent = globalenv())
  got <- NULL
  model <- fake(call_of("work", list(n = 2)), "done")
  tool <- gptr_tool("work", "Work", parameters = list(type = "object", properties = list(n = list(type = "number"))),
    execute = function(input, ctx) {
      got <<- list(ctx$eval("y <- 3; y + 1"), ctx$eval(quote(y)), ctx$input, caught(ctx$eval("1 +")))
      "ok"
    })
  hooked <- NULL
  registered(gptr_hook("tool_call", function(event, ctx) {
    hooked <<- ctx$input
    NULL
  }))
  registered(gptr_policy("look", function(call, ctx) {
    hooked <<- list(hooked, ctx$input)
    NULL
  }))
  run(model, tools = list(tool), envir = home)
  expect_equal(got[1:3], list(4, 3, list(n = 2)))
  expect_s3_class(got[[4L]], "error")
  expect_identical(home$y, 3)
  hooked <- unlist(hooked)
  expect_true(all(hooked == 2) && length(hooked) >= 2L)
})

test_that("ctx$risk() analyses code and evaluates nothing", {
  risks <- NULL
  in_body(function(input, ctx) {
    risks <<- list(ctx$risk("unlink('a')"), ctx$risk("mean(1)"), caught(ctx$risk("1", kind = "sh")))
    "ok"
  })
  expect_s3_class(risks[[1L]], "gptr_risk")
  expect_identical(risks[[1L]]$level, 3L)
  expect_identical(risks[[1L]]$flagged$category, "file_delete")
  expect_identical(format(risks[[1L]]),
    c("<gptr_risk> level 3 (dangerous)", "  unlink(\"a\")  [3 file_delete]"))
  expect_identical(format(risks[[2L]]), "<gptr_risk> level 0 (read-only)")
  expect_identical(risks[[3L]]$arg, "kind")
})

test_that("without a person ctx$ui() asks nobody", {
  answers <- NULL
  in_body(function(input, ctx) {
    ui <- ctx$ui()
    answers <<- list(ctx$has_ui(), ui$name, ui$select("which?", c("a", "b")), ui$input("name?"),
      ui$permission(list())$decision)
    ui$notify("hello")
    "ok"
  })
  expect_identical(answers, list(FALSE, "none", NA_character_, NA_character_, "deny"))
})

test_that("members that need a session say so, others work without one", {
  ctx <- process_ctx()
  for (call in expression(ctx$send("x"), ctx$execute_tool("x", list()), ctx$set_model("a/b"), ctx$state(),
    ctx$append_entry("a", 1), ctx$emit("a:b"), ctx$usage(), ctx$abort(), ctx$add_tools(list()), ctx$mode())) {
    cond <- caught(eval(call))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "ctx")
  }
  expect_null(ctx$session)
  expect_null(ctx$input)
  expect_false(ctx$aborted())
  expect_identical(ctx$risk("1")$level, 0L)
  expect_match(ctx$describe(mtcars, 20)[[1L]], "data.frame")
  expect_s3_class(caught(ctx$decide("x?", 1)), "gptr_error_not_available")
  expect_s3_class(caught(ctx$nonsense), "gptr_error_unknown_member")
})

test_that("ctx$abort() ends the run after the body", {
  ran <- in_body(function(input, ctx) {
    stopifnot(!ctx$aborted())
    ctx$abort("enough")
    stopifnot(ctx$aborted())
    "finished"
  })
  expect_identical(ran$session$status, "aborted")
  expect_identical(ran$session$reason, "enough")
  expect_identical(result_text(ran$session), "finished")
  expect_balanced(ran$session)
})
