# What may run in which mode, who is asked, and what a refusal says.

# How a call of `r` with this code ends: "ran", "denied" (the run went on) or "blocked" (it ended), and the session.
attempt <- function(code, mode, home = new.env(parent = globalenv()), ...) {
  model <- fake(r_call(code), "end")
  outcome <- caught(run(model, mode = mode, envir = home, ...))
  session <- if (inherits(outcome, "gptr_session")) outcome else outcome$session
  list(
    how = if (inherits(outcome, "gptr_error_permission")) "blocked" else if (result_failed(session)) "denied" else "ran",
    session = session, cond = outcome, home = home, text = result_text(session), model = model
  )
}

modes <- c("plan", "manual", "edits", "auto")

test_that("case_42: code of every level in the four modes, with nobody present", {
  withr::local_dir(withr::local_tempdir())
  table <- list(
    list("mean(1)", c("ran", "ran", "ran", "ran")),
    list("z <- 1", c("ran", "blocked", "blocked", "ran")),
    list("utils::write.csv(mtcars, 'out.csv')", c("denied", "blocked", "blocked", "ran")),
    list("unlink('nothing.txt')", c("denied", "blocked", "blocked", "ran")),
    list("rm(list = ls())", c("denied", "blocked", "blocked", "blocked")),
    list("options(gptr.x = 1)", c("denied", "blocked", "blocked", "blocked")),
    list("gptr::gptr_reload()", c("denied", "blocked", "blocked", "blocked"))
  )
  for (row in table) {
    got <- vapply(modes, function(mode) attempt(row[[1]], mode)$how, "")
    expect_identical(unname(got), row[[2]], info = row[[1]])
  }
})

test_that("case_42: plan mode evaluates in scratch: nothing of the home changes", {
  home <- new.env(parent = globalenv())
  home$x <- 1
  tried <- attempt("z <- x + 1; z", "plan", home)
  expect_identical(tried$how, "ran")
  expect_match(tried$text, "[1] 2", fixed = TRUE)
  expect_false(exists("z", envir = home, inherits = FALSE))
  expect_identical(attempt("x <- 2", "plan", home)$how, "ran")
  expect_identical(home$x, 1)
  expect_identical(ls(home), "x")
  denied <- attempt("assign('x', 5, envir = globalenv())", "plan", home)
  expect_identical(denied$how, "denied")
  expect_match(denied$text, "^Permission denied: not known to be read-only in plan mode:")
  expect_identical(denied$session$status, "idle")
})

test_that("plan mode can't be left by way of an environment that is not the scratch one", {
  for (code in c(
    "e$v <- 2", "x <<- 2", "assign('v', 2, e)", "local(v <- 2, e)", "local(v <- 2, envir = e)", "with(e, v <- 2)",
    "e |> local(v <- 2, envir = _)", "do.call('local', list(quote(v <- 2), e))", "evalq(v <- 2, e)", "f <- function() e$v <- 2; f()",
    "e2 <- e; e2$v <- 2", "(function(env) env$v <- 2)(e)", "list2env(list(v = 2), e)", "rm('v', envir = e)",
    "environment(f)$v <- 2", "parent.frame()$x <- 2", "sapply(1, function(i) e$v <- 2)", "attr(e, 'k') <- 1"
  )) {
    home <- new.env(parent = globalenv())
    home$e <- new.env()
    home$e$v <- 1
    home$f <- function() 1
    environment(home$f) <- home$e
    denied <- attempt(code, "plan", home)
    expect_identical(denied$how, "denied", info = code)
    expect_identical(as.list(home$e), list(v = 1), info = code)
    expect_null(attributes(home$e))
    expect_identical(ls(home), c("e", "f"), info = code)
  }
})

test_that("case_27: a blocked run says what, why and how, and goes on in another mode", {
  tried <- attempt("x <- 1", "manual")
  cond <- tried$cond
  expect_s3_class(cond, "gptr_error_permission")
  expect_identical(cond$tool, "r")
  expect_type(cond$risk, "integer")
  expect_identical(cond$risk, 1L)
  expect_true("action" %in% names(cond))
  expect_match(cond$how_to_allow, "auto")
  expect_s3_class(cond$session, "gptr_session")
  expect_identical(cond$session$status, "blocked")
  expect_identical(cond$session$reason, conditionMessage(cond))
  expect_false(exists("x", envir = tried$home, inherits = FALSE))
  expect_identical(tried$model$log$n, 1L)
  expect_true(result_failed(cond$session))
  expect_balanced(cond$session)
  expect_goes_on(cond$session, "end")
})

