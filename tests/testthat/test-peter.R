# How peter() reads its arguments: dots, bare names, options, and what it hands back.

quiet_env <- function() new.env(parent = globalenv())

ask <- function(...) peter(..., model = model, envir = quiet_env())

# ---- dots -----------------------------------------------------------------------------------------------------------

test_that("case_1: a prompt gives a session with its answer, status, turns and one usage row", {
  model <- fake("hello")
  session <- peter("hi", model = model, envir = quiet_env())
  expect_s3_class(session, "gptr_session")
  expect_identical(session$text, "hello")
  expect_identical(session$status, "idle")
  expect_identical(session$turns, 1L)
  expect_identical(nrow(session$usage), 1L)
  expect_identical(model$log$n, 1L)
  expect_identical(last_words(model), "hi")
})

test_that("case_1: the pipe continues the identical object", {
  model <- fake("one", "two")
  first <- peter("a", model = model, envir = quiet_env())
  second <- first |> peter("b")
  expect_identical(second, first)
  expect_identical(second$turns, 2L)
  expect_identical(second$text, "two")
  expect_identical(vapply(second$messages[c(1, 3)], function(m) m$source, ""), c("prompt", "pipe"))
})

test_that("the first unnamed literal is the prompt; without one the first string in a variable", {
  model <- fake("ok")
  words <- "from a variable"
  peter(words, "the literal", model = model, envir = quiet_env())
  expect_identical(last_words(model, 1), "the literal")
  expect_match(asked(model, 1), "from a variable", fixed = TRUE)
  peter(mtcars, words, model = model, envir = quiet_env())
  expect_identical(last_words(model, 2), "from a variable")
  peter(note = "named is context", words, model = model, envir = quiet_env())
  expect_identical(last_words(model, 3), "from a variable")
  expect_match(asked(model, 3), "named is context", fixed = TRUE)
})

test_that("case_4: two literals warn and the first is the prompt; prompt = settles it", {
  model <- fake("ok")
  expect_warning(peter("a", "b", model = model, envir = quiet_env()), class = "gptr_warning_two_prompts")
  expect_identical(last_words(model, 1), "a")
  expect_no_warning(peter("a", "b", prompt = "c", model = model, envir = quiet_env()))
  expect_identical(last_words(model, 2), "c")
})

test_that("case_5: an empty argument, an unbound symbol and no prompt are errors that name themselves", {
  model <- fake("never")
  cond <- caught(peter("x", , mtcars, model = model))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "...")
  expect_match(conditionMessage(cond), "2")
  expect_match(conditionMessage(cond), "comma")
  cond <- caught(peter("x", nope_nope, model = model))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "nope_nope")
  expect_match(conditionMessage(cond), "object 'nope_nope' not found")
  cond <- caught(peter(model = model))
  expect_s3_class(cond, "gptr_error_noninteractive")
  expect_identical(cond$what, "console")
  expect_identical(cond$questions, character())
  expect_identical(model$log$n, 0L)
})

test_that("an error in an argument is the user's own error", {
  model <- fake("never")
  boom <- function() stop("boom of mine")
  expect_error(peter("x", boom(), model = model), "boom of mine")
  delayedAssign("lazy", stop("lazy boom"))
  expect_error(peter("x", lazy, model = model), "lazy boom")
  expect_identical(model$log$n, 0L)
})

test_that("case_3: a session as a named argument is context of a new session", {
  old <- peter("hi", model = fake("first"), envir = quiet_env())
  model <- fake("second")
  new <- peter(earlier = old, "look at it", model = model, envir = quiet_env())
  expect_false(identical(new, old))
  expect_identical(new$turns, 1L)
  expect_match(asked(model), "earlier", fixed = TRUE)
  second <- peter("look", old, model = fake("third"), envir = quiet_env())
  expect_false(identical(second, old))
})

test_that("objects are attached under their names and described, never shown whole", {
  model <- fake("ok")
  cars <- mtcars
  huge <- 1:1e9
  peter("look", cars, huge, fitted = stats::lm(mpg ~ wt, cars), sqrt(2) + 1, model = model, envir = quiet_env())
  text <- asked(model)
  for (piece in c("cars", "<data.frame> 32 x 11", "huge", "fitted", "sqrt(2) + 1")) {
    expect_match(text, piece, fixed = TRUE)
  }
  expect_lt(nchar(text), 8000)
})

