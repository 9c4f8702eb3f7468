new_session <- function() {
  state <- new.env()
  home <- new.env(parent = globalenv())
  run <- function(code, ..., envir = home) gptr:::eval_code(code, envir, state, ...)
  list(run = run, text = function(code, ...) run(code, ...)$text, state = state, home = home)
}

lines_of <- function(text) strsplit(text, "\n", fixed = TRUE)[[1L]]

test_that("case_49_object_changes", {
  s <- new_session()
  expect_identical(s$text("x <- 1:3"), "+ x <integer length 3>")
  expect_identical(s$text("x <- 4:6"), "~ x <integer> modified")
  expect_identical(s$text("x[2] <- 9L"), "~ x <integer> modified")
  expect_identical(s$text("rm(x)"), "- x removed")
  expect_identical(s$text("invisible(1)"), "[no output]")
  expect_identical(s$text("d <- mtcars; f <- function() 1"),
    "+ d <data.frame 32 x 11>\n+ f <function>")
})

test_that("case_50_calls_that_end_or_pause_the_session_are_blocked", {
  s <- new_session()
  blocked <- c("q()", "readline()", "base::q()", "f <- q", "sapply(1, quit)", "(q)()",
    "do.call('browser', list())", "lapply(1, utils::menu)", "get('q')()", "scan()", "readLines()",
    "readLines(stdin())", "file('stdin')", "if (FALSE) browser()", "function(x) q()", ".Internal(1)",
    "q <- 3; q()", "q <- q; q()", "x <- 1\nq()")
  for (code in blocked) {
    result <- s$run(code)
    expect_identical(result$status, "blocked", info = code)
    expect_true(result$is_error)
    expect_match(result$text, "[status: blocked; nothing was evaluated]", fixed = TRUE)
  }
  expect_identical(ls(s$home), character())
  expect_match(s$text("q()"), "not run.*q\\(\\).*ask_user")
})

test_that("case_50_what_only_looks_like_a_guarded_call_runs", {
  s <- new_session()
  for (code in c("readLines('nosuch.txt')", "scan(text = '1')", "function(q) q + 1", "list(a = 1)$q",
    "subset(data.frame(q = 1), q > 0)", "x <- list(edit = function() 1); x$edit()", "mtcars[, 1]",
    "subset(data.frame(q = 1, p = 2), select = c(q, p))")) {
    expect_false(s$run(code)$status == "blocked", info = code)
  }
})

test_that("case_50_a_users_own_function_of_that_name_is_free", {
  s <- new_session()
  s$home$q <- function() "mine"
  expect_match(s$text("q()"), "mine")
  expect_match(s$text("menu <- function() 'own'\nmenu()"), "own")
})

test_that("case_50_the_marker_of_a_secret_is_blocked", {
  result <- new_session()$run("x <- [secret:K]")
  expect_identical(result$status, "blocked")
  expect_match(result$text, "Sys.getenv(\"K\")", fixed = TRUE)
})

test_that("the guard does not depend on how deep code is nested", {
  deep <- paste0(paste(rep("1 +", 3000), collapse = " "), " q()")
  expect_match(gptr:::guard_code(deep, globalenv()), "q()", fixed = TRUE)
})

test_that("case_51_parse_error_runs_nothing", {
  s <- new_session()
  result <- s$run("x <- 1\n1 +")
  expect_identical(result$status, "parse_error")
  expect_match(result$text, "unexpected end of input")
  expect_identical(ls(s$home), character())
})

test_that("case_51_expressions_run_until_the_first_error", {
  s <- new_session()
  result <- s$run("x <- 1; stop(\"a\"); y <- 2")
  expect_identical(ls(s$home), "x")
  expect_match(result$text, "[status: error; 1 of 3 top-level expressions completed; ", fixed = TRUE)
  expect_identical(result$details[c("n_done", "n_total")], list(n_done = 1L, n_total = 3L))
  expect_identical(lines_of(result$text)[1L], "Error: a  [expression at line 1]")
})