test_that("case_27: with noninteractive_ask = deny the run goes on, and the model is told", {
  withr::local_options(gptr.noninteractive_ask = "deny")
  tried <- attempt("x <- 1", "manual")
  expect_identical(tried$how, "denied")
  expect_identical(tried$session$status, "idle")
  last <- tried$model$log$requests[[2]]$last_results[[1]]
  expect_true(last$is_error)
  expect_match(tried$text, "^Permission denied")
})

test_that("calls after the blocked one are closed, not run", {
  ran <- character()
  model <- fake(list(tools = list(
    list(name = "r", input = list(code = "x <- 1"), id = "a"), list(name = "t", input = list(), id = "b")
  )), "end")
  cond <- caught(run(model, mode = "manual", tools = plain_tool("t", function(input, ctx) {
    ran <<- "t"
    "x"
  }, annotations = list(read_only = TRUE))))
  expect_s3_class(cond, "gptr_error_permission")
  expect_identical(ran, character())
  expect_length(results_of(cond$session), 2L)
  expect_balanced(cond$session)
})

test_that("other tools are judged by their risk, their annotation, else as level 2", {
  ends <- function(mode, ...) {
    outcome <- caught(run(fake(call_of("t"), "end"), mode = mode, tools = plain_tool("t", function(input, ctx) "x", ...)))
    if (inherits(outcome, "gptr_error_permission")) "blocked" else if (result_failed(outcome)) "denied" else "ran"
  }
  all_modes <- function(...) unname(vapply(modes, ends, "", ...))
  expect_identical(all_modes(annotations = list(read_only = TRUE)), c("ran", "ran", "ran", "ran"))
  expect_identical(all_modes(), c("denied", "blocked", "blocked", "ran"))
  expect_identical(all_modes(risk = function(input, ctx) 0L), c("ran", "ran", "ran", "ran"))
  expect_identical(all_modes(risk = function(input, ctx) 3L), c("denied", "blocked", "blocked", "ran"))
  expect_identical(all_modes(risk = function(input, ctx) 4L), c("denied", "blocked", "blocked", "blocked"))
  for (bad in list(
    function(input, ctx) stop("no idea"), function(input, ctx) "low", function(input, ctx) 7L, function(input, ctx) NA
  )) {
    expect_identical(all_modes(risk = bad), c("denied", "blocked", "blocked", "ran"))
  }
})

test_that("a registered policy decides over every mode; deny is an error result with its reason", {
  registered(gptr_policy("no_t", function(call, ctx) {
    if (call$name == "t") list(decision = "deny", reason = "t is closed")
  }))
  ran <- FALSE
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) ran <<- TRUE))
  expect_false(ran)
  expect_match(result_text(session), "^Permission denied: t is closed")
  expect_identical(session$status, "idle")
})

test_that("case_97 and H16: unusable answers of a policy deny, no opinion allows", {
  ends <- function(answer) {
    off <- gptr_register(gptr_policy("answers", function(call, ctx) answer))
    on.exit(off())
    session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) "x"))
    if (result_failed(session)) "denied" else "ran"
  }
  for (answer in list(NULL, list(), list(reason = "only that"), list(decision = "allow"))) {
    expect_identical(ends(answer), "ran", info = deparse(answer))
  }
  for (answer in list(
    list(decision = "Deny"), list(decision = "deny"), list(decision = NA), list(decision = NA_character_),
    list(decision = c("allow", "deny")),
    list(decision = "allo"), list(decision = 1), list(decision = list("allow")), "allow", "yes", TRUE, 1, NA,
    list(decision = "modify"), list(decision = "modify", input = "x"), list(decision = "modify", input = list(1)),
    list(decision = "allow", decision = "deny")
  )) {
    expect_identical(ends(answer), "denied", info = deparse(answer))
  }
})

