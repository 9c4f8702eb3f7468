# Sessions driven together, waited for, stopped and spoken to.

built <- function(script, ...) peter("go", model = fake(script), .run = FALSE, ...)

test_that("case_40: many sessions run at once, names are kept", {
  slow <- gptr_fake_provider(list(list(text = "hi", delay = 0.2)))
  sessions <- lapply(1:200, function(i) peter("x", model = slow, .run = FALSE))
  names(sessions) <- paste0("n", 1:200)
  seconds <- system.time(team <- gptr_parallel(.list = sessions))[["elapsed"]]
  # One after another they would take 40 s.
  expect_lt(seconds, 10)
  expect_identical(names(team$children), paste0("n", 1:200))
  expect_identical(unname(vapply(team$children, function(s) s$text, "")), rep("hi", 200))
  expect_identical(team$status, "idle")
})

test_that("case_40: with max_active = 1 one request follows another", {
  events <- character()
  note <- function(what) function(event, ctx) {
    events <<- c(events, paste(what, event$session))
    NULL
  }
  slow <- gptr_fake_provider(list(list(text = "hi", delay = 0.05)))
  sessions <- lapply(1:3, function(i) peter("x", model = slow, .run = FALSE))
  for (s in sessions) {
    gptr_on(s, "message_update", note("first"))
    gptr_on(s, "usage", note("end"))
  }
  team <- gptr_parallel(.list = sessions, max_active = 1)
  ids <- vapply(sessions, function(s) s$id, "")
  expect_identical(events[!duplicated(events)], as.vector(rbind(paste("first", ids), paste("end", ids))))
  expect_identical(team$status, "idle")
})

test_that("case_40: waiting ends when the time is up, which is no error", {
  a <- built("done")
  b <- built(list(hang = TRUE))
  both <- list(a, b)
  expect_identical(gptr_wait(both, timeout = 0.1), both)
  expect_identical(c(a$status, b$status), c("idle", "running"))
  gptr_cancel(b)
  expect_identical(b$status, "aborted")
  expect_identical(b$reason, "user")
  gptr_cancel(both)
  expect_identical(a$status, "idle")
})

test_that("gptr_parallel() makes peter() calls together, however they are written", {
  echo <- gptr_fake_provider(function(request) toupper(request$last_user))
  earlier <- peter("one", model = echo)
  local_word <- function(...) gptr_parallel(...)
  word <- "three"
  team <- local_word(a = earlier |> peter("two"), b = gptr::peter(word, model = echo), peter("four", model = echo))
  expect_identical(names(team$children), c("a", "b", "..3"))
  expect_identical(vapply(unname(team$children), function(s) s$text, ""), c("TWO", "THREE", "FOUR"))
  expect_identical(team$a$id, earlier$id)
  expect_identical(team[["b"]]$turns, 1L)
  expect_identical(team[[3]]$text, "FOUR")
  expect_identical(team$kind, "team")
  expect_match(team$text, "### a (fake/fake-1)\nTWO\n\n### b (fake/fake-1)\nTHREE", fixed = TRUE)
  expect_identical(nrow(team$usage), 4L)
  expect_identical(team$cost, sum(team$usage$cost))
  expect_output(print(team), "idle")
  expect_error(team$nope, class = "gptr_error_unknown_member")
  expect_error(team[[4]], class = "gptr_error_invalid_argument")
  expect_error(peter(team, "all"), class = "gptr_error_invalid_argument")
  expect_identical(gptr_last()$id, team$id)
})

test_that("what is no call of peter() is refused before anything runs", {
  echo <- fake("hi")
  refused <- function(expr, arg) expect_identical(caught_error(expr)$arg, arg)
  refused(gptr_parallel(peter("x", model = echo), 1), "...")
  refused(gptr_parallel(peter("x", model = echo)$text), "...")
  refused(gptr_parallel(.list = list(peter("x", model = echo))), ".list")
  refused(gptr_parallel(a = peter("x", model = echo), a = peter("x", model = echo)), "...")
  refused(gptr_parallel(peter("x", model = echo), max_active = 0), "max_active")
  refused(gptr_parallel(peter("x", model = echo), on_error = "ignore"), "on_error")
  refused(gptr_wait(list(1)), "x")
  refused(gptr_wait(mtcars), "x")
  refused(gptr_wait(built("hi"), timeout = -1), "timeout")
  refused(gptr_cancel("s1"), "x")
  # The two calls that did run: a call whose value is used, and the session in `.list`.
  expect_identical(echo$log$n, 2L)
  expect_identical(gptr_parallel()$status, "idle")
})