test_that("forwarded dots are taken as if they stood in the call", {
  model <- fake("ok")
  outer <- function(...) peter("the prompt", ..., model = model, envir = quiet_env())
  outer(mtcars, x = 42)
  expect_identical(last_words(model), "the prompt")
  expect_match(asked(model), "<data.frame> 32 x 11", fixed = TRUE)
  expect_match(asked(model), "x", fixed = TRUE)
  forward <- function(...) peter(..., model = model, envir = quiet_env())
  expect_identical(forward("words")$turns, 1L)
  expect_identical(last_words(model, 2), "words")
  first <- function(...) peter("p", ..1, model = model, envir = quiet_env())
  expect_identical(first(letters)$status, "idle")
  expect_error(outer(not_there_at_all), class = "gptr_error_invalid_argument")
})

test_that("a session among forwarded dots, at the first place, is continued", {
  session <- peter("hi", model = fake("one", "two"), envir = quiet_env())
  go_on <- function(...) peter(..., "again")
  expect_identical(go_on(session), session)
  expect_identical(session$text, "two")
})

test_that("text is sent in UTF-8 whatever its encoding", {
  model <- fake("ok")
  latin <- "caf\xe9"
  Encoding(latin) <- "latin1"
  peter(prompt = latin, model = model, envir = quiet_env())
  expect_identical(last_words(model), "caf\u00e9")
})

# ---- interpolation --------------------------------------------------------------------------------------------------

test_that("case_9: braces go out as typed unless interpolation is asked for", {
  model <- fake("ok")
  n <- 3
  held <- "n is {n}"
  send <- function(...) model$log$requests[[model$log$n]]$last_user
  peter("n is {n}", model = model)
  expect_identical(send(), "n is {n}")
  peter("{{n}}", model = model)
  expect_identical(send(), "{{n}}")
  on <- list(interpolate = TRUE)
  peter("n is {n}", model = model, .opts = on)
  expect_identical(send(), "n is 3")
  peter(held, model = model, .opts = on)
  expect_identical(send(), "n is {n}")
  peter("{{n}}", model = model, .opts = on)
  expect_identical(send(), "{n}")
  peter("{zz_not_there}", model = model, .opts = on)
  expect_identical(send(), "{zz_not_there}")
  withr::with_options(list(gptr.interpolate = TRUE), peter("now {n}", model = model))
  expect_identical(send(), "now 3")
})

test_that("interpolated values are formatted, joined, cut and not filled in again", {
  model <- fake("ok")
  n <- 3
  several <- c(1.5, 2, 10)
  trap <- "{n}"
  long <- strrep("x", 2000)
  frame <- mtcars
  many <- 1:51
  on <- list(interpolate = TRUE)
  peter("{several}|{trap}|{frame}|{many}", model = model, .opts = on)
  expect_identical(last_words(model, 1), "1.5, 2.0, 10.0|{n}|{frame}|{many}")
  peter("{long}", model = model, .opts = on)
  expect_identical(nchar(last_words(model, 2)), 1000L)
})

# ---- bare names and wrong values ------------------------------------------------------------------------------------

test_that("mode and model take bare names", {
  registered(gptr_fake_provider(list("from barry"), name = "barry"))
  session <- peter("hi", model = barry, mode = edits, envir = quiet_env())
  expect_identical(session$text, "from barry")
  expect_identical(session$mode, "edits")
  expect_identical(session$model, "barry/barry-1")
  session <- peter("hi", model = "barry/barry-1", mode = "plan", envir = quiet_env())
  expect_identical(session$mode, "plan")
})

test_that("a variable that holds a provider spec is that provider, whatever its name", {
  auto <- fake("mine")
  expect_identical(peter("hi", model = auto, mode = auto, envir = quiet_env())$text, "mine")
})