test_that("case_23 and 24: policies that modify chain, and one that never ends denies", {
  swap <- gptr_policy("swap", function(call, ctx) {
    if (call$name == "r" && call$input$code == "x <- 1") list(decision = "modify", input = list(code = "x <- 2"))
  })
  off <- gptr_register(swap)
  home <- new.env(parent = globalenv())
  session <- run(fake(r_call("x <- 1"), "end"), envir = home)
  off()
  expect_identical(home$x, 2)
  expect_identical(results_of(session)[[1]]$details$code, "x <- 2")
  off <- gptr_register(gptr_policy("restless", function(call, ctx) {
    list(decision = "modify", input = list(code = paste(call$input$code, "+ 1")))
  }))
  session <- run(fake(r_call("1"), "end"))
  off()
  expect_match(result_text(session), "a policy modified the call twice")
  asked <- list(A = character(), B = character())
  adds <- function(name, letter) {
    gptr_policy(name, function(call, ctx) {
      if (call$name != "echo") return(NULL)
      asked[[name]] <<- c(asked[[name]], call$input$text)
      if (!grepl(letter, call$input$text)) list(decision = "modify", input = list(text = paste0(call$input$text, letter)))
    })
  }
  registered(adds("A", "a"))
  registered(adds("B", "b"))
  echo <- gptr_tool("echo", "d", parameters = list(type = "object", properties = list(text = list(type = "string"))),
    execute = function(input, ctx) input$text)
  session <- run(fake(call_of("echo", list(text = "x")), "end"), tools = echo)
  expect_identical(result_text(session), "xab")
  expect_identical(asked, list(A = c("x", "xab"), B = c("xa", "xab")))
})

test_that("case_22: hooks that modify chain, and a changed input must fit the schema", {
  echo <- gptr_tool("echo", "d", parameters = list(type = "object", properties = list(text = list(type = "string"))),
    execute = function(input, ctx) input$text)
  adds <- function(letter) {
    gptr_hook("tool_call", function(event, ctx) {
      list(decision = "modify", input = list(text = paste0(event$input$text, letter)))
    }, matcher = "echo")
  }
  registered(adds("1"))
  registered(adds("2"))
  session <- run(fake(call_of("echo", list(text = "x")), "end"), tools = echo)
  expect_identical(result_text(session), "x12")
  asked <- 0L
  registered(gptr_policy("counts", function(call, ctx) {
    asked <<- asked + 1L
    NULL
  }))
  registered(gptr_hook("tool_call", function(event, ctx) list(decision = "modify", input = list(text = 42)), matcher = "echo"))
  session <- run(fake(call_of("echo", list(text = "x")), "end"), tools = echo)
  expect_match(result_text(session), "^Invalid arguments for echo: ")
  expect_identical(asked, 0L)
})

test_that("case_25: hook, policy, question, body and result hook come in that order", {
  trace <- character()
  step <- function(name, value = NULL) {
    trace <<- c(trace, name)
    value
  }
  registered(gptr_hook("tool_call", function(event, ctx) step("tool_call")))
  registered(gptr_policy("asks", function(call, ctx) step("policy", list(decision = "ask", reason = "sure?"))))
  registered(gptr_hook("permission_request", function(event, ctx) step("request", list(decision = "allow"))))
  registered(gptr_hook("tool_result", function(event, ctx) step("result")))
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) {
    step("body")
    "x"
  }))
  expect_identical(trace, c("tool_call", "policy", "request", "body", "result"))
  expect_identical(result_text(session), "x")
})

test_that("case_46 and 90: a permission_request hook may allow what is asked, not what a person must allow", {
  answer <- list(decision = "allow")
  seen <- list()
  registered(gptr_hook("permission_request", function(event, ctx) {
    seen[[length(seen) + 1L]] <<- event
    if (is.function(answer)) answer() else answer
  }))
  expect_identical(attempt("x <- 1", "manual")$how, "ran")
  expect_identical(seen[[1]]$tool, "r")
  expect_identical(seen[[1]]$input$code, "x <- 1")
  expect_true(all(c("summary", "risk", "reason", "nested") %in% names(seen[[1]])))
  expect_identical(attempt("rm(list = ls())", "auto")$how, "blocked")
  expect_length(seen, 1L)
  answer <- list(decision = "deny", reason = "not now")
  refused <- attempt("x <- 1", "manual")
  expect_identical(refused$how, "denied")
  expect_match(refused$text, "not now")
  for (bad in list(list(decision = "yes"), function() stop("hook bug"), function() invokeRestart("abort"))) {
    answer <- bad
    expect_identical(attempt("x <- 1", "manual")$how, "denied")
  }
  answer <- NULL
  expect_identical(attempt("x <- 1", "manual")$how, "blocked")
})