test_that("a failure is seen in the child, or stops the others and is raised", {
  broken <- function() peter("x", model = fake(list(error = "no such model", code = "provider")), .run = FALSE)
  good <- built("fine")
  team <- gptr_parallel(.list = list(bad = broken(), good = good))
  expect_identical(team$status, "error")
  expect_identical(team$good$status, "idle")
  expect_match(team$reason, "no such model")
  hanging <- built(list(hang = TRUE))
  cond <- caught_error(gptr_parallel(.list = list(a = hanging, b = broken()), on_error = "stop"))
  expect_s3_class(cond, "gptr_error_provider")
  expect_identical(cond$session$status, "error")
  expect_identical(hanging$status, "aborted")
})

test_that("the condition of a single session is raised by gptr_wait(), of several not", {
  broken <- function() built(list(error = "no such model", code = "provider"))
  s <- broken()
  expect_s3_class(caught_error(gptr_wait(s)), "gptr_error_provider")
  expect_silent(gptr_wait(list(broken())))
})

test_that("closures of many sessions never overlap, and an inner call in one of them leaves the others alone", {
  depth <- 0L
  deepest <- 0L
  tool <- gptr_tool("t", "d", parameters = list(type = "object"), execute = function(input, ctx) {
    depth <<- depth + 1L
    deepest <<- max(deepest, depth)
    inner <- peter("inner", model = fake(list(text = "deep", delay = 0.02)))
    depth <<- depth - 1L
    inner$text
  })
  make <- function() peter("x", model = fake(call_of("t"), "end"), tools = tool, mode = "auto", .run = FALSE)
  team <- gptr_parallel(.list = lapply(1:5, function(i) make()))
  expect_identical(unique(vapply(team$children, function(s) s$text, "")), "end")
  expect_identical(deepest, 1L)
})

test_that("a run can't be waited for from inside", {
  seen <- NULL
  other <- built("other")
  s <- peter("x", model = fake("hi"), .run = FALSE)
  gptr_on(s, "message_end", function(event, ctx) {
    seen <<- caught_error(gptr_wait(list(other, s)))
    NULL
  })
  gptr_wait(s)
  expect_s3_class(seen, "gptr_error_busy")
  expect_identical(other$turns, 0L)
})

test_that("case_32: gptr_cancel() from a hook ends the run, which can go on", {
  s <- peter("x", model = fake(list(text = "partial answer", chunk = 4, gap = 0.02), "whole"), .run = FALSE)
  off <- gptr_on(s, "message_update", function(event, ctx) {
    gptr_steer(s, "dropped")
    gptr_cancel(s)
    NULL
  })
  ended <- character()
  gptr_on(s, "turn_end", function(event, ctx) ended <<- c(ended, "turn_end"))
  gptr_wait(list(s))
  expect_identical(s$status, "aborted")
  expect_identical(ended, character())
  last <- s$messages[[length(s$messages)]]
  expect_identical(last$stop_reason, "aborted")
  off()
  expect_goes_on(s, "whole")
  expect_false(any(grepl("dropped", vapply(s$messages, texts_of, ""))))
})

test_that("case_35: a follow-up waits in an idle session", {
  s <- peter("x", model = fake("one", "two"))
  expect_invisible(gptr_steer(s, "more", as = "follow_up"))
  expect_identical(s$turns, 1L)
  gptr_wait(s)
  expect_identical(s$turns, 2L)
  said <- Filter(function(m) m$role == "user", s$messages)[[2]]
  expect_identical(said$source, "follow_up")
  expect_error(gptr_steer(s, "x", as = "later"), class = "gptr_error_invalid_argument")
})

test_that("gptr_steer() tells listeners of the queue", {
  s <- peter("x", model = fake("one", "two"))
  seen <- list()
  gptr_on(s, "queue_update", function(event, ctx) seen[[length(seen) + 1L]] <<- event)
  gptr_steer(s, "a", as = "follow_up")
  expect_identical(unlist(seen[[1]]$follow_up), "a")
  expect_length(seen[[1]]$steer, 0L)
})

test_that("code that the model wrote steers and stops no other session", {
  other <- built("other")
  home <- new.env(parent = globalenv())
  home$other <- other
  for (code in c("hidden_steer()", "hidden_cancel()")) {
    home$hidden_steer <- function() gptr_steer(other, "x")
    home$hidden_cancel <- function() gptr_cancel(other)
    s <- run(fake(r_call(code), "end"), envir = home)
    expect_match(result_text(s), "changes what the agent may do")
  }
  expect_identical(other$status, "idle")
})

test_that("an interrupt in one of many stops all", {
  stopper <- gptr_tool("t", "d", parameters = list(type = "object"), execute = function(input, ctx) {
    signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
    "not reached"
  })
  hanging <- built(list(hang = TRUE))
  a <- peter("x", model = fake(call_of("t"), "end"), tools = stopper, mode = "auto", .run = FALSE)
  how <- tryCatch(gptr_wait(list(hanging, a)), interrupt = function(e) "interrupt")
  expect_identical(how, "interrupt")
  expect_identical(c(hanging$status, a$status), c("aborted", "aborted"))
})