test_that("case_8: values of a wrong kind are errors of their argument", {
  model <- fake("never")
  cond <- caught(peter("x", model = mtcars))
  expect_s3_class(cond, "gptr_error_invalid_identifier")
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_true("data.frame" %in% cond$class)
  expect_identical(cond$arg, "model")
  cond <- caught(peter("x", model = model, mode = "yolo"))
  expect_identical(cond$arg, "mode")
  for (known in c("plan", "manual", "edits", "auto")) expect_match(conditionMessage(cond), known)
  expect_identical(caught(peter("x", model = model, mode = yolo))$arg, "mode")
  wrong <- list(
    model = quote(peter("x", model = c("a/b", "c/d"))), model = quote(peter("x", model = 42)),
    model = quote(peter("x", model = gptr_command("hello", function(args, ctx) NULL))),
    mode = quote(peter("x", model = model, mode = 1)), mode = quote(peter("x", model = model, mode = c("plan", "auto"))),
    envir = quote(peter("x", model = model, envir = 1)), envir = quote(peter("x", model = model, envir = NULL)),
    tools = quote(peter("x", model = model, tools = 1)), tools = quote(peter("x", model = model, tools = list("r"))),
    extensions = quote(peter("x", model = model, extensions = 1)),
    extensions = quote(peter("x", model = model, extensions = "no/such/file.R")),
    prompt = quote(peter(prompt = 1, model = model)), prompt = quote(peter(prompt = c("a", "b"), model = model)),
    prompt = quote(peter(prompt = NA_character_, model = model)),
    .run = quote(peter("x", model = model, .run = NA)), .opts = quote(peter("x", model = model, .opts = "x")),
    .opts = quote(peter("x", model = model, .opts = list(1)))
  )
  for (i in seq_along(wrong)) {
    cond <- caught(eval(wrong[[i]]))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, names(wrong)[[i]], info = deparse(wrong[[i]]))
  }
  expect_identical(model$log$n, 0L)
})

test_that("no argument but the dots matches by a part of its name", {
  model <- fake("ok")
  peter("x", mod = 42, model = model, envir = quiet_env())
  expect_match(asked(model), "mod", fixed = TRUE)
})

test_that("an unknown model is an error that names it, no model at all one that says what to do", {
  cond <- caught(peter("x", model = "nobody/nothing"))
  expect_s3_class(cond, "gptr_error_unknown_model")
  expect_identical(cond$ref, "nobody/nothing")
  withr::local_options(gptr.model = NULL)
  cond <- caught(peter("x"))
  expect_s3_class(cond, "gptr_error_no_key")
  expect_true(is.na(cond$provider))
})

test_that("the option gptr.model is the default, and a wrong one is an error", {
  registered(gptr_fake_provider(list("by option"), name = "opted"))
  withr::local_options(gptr.model = "opted/opted-1")
  expect_identical(peter("hi", envir = quiet_env())$text, "by option")
  withr::local_options(gptr.model = 42)
  expect_identical(caught(peter("hi"))$arg, "gptr.model")
})

test_that("a provider without models is an unknown model", {
  empty <- gptr_provider("empty", api = "openai-completions", base_url = "http://127.0.0.1:9/v1")
  expect_s3_class(caught(peter("x", model = empty)), "gptr_error_unknown_model")
})

# ---- .opts, envir, .run ---------------------------------------------------------------------------------------------

test_that("case_6: an unknown option is named", {
  cond <- caught(peter("x", model = fake("never"), .opts = list(nope = 1)))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, ".opts")
  expect_match(conditionMessage(cond), ".opts$nope", fixed = TRUE)
})

test_that("options are checked", {
  for (opts in list(
    list(max_turns = 0), list(max_turns = 1.5), list(max_turns = "2"), list(interpolate = NA), list(context = "all"),
    list(preset = 1), list(preset = "nosuch"), list(thinking = TRUE), list(system = 1)
  )) {
    expect_s3_class(caught(peter("x", model = fake("never"), .opts = opts)), "gptr_error_invalid_argument")
  }
})

test_that("case_65: a system prompt of one's own replaces preamble, tools and rules", {
  model <- fake("ok")
  peter("x", model = model, envir = quiet_env(), .opts = list(system = "You count."))
  request <- model$log$requests[[1]]
  expect_true(startsWith(request$system$t0, "You count."))
  expect_no_match(request$system$t0, "<tools>", fixed = TRUE)
  expect_no_match(request$system$t0, "<rules>", fixed = TRUE)
  expect_true("r" %in% unlist(request$tools))
})

test_that("case_10: the workspace is told, and context = none keeps it back", {
  model <- fake("ok")
  home <- quiet_env()
  home$distinctly_named <- 1:3
  peter("x", model = model, envir = home)
  expect_match(asked(model, 1), "distinctly_named")
  peter("x", model = model, envir = home, .opts = list(context = "none"))
  expect_no_match(asked(model, 2), "distinctly_named")
})

test_that("case_36: max_turns bounds the requests of a run", {
  model <- fake(r_call("1"))
  cond <- caught(run(model, .opts = list(max_turns = 2)))
  expect_s3_class(cond, "gptr_error_max_turns")
  expect_identical(cond$max_turns, 2L)
  expect_identical(cond$session$status, "max_turns")
  expect_identical(model$log$n, 2L)
  expect_balanced(cond$session)
})