test_that("case_48: unsafe_no_permissions silences the built-in policies alone", {
  withr::local_options(gptr.unsafe_no_permissions = TRUE)
  expect_identical(attempt("x <- 1", "manual")$how, "ran")
  registered(gptr_policy("still", function(call, ctx) list(decision = "deny", reason = "still here")))
  tried <- attempt("x <- 1", "auto")
  expect_identical(tried$how, "denied")
  expect_match(tried$text, "still here")
})

test_that("options that code changes in a run change nothing in that run", {
  withr::local_options(gptr.unsafe_no_permissions = NULL)
  session <- caught(run(fake(call_of("t"), r_call("x <- 1"), "end"), mode = "manual",
    tools = plain_tool("t", function(input, ctx) {
      options(gptr.unsafe_no_permissions = TRUE)
      "set"
    }, annotations = list(read_only = TRUE))))
  expect_s3_class(session, "gptr_error_permission")
})

test_that("case_50: what would end or hang the session is not run, and nobody is asked", {
  asked <- 0L
  registered(gptr_hook("permission_request", function(event, ctx) {
    asked <<- asked + 1L
    list(decision = "allow")
  }))
  for (code in c("q()", "quit('no')", "base::q()", "browser()", "readline('x')", "menu(1:2)", "do.call('q', list())", "stdin()")) {
    tried <- attempt(code, "auto")
    expect_identical(tried$how, "denied", info = code)
    expect_match(tried$text, "[status: blocked; nothing was evaluated]", fixed = TRUE, info = code)
  }
  expect_identical(asked, 0L)
  home <- new.env(parent = globalenv())
  home$q <- function() "my own q"
  expect_match(attempt("q()", "auto", home)$text, "my own q")
})

test_that("H53: a required policy that is gone leaves only read-only calls", {
  off <- gptr_register(gptr_policy("must", function(call, ctx) NULL, required = TRUE))
  session <- run(fake(r_call("mean(1)"), "x", r_call("mean(2)"), r_call("y <- 1"), "end"))
  off()
  outcome <- caught(peter(session, "more"))
  session <- if (inherits(outcome, "gptr_session")) outcome else outcome$session
  expect_false(result_failed(session, 2))
  expect_true(result_failed(session, 3))
  expect_false(exists("y", envir = session$envir, inherits = FALSE))
})

test_that("H13 and H14: a policy that takes too long denies as timed out, not as refused", {
  withr::local_options(gptr.hook_timeout = 0.2)
  registered(gptr_policy("slow", function(call, ctx) repeat Sys.sleep(0.01)))
  before <- nrow(gptr_registry(diagnostics = TRUE))
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) "x"))
  expect_match(result_text(session), "timed out")
  expect_identical(session$status, "idle")
  expect_gte(nrow(diagnostics_since(before)), 1L)
})

test_that("H71: warnings turned into errors by the user deny, as an error does", {
  withr::local_options(warn = 2)
  registered(gptr_policy("warns", function(call, ctx) {
    warning("careful")
    NULL
  }))
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) "x"))
  expect_match(result_text(session), "^Permission denied: .*careful")
})

test_that("H76: bytes that are no text are repaired before any policy sees the code: what it sees is what runs", {
  seen <- character()
  registered(gptr_policy("sees", function(call, ctx) {
    seen <<- c(seen, call$input$code)
    if (grepl("rm(y)", call$input$code, fixed = TRUE)) list(decision = "deny", reason = "found it")
  }))
  bad <- "# \xff\nrm(y)"
  Encoding(bad) <- "UTF-8"
  home <- new.env(parent = globalenv())
  home$y <- 1
  session <- run(fake(r_call(bad), "end"), envir = home)
  expect_true(all(validUTF8(seen)))
  expect_match(result_text(session), "found it")
  expect_identical(home$y, 1)
})