test_that("case_53_random_numbers_and_options_of_the_user_stay", {
  s <- new_session()
  old <- options(width = 77L)
  on.exit(options(old))
  set.seed(42)
  seed <- .Random.seed
  theirs <- s$run("set.seed(1); rnorm(1)")$text
  later <- s$run("rnorm(1)")$text
  expect_identical(.Random.seed, seed)
  expect_identical(getOption("width"), 77L)
  set.seed(1)
  expect_identical(c(theirs, later), capture.output(for (i in 1:2) print(rnorm(1))))
})

test_that("a session without a seed has none afterwards, and keeps its generator", {
  seed <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(if (!is.null(seed)) assign(".Random.seed", seed, globalenv()))
  kind <- RNGkind()
  if (!is.null(seed)) rm(".Random.seed", envir = globalenv())
  new_session()$run("set.seed(1, kind = 'Wichmann-Hill'); runif(1)")
  expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
  expect_identical(RNGkind(), kind)
})

test_that("output, warnings and messages come in the order in which they happened", {
  code <- "print(1); cat('open'); warning('w'); message('m'); f <- function() warning('v'); f()"
  expect_identical(lines_of(new_session()$text(code))[1:5],
    c("[1] 1", "open", "Warning: w", "m", "Warning in f(): v"))
})

test_that("visible values are printed, others and self-printing calls are not", {
  s <- new_session()
  code <- paste(
    "print.twice <- function(x, ...) { cat('<twice>\\n'); x }", "y <- structure(1, class = 'twice')",
    "y", "print(y)", "(z <- 3)", "for (i in 1) i", "if (FALSE) 1", "NULL", "invisible(4)",
    "set.seed(1)", sep = "\n")
  expect_identical(lines_of(s$text(code))[1:4], c("<twice>", "<twice>", "[1] 3", "NULL"))
})

test_that("S4 objects are shown", {
  on.exit(methods::removeClass("gptr_test_s4", where = globalenv()))
  text <- new_session()$text(
    "invisible(setClass('gptr_test_s4', representation(x = 'numeric'), where = globalenv()));
     new('gptr_test_s4', x = 1)")
  expect_match(text, "An object of class \"gptr_test_s4\"", fixed = TRUE)
})

test_that("an error has its call, its line and the frames of the code alone", {
  text <- new_session()$text("g <- function(z) {\n  h(z)\n}\nh <- function(v) {\n  stop('no')\n}\ng(\"z\")")
  expect_identical(lines_of(text)[1:4], c(
    "Error in h(z): no  [expression at line 7]", "Traceback (outermost first):",
    " 1: g(\"z\")", " 2: h(z) at <gptr>#2"))
})

test_that("a long traceback keeps its first 5 and last 15 frames", {
  text <- new_session()$text("r <- function(n) if (n == 0) stop('deep') else r(n - 1); r(40)")
  frames <- grep("^ ?[0-9]+: ", lines_of(text), value = TRUE)
  expect_length(frames, 20L)
  expect_match(frames[5L], "^ 5:")
  expect_match(frames[6L], "^27:")
})

test_that("a frame that holds data is cut", {
  text <- new_session()$text("do.call(function(x) stop('a'), list(mtcars))")
  expect_true(all(nchar(lines_of(text)) <= 200L))
})

test_that("warnings become errors when the user has it so", {
  old <- options(warn = 2)
  on.exit(options(old))
  result <- new_session()$run("f <- function() as.integer('a'); f()")
  expect_identical(result$status, "error")
  expect_match(result$text, "Error in f(): (converted from warning)", fixed = TRUE)
})

test_that("a stack overflow is an error and the next evaluation works", {
  s <- new_session()
  expect_identical(s$run("f <- function() f(); f()")$status, "error")
  expect_identical(s$text("1"), "[1] 1")
})

test_that("no error of the code reaches handlers outside of the evaluation", {
  for (code in c("stop('x')", "signalCondition(simpleError('x'))", "rnorm('a')")) {
    seen <- tryCatch(new_session()$run(code)$status, error = function(e) "escaped")
    expect_identical(seen, "error", info = code)
  }
})

test_that("a jump to top level ends the evaluation only", {
  result <- new_session()$run("invokeRestart('abort')")
  expect_identical(result$status, "error")
})

test_that("errors without a message show their class", {
  text <- new_session()$text("stop(structure(class = c('odd', 'error', 'condition'),
    list(message = '', call = NULL)))")
  expect_match(text, "^Error: odd")
})