test_that("code runs in the caller's frame, in envir, or in the session's home", {
  caller <- function() {
    peter("x", model = fake(r_call("made <- 1"), "ok"), mode = "auto")
    made
  }
  expect_identical(caller(), 1)
  home <- quiet_env()
  session <- peter("x", model = fake(r_call("made <- 2"), "ok", r_call("made <- made + 1"), "ok"), envir = home, mode = "auto")
  expect_identical(home$made, 2)
  expect_identical(session$envir, home)
  session |> peter("more")
  expect_identical(home$made, 3)
  expect_false(exists("made", inherits = FALSE))
})

test_that("case_11: .run = FALSE builds the session, gptr_step() runs it, and then there is nothing to do", {
  model <- fake("hello")
  built <- withVisible(peter("hi", model = model, envir = quiet_env(), .run = FALSE))
  expect_false(built$visible)
  session <- built$value
  expect_identical(session$status, "idle")
  expect_identical(session$text, NA_character_)
  expect_identical(session$turns, 0L)
  expect_identical(model$log$n, 0L)
  stepped <- withVisible(gptr_step(session))
  expect_false(stepped$visible)
  expect_identical(stepped$value, session)
  expect_identical(model$log$n, 1L)
  expect_identical(session$status, "idle")
  gptr_step(session)
  expect_identical(model$log$n, 1L)
})

test_that("a step is one model turn, and the run goes on where it was left", {
  model <- fake(r_call("1"), r_call("2"), "end")
  session <- run(model, .run = FALSE)
  gptr_step(session)
  expect_identical(model$log$n, 1L)
  expect_identical(session$status, "running")
  expect_length(results_of(session), 1L)
  gptr_step(session)
  expect_identical(model$log$n, 2L)
  gptr_step(session)
  expect_identical(c(model$log$n, session$status, session$text), c("3", "idle", "end"))
  expect_balanced(session)
})

test_that("a prompt for a run that was left is a steer", {
  model <- fake(r_call("1"), "end")
  session <- run(model, .run = FALSE)
  gptr_step(session)
  session |> peter("be brief")
  expect_identical(roles_of(session), c("user", "assistant", "tool_result", "operator", "assistant"))
  expect_identical(session$text, "end")
  expect_identical(session$turns, 1L)
})

test_that("gptr_step() takes a session and a count", {
  session <- peter("x", model = fake("a"), envir = quiet_env(), .run = FALSE)
  expect_identical(caught(gptr_step("x"))$arg, "s")
  for (turns in list(0, 1.5, NA, "1", -Inf, c(1, 2))) expect_identical(caught(gptr_step(session, turns))$arg, "turns")
  gptr_step(session, Inf)
  expect_identical(session$text, "a")
})

test_that("a session is visible, and invisible when it was streamed to the console", {
  expect_true(withVisible(peter("x", model = fake("a"), envir = quiet_env()))$visible)
  withr::local_options(gptr.verbose = 2)
  expect_output(shown <- withVisible(peter("x", model = fake("streamed"), envir = quiet_env())), "streamed")
  expect_false(shown$visible)
})

test_that("modes and models are kept by a continued session and can be changed", {
  session <- peter("x", model = fake("a"), envir = quiet_env(), mode = "edits")
  session |> peter("y")
  expect_identical(session$mode, "edits")
  session |> peter("z", mode = plan)
  expect_identical(session$mode, "plan")
  other <- gptr_fake_provider(list("another"), name = "other")
  session |> peter("w", model = other)
  expect_identical(session$model, "other/other-1")
  expect_identical(session$text, "another")
  withr::local_options(gptr.mode = "auto")
  expect_identical(peter("x", model = fake("a"), envir = quiet_env())$mode, "auto")
})

test_that("session tools given again replace the earlier ones", {
  say <- function(text) plain_tool("say", function(input, ctx) text)
  session <- run(fake(call_of("say"), "x", call_of("say"), "y"), tools = say("one"))
  session |> peter("again", tools = list(say("two")))
  expect_identical(c(result_text(session, 1), result_text(session, 2)), c("one", "two"))
})

test_that("arguments of later versions are refused, not ignored", {
  for (call in list(
    quote(peter("x", model = fake("a"), skills = "s")), quote(peter("x", model = fake("a"), plugins = "p")),
    quote(peter("x", model = fake("a"), agents = list()))
  )) {
    expect_s3_class(caught(eval(call)), "gptr_error_not_available")
  }
})