# Answers of a person at a console of their own: what is printed while `code` runs and `answers` are typed.
at_console <- function(answers, code = "x <- 1") {
  testthat::skip_on_os("windows")
  lines <- c(
    "library(gptr); options(gptr.verbose = 0)", "home <- new.env()",
    "f <- gptr_fake_provider(function(request) if (request$n == 1) list(tool = 'r', input = list(code = code)) else 'end')",
    paste0("code <- intToUtf8(c(", paste(utf8ToInt(code), collapse = ", "), "))"),
    "s <- peter(prompt = 'go', model = f, mode = 'manual', envir = home)", answers,
    "cat('RESULT', exists('x', home, inherits = FALSE), s$status, '\\n')",
    "cat('TEXT', f$log$requests[[2]]$last_results[[1]]$content[[1]]$text, '\\n')"
  )
  input <- withr::local_tempfile()
  writeLines(lines, input)
  done <- processx::run(file.path(R.home("bin"), "R"), c("--vanilla", "--interactive", "--no-readline", "--quiet"), stdin = input,
    error_on_status = FALSE, timeout = 60,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), TESTTHAT = "", LC_ALL = "C.UTF-8"))
  done$stdout
}

test_that("a person who is present is asked, and the answer counts", {
  skip_if_not_installed("processx")
  expect_match(at_console("y"), "RESULT TRUE idle")
  expect_match(at_console("n"), "RESULT FALSE idle")
  told <- at_console("n use base R instead")
  expect_match(told, "RESULT FALSE idle")
  expect_match(told, "TEXT Permission denied: .*use base R instead")
  expect_match(at_console(c("what", "is", "this", "about", "then")), "RESULT FALSE idle")
  seen <- at_console(c("?", "yes"))
  expect_match(seen, "RESULT TRUE idle")
  expect_match(seen, "r  x <- 1", fixed = TRUE)
  expect_match(seen, "allow? [y]es", fixed = TRUE)
})

test_that("case_47: control characters of code show as their codes in the question", {
  skip_if_not_installed("processx")
  text <- at_console("n", "x <- 1 # \u001b[31m\u202e")
  question <- sub(".*(  r  x <- 1.*allow).*", "\\1", text)
  expect_match(question, "<U+001B>", fixed = TRUE)
  expect_match(question, "<U+202E>", fixed = TRUE)
  expect_no_match(question, "\u001b", fixed = TRUE)
})

# A person is there and gives these answers, one a question.
local_person <- function(answers, frame = parent.frame()) {
  withr::local_options(gptr.interactive = TRUE, .local_envir = frame)
  asked <- 0L
  local_function("ask_permission", function(question) {
    asked <<- asked + 1L
    list(decision = answers[[min(asked, length(answers))]])
  }, env = frame)
  function() asked
}

test_that("case_46: what a person approved by name works once, in that call of the model's", {
  extra <- gptr_prompt_section("granted", "x", tier = "T1")
  home <- new.env(parent = globalenv())
  home$spec <- extra
  count <- function() sum(gptr_registry("prompt_section")$name == "granted")
  asked <- local_person("allow")
  tried <- attempt("off <- gptr::gptr_register(spec)", "auto", home)
  expect_identical(tried$how, "ran")
  expect_identical(asked(), 1L)
  expect_identical(count(), 1L)
  home$off()
  # The second call of one approval is refused, also by way of the remover.
  twice <- attempt("off <- gptr::gptr_register(spec)\noff()", "auto", home)
  expect_match(twice$text, "changes what the agent may do")
  expect_identical(count(), 1L)
  home$off()
  # Code that was seen to call something else is not granted this.
  home$hidden <- function() gptr_register(extra)
  other <- attempt("gptr::gptr_reload(); hidden()", "auto", home)
  expect_match(other$text, "gptr_register() changes what the agent may do", fixed = TRUE)
  expect_identical(count(), 0L)
  # A grant that was not used ends with its call.
  unused <- fake(r_call("if (FALSE) gptr::gptr_register(spec)"), r_call("hidden()"), "end")
  session <- run(unused, mode = "auto", envir = home)
  expect_match(result_text(session, 2L), "gptr_register() changes what the agent may do", fixed = TRUE)
  refused <- local_person("deny")
  expect_identical(attempt("gptr::gptr_register(spec)", "auto", home)$how, "denied")
  expect_identical(count(), 0L)
  expect_identical(refused(), 1L)
})
