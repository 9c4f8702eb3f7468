# The tool ask_user: questions of the model to the person.

ask <- function(input) {
  s <- run(fake(call_of("ask_user", input), "end"))
  message <- results_of(s)[[1L]]
  list(text = result_text(s), error = result_failed(s), details = message$details, gloss = message$gloss, session = s)
}

# A person who types these lines, one a question.
local_person <- function(..., env = parent.frame()) {
  said <- list(...)
  withr::local_options(gptr.interactive = TRUE, .local_envir = env)
  local_function("ask_line", function(prompt) {
    line <- said[[1L]]
    said <<- said[-1L]
    line
  }, env = env)
}

quietly <- function(expr) {
  value <- NULL
  capture.output(value <- expr)
  value
}

test_that("the short form gives the answer: an option by its number, or what was typed", {
  local_person("2", " my own ", "free text")
  chosen <- quietly(ask(list(question = "Which?", options = list("red", "blue"))))
  expect_identical(chosen[c("text", "error", "gloss")], list(text = "blue", error = FALSE, gloss = "blue"))
  expect_identical(chosen$details$answers$answer, list("blue"))
  expect_false(chosen$details$cancelled)
  expect_identical(quietly(ask(list(question = "Which?", options = list("red", "blue"))))$text, "my own")
  expect_identical(quietly(ask(list(question = "Why?")))$text, "free text")
})

test_that("the person sees question and options, without what would steer the terminal", {
  local_person("1")
  shown <- capture.output(got <- ask(list(question = "Which\033[2J?", options = list("red", "bl\033ue"))))
  expect_identical(shown, c("  ? Which<U+001B>[2J?", "    1. red", "    2. bl<U+001B>ue"))
})

test_that("the long form has one line an answer", {
  local_person("1, 3", "green", "2", "")
  questions <- list(
    list(id = "a", question = "Which ones?", type = "multi", options = list("x", "y", "z")),
    list(id = "b", question = "Which?", type = "single", options = list("red", "blue")),
    list(id = "c", question = "Which?", options = list("red", "blue")),
    list(id = "d", question = "Name?", type = "text", default = "fit")
  )
  got <- quietly(ask(list(questions = questions)))
  expect_identical(got$text, "The user answered:\n- a: x, z\n- b: (typed) green\n- c: blue\n- d: fit")
  expect_identical(got$details$answers, list(a = list("x", "z"), b = list("green"), c = list("blue"), d = list("fit")))
})

test_that("questions can be dismissed, and the run goes on", {
  local_person("")
  got <- quietly(ask(list(question = "Which?")))
  expect_match(got$text, "^The user dismissed the questions without answering\\.")
  expect_false(got$error)
  expect_true(got$details$cancelled)
  expect_identical(got$session$text, "end")
})

test_that("nobody present is an error result, and the run goes on, in every mode", {
  for (mode in c("plan", "manual", "edits", "auto")) {
    s <- run(fake(call_of("ask_user", list(question = "Which?")), "end"), mode = mode)
    expect_true(result_failed(s))
    expect_match(result_text(s), "^Nobody is there to answer")
    expect_identical(s$text, "end")
  }
})

test_that("a bad call says why, and nobody is asked", {
  local_person()
  q <- function(...) utils::modifyList(list(id = "a", question = "Q?"), list(...))
  bad <- list(
    "give either" = list(), "give either" = list(question = "Q?", questions = list(q())),
    "has no text" = list(question = "  "), "needs 2 to 9 options" = list(question = "Q?", options = list("one")),
    "needs 2 to 9 options" = list(question = "Q?", options = as.list(letters[1:10])),
    "differ" = list(question = "Q?", options = list("a", "a")), "1 to 4 questions" = list(questions = list()),
    "1 to 4 questions" = list(questions = lapply(letters[1:5], function(id) q(id = id))),
    "the id 'a' is there twice" = list(questions = list(q(), q())),
    "questions[1] needs 2 to 9" = list(questions = list(q(type = "single"))),
    "takes no options" = list(questions = list(q(type = "text", options = list("a", "b")))),
    "belong into" = list(questions = list(q()), options = list("a", "b"))
  )
  for (i in seq_along(bad)) {
    got <- ask(bad[[i]])
    expect_true(got$error, info = names(bad)[[i]])
    expect_match(got$text, "^Invalid ask_user call: ", info = names(bad)[[i]])
    expect_match(got$text, names(bad)[[i]], fixed = TRUE)
  }
})

test_that("it is declared when a person is present or the mode is manual", {
  declared <- function(mode, ...) {
    model <- fake("hello")
    run(model, mode = mode, ...)
    model$log$requests[[1L]]$tools
  }
  expect_true("ask_user" %in% declared("manual"))
  expect_false("ask_user" %in% declared("auto"))
  withr::local_options(gptr.interactive = TRUE)
  expect_true("ask_user" %in% declared("auto"))
})

test_that("code of the model can ask, too", {
  local_person("1", "")
  s <- quietly(run(fake(r_call("x <- peter$ask_user('Which?', c('red', 'blue')); x"), "end")))
  expect_match(result_text(s), "[1] \"red\"", fixed = TRUE)
  expect_identical(quietly(peter$ask_user("Which?")), NA_character_)
  expect_s3_class(caught(peter$ask_user("Which?", "one")), "gptr_error_tool")
})

test_that("a ui record asks in place of the console", {
  withr::local_options(gptr.interactive = TRUE)
  asked <- NULL
  there <- TRUE
  registered(gptr_spec("ui", "test_ui", has_ui = function() there, select = function(title, choices) 1,
    questions = function(questions) {
      asked <<- questions
      list(answers = list(answer = "from the ui"), cancelled = FALSE)
    }))
  got <- ask(list(question = "Which?", options = list("a", "b")))
  expect_identical(got$text, "from the ui")
  expect_identical(asked[[1L]][c("id", "question", "type", "options")],
    list(id = "answer", question = "Which?", type = "single", options = c("a", "b")))
  there <- FALSE
  local_person("1")
  expect_identical(quietly(ask(list(question = "Which?", options = list("a", "b"))))$text, "a")
})

test_that("a ui that fails, or answers nothing, has not answered", {
  withr::local_options(gptr.interactive = TRUE)
  answer <- function(questions) stop("broken")
  registered(gptr_spec("ui", "test_ui", has_ui = function() TRUE, select = function(title, choices) 1,
    questions = function(questions) answer(questions)))
  expect_true(ask(list(question = "Q?"))$error)
  for (reply in list(NULL, list(), list(cancelled = TRUE), list(answers = list(other = "x")), list(answers = list(answer = NA)))) {
    answer <- function(questions) reply
    expect_match(ask(list(question = "Q?"))$text, "^The user dismissed")
  }
})

test_that("a ui record answers the question whether a call may run", {
  withr::local_options(gptr.interactive = TRUE)
  say <- function(request) list(decision = "allow")
  registered(gptr_spec("ui", "test_ui", has_ui = function() TRUE, select = function(title, choices) 2,
    permission = function(request) say(request)))
  home <- new.env(parent = globalenv())
  s <- run(fake(r_call("x <- 1"), "end"), mode = "manual", envir = home)
  expect_identical(home$x, 1)
  for (refuse in list(function(request) list(decision = "deny"), function(request) stop("broken"),
    function(request) invokeRestart("abort"), function(request) NULL)) {
    say <- refuse
    s <- run(fake(r_call("y <- 1"), "end"), mode = "manual", envir = home)
    expect_match(result_text(s), "^Permission denied")
    expect_null(home$y)
    expect_balanced(s)
  }
})