test_that("case_13: an extension that stops fails the call, and nothing is sent", {
  model <- fake("never")
  cond <- caught(peter("x", model = model, extensions = function(gptr) stop("not today")))
  expect_s3_class(cond, "gptr_error_extension")
  expect_match(conditionMessage(cond), "not today")
  expect_identical(model$log$n, 0L)
})

# ---- errors of a run ------------------------------------------------------------------------------------------------

test_that("case_30: a failing provider is a classed condition with the session, which can go on", {
  rows <- list(
    list(list(error = "bad key", status = 401), "gptr_error_auth"),
    list(list(error = "slow down", status = 429, retry_after = 120), "gptr_error_retry_after"),
    list(list(error = "odd", status = 418), "gptr_error_provider"),
    list(list(error = "insufficient_quota: pay", status = 429), "gptr_error_provider"),
    list(list(error = "mid", after = 2), "gptr_error_provider")
  )
  for (row in rows) {
    model <- fake(row[[1]], "fine again")
    cond <- caught(run(model))
    expect_s3_class(cond, row[[2]])
    expect_s3_class(cond, "gptr_error_provider")
    expect_s3_class(cond, "gptr_error")
    expect_identical(model$log$n, 1L, info = row[[1]]$error)
    expect_identical(cond$session$status, "error")
    expect_identical(cond$session$reason, conditionMessage(cond))
    expect_identical(cond$provider, "fake")
    expect_goes_on(cond$session, "fine again")
  }
})

test_that("case_59: what is wrong with a script is told", {
  texts <- c(
    "empty" = "the script is empty", "other" = "a reply must be a string or a list", "fails" = "script failed: no idea"
  )
  scripts <- list(empty = list(), other = list(42), fails = function(request) stop("no idea"))
  for (name in names(texts)) {
    withr::local_options(gptr.max_attempts = 1)
    cond <- caught(run(gptr_fake_provider(scripts[[name]])))
    expect_s3_class(cond, "gptr_error_provider")
    expect_match(conditionMessage(cond), texts[[name]], fixed = TRUE)
  }
  seen <- NULL
  run(gptr_fake_provider(function(request) {
    seen <<- names(request)
    paste("you said", request$last_user)
  }), prompt = "echo me")
  expect_identical(seen, c("n", "model", "system", "tools", "messages", "last_user", "last_results", "params"))
})

test_that("case_19: an unknown tool, broken JSON and repeated names are error results, and the run goes on", {
  ran <- FALSE
  tool <- plain_tool("t", function(input, ctx) ran <<- TRUE)
  seen <- character()
  registered(gptr_hook("tool_call", function(event, ctx) {
    seen <<- c(seen, event$tool_name)
    NULL
  }))
  session <- run(fake(
    call_of("nope"), call_of("t", "{\"a\":"), call_of("t", "{\"a\":1,\"a\":2}"), call_of("t", "[1]"),
    call_of("t", list(extra = 1)), "end"
  ), tools = tool)
  expect_identical(result_text(session, 1), "Tool nope not found")
  expect_match(result_text(session, 2), "not valid JSON")
  expect_match(result_text(session, 3), "not valid JSON")
  expect_true(result_failed(session, 4))
  expect_match(result_text(session, 5), "extra")
  expect_identical(seen, character())
  expect_false(ran)
  expect_identical(session$text, "end")
  expect_balanced(session)
})

test_that("case_21: calls of a reply that was cut off are not executed", {
  ran <- FALSE
  session <- run(fake(list(tool = "t", input = list(), stop = "length"), "end"), tools = plain_tool("t", function(input, ctx) {
    ran <<- TRUE
    "x"
  }))
  expect_false(ran)
  expect_true(result_failed(session))
  expect_identical(session$text, "end")
})

test_that("case_26: a body that stops gives its message, or its class when that is empty", {
  session <- run(fake(call_of("a"), call_of("b"), call_of("c"), "end"), tools = list(
    plain_tool("a", function(input, ctx) stop("only this")),
    plain_tool("b", function(input, ctx) stop(structure(class = c("odd_one", "error", "condition"), list(message = "")))),
    plain_tool("c", function(input, ctx) mtcars)
  ))
  expect_identical(result_text(session, 1), "only this")
  expect_match(result_text(session, 2), "odd_one")
  expect_true(result_failed(session, 3))
})