test_that("the time limit stops interpreted code", {
  s <- new_session()
  result <- s$run("repeat {}", timeout = 0.2)
  expect_identical(result$status, "timeout")
  expect_match(result$text, "^Timed out after 0.2s \\(limit set by the harness\\)\\.")
  expect_identical(s$text("x <- 0; for (i in 1:1e5) x <- x + i; x"),
    "[1] 5000050000\n+ i <integer length 1>\n+ x <numeric length 1>")
})

test_that("the time limit holds between expressions", {
  text <- new_session()$text("t <- proc.time()[[3]]\ntryCatch(repeat {}, error = function(e) 1)\n2",
    timeout = 0.2)
  expect_match(text, "Timed out after 0.2s before expression 3 of 3.", fixed = TRUE)
})

test_that("an inner evaluation leaves the outer limit in place", {
  s <- new_session()
  s$home$inner <- function() gptr:::eval_code("1", s$home, new.env(), 100)
  expect_identical(s$run("z <- inner(); repeat {}", timeout = 0.5)$status, "timeout")
})

test_that("an interrupt restores everything and reaches the caller", {
  s <- new_session()
  width <- getOption("width")
  sinks <- sink.number()
  path <- search()
  seen <- tryCatch(
    s$run("cat('before'); x <- 1; options(width = 40); sink(tempfile()); tools::pskill(Sys.getpid(), 2); repeat Sys.sleep(0.01)"),
    interrupt = function(i) "interrupted")
  expect_identical(seen, "interrupted")
  expect_identical(list(getOption("width"), sink.number(), search()), list(width, sinks, path))
  expect_match(s$state$interrupted$text, "^before\n[+] x <numeric length 1>\n\\[status: interrupt; ")
  expect_null(gptr:::current_eval_state())
})

test_that("sinks of the code are closed, and one it takes away is put back", {
  s <- new_session()
  sinks <- sink.number()
  expect_identical(s$text("sink(tempfile()); print(1)"), "[no output]")
  expect_identical(s$text("sink(tempfile()); print(1); sink(); print(2)"), "[1] 2")
  expect_identical(sink.number(), sinks)
  expect_identical(sink.number(type = "message"), 2L)
})

test_that("what goes to standard error is captured", {
  expect_identical(new_session()$text("cat('e\\n', file = stderr())"), "e")
})

test_that("changes of the state are named without values", {
  s <- new_session()
  directory <- getwd()
  on.exit({
    setwd(directory)
    options(gptr_test_option = NULL)
    Sys.unsetenv("GPTR_TEST_VARIABLE")
    if ("package:stats4" %in% search()) detach("package:stats4")
  })
  text <- s$text("setwd(tempdir()); options(gptr_test_option = 'v1', width = 60)
    Sys.setenv(GPTR_TEST_VARIABLE = 'v2'); library(stats4)")
  expect_match(text, "[working directory changed: ", fixed = TRUE)
  expect_match(text, "[options changed: gptr_test_option]", fixed = TRUE)
  expect_match(text, "[environment variables changed: GPTR_TEST_VARIABLE]", fixed = TRUE)
  expect_match(text, "[attached: stats4]", fixed = TRUE)
  expect_false(grepl("v1|v2", text))
})

test_that("more than twelve object changes are counted", {
  text <- new_session()$text("for (i in 1:15) assign(paste0('v', i), i)")
  expect_length(lines_of(text), 13L)
  expect_identical(lines_of(text)[13L], "(+ 4 more object changes)")
})

test_that("promises and active bindings of the home are not forced", {
  s <- new_session()
  delayedAssign("lazy", stop("forced"), assign.env = s$home)
  makeActiveBinding("live", function() stop("forced"), s$home)
  expect_identical(s$text("1"), "[1] 1")
})

test_that("gptr_return and peter are found without the package, and leave no trace", {
  path <- search()
  for (parent in list(globalenv(), baseenv())) {
    s <- new_session()
    home <- new.env(parent = parent)
    gptr:::eval_code("fit <- 1:3; gptr_return(fit)", home, s$state)
    expect_identical(s$state$value, list(name = "fit", label = "fit", value = 1:3))
    expect_identical(ls(home), "fit")
    expect_identical(parent.env(home), parent)
  }
  expect_identical(search(), path)
})

test_that("gptr_return takes an expression as the label and the last call wins", {
  s <- new_session()
  result <- s$run("gptr_return(1); gptr_return(1 + 1)")
  expect_identical(s$state$value, list(name = NULL, label = "1 + 1", value = 2))
  expect_identical(result$details$value, "1 + 1")
})

test_that("case_15_gptr_return_outside_a_run_returns_its_argument", {
  expect_identical(withVisible(suppressMessages(gptr::gptr_return(3))), list(value = 3, visible = FALSE))
  expect_silent(gptr::gptr_return(3))
})

test_that("evaluations nest", {
  s <- new_session()
  inner <- new_session()
  s$home$nested <- function() inner$text("cat('in'); warning('w'); stop('x')")
  result <- s$run("cat('a\\n'); n <- nested(); cat('b\\n')")
  expect_identical(lines_of(result$text)[1:2], c("a", "b"))
  expect_match(s$home$n, "^in\nWarning: w\nError: x")
})

test_that("plots leave no file and no device", {
  directory <- getwd()
  on.exit(setwd(directory))
  place <- tempfile("plots")
  dir.create(place)
  setwd(place)
  devices <- grDevices::dev.list()
  expect_identical(new_session()$run("plot(1:3)")$status, "ok")
  expect_identical(grDevices::dev.list(), devices)
  expect_false(file.exists("Rplots.pdf"))
})

test_that("devices of the user are not drawn on, those of the code stay", {
  s <- new_session()
  grDevices::pdf(NULL)
  users <- grDevices::dev.cur()
  on.exit(grDevices::graphics.off())
  result <- s$run("plot(1); pdf(NULL); plot(2)")
  expect_identical(grDevices::dev.cur(), users)
  expect_identical(result$details$changes$devices, "pdf")
  s$run("dev.off()")
  expect_identical(grDevices::dev.list(), users)
})

test_that("code is text: CRLF is LF, and invalid bytes are refused", {
  s <- new_session()
  expect_identical(lines_of(s$text("nchar('a\r\nb')\r\n"))[1L], "[1] 3")
  bad <- "x <- 1 # \xff"
  expect_identical(s$run(bad)$status, "parse_error")
  expect_identical(ls(s$home), character())
})

test_that("output that is not valid text is repaired", {
  expect_true(validUTF8(new_session()$text("cat('\\xff\\xfe\\n'); writeBin(as.raw(0), stdout())")))
})

test_that("max.print is 1000", {
  expect_match(new_session()$text("1:2000"), "omitted 1000 entries")
})

test_that("much output is complete", {
  text <- new_session()$text("for (i in 1:20000) cat('line', i, '\\n')")
  expect_length(lines_of(text), 20001L)
})

test_that("wrong arguments are refused", {
  expect_error(gptr:::eval_code(c("1", "2"), globalenv(), new.env()),
    class = "gptr_error_invalid_argument")
})

test_that("the tool r evaluates in the home of its context", {
  spec <- gptr:::r_tool_spec()
  ctx <- list(envir = new.env(), eval_state = new.env(), output_room = function() 4000)
  result <- spec$execute(list(code = "x <- 2; x"), ctx)
  expect_identical(result$text, "[1] 2\n+ x <numeric length 1>")
  expect_false(result$is_error)
  expect_true(nchar(spec$description) / 4.36 <= 400)
})
