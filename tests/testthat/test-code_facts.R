facts <- function(code) gptr:::code_facts(code)
called <- function(code) vapply(facts(code)$calls, function(call) if (is.null(call$fn)) "" else call$fn, "")
bound <- function(code) {
  vapply(facts(code)$assigns, function(a) paste(a$how, a$name, if (a$home) "home" else "local"), "")
}

test_that("nothing is evaluated", {
  marker <- tempfile()
  facts(sprintf("file.create(%s); x <- stop('no')", deparse(marker)))
  expect_false(file.exists(marker))
})

test_that("calls are found with their packages, however they are written", {
  expect_equal(called("unlink('a'); `unlink`('b'); 'unlink'('c'); x |> unlink()"), rep("unlink", 4))
  call <- facts("base::unlink('a', recursive = TRUE)")$calls[[1]]
  expect_equal(call[c("fn", "pkg", "computed")], list(fn = "unlink", pkg = "base", computed = FALSE))
  expect_equal(call$args[[1]], list(name = "", kind = "string", value = "a"))
  expect_equal(call$args[[2]]$name, "recursive")
})

test_that("a computed function is reported as one, a function literal by its body", {
  expect_equal(called("f()()"), c("", "f"))
  expect_true(facts("e$f(1)")$calls[[1]]$computed)
  expect_equal(called("(function(x) mean(x))(1)"), "mean")
})

test_that("bindings tell the home from a function's own", {
  expect_equal(bound("x <- 1; y = 2; 3 -> z"), c("bind x home", "bind y home", "bind z home"))
  expect_equal(bound("x <<- 1"), "super x home")
  expect_equal(bound("f <- function() u <- 1"), c("bind f home", "bind u local"))
  expect_equal(bound("local({ u <- 1 })"), "bind u local")
  expect_equal(bound("names(d$x)[2] <- 'a'"), "replace d home")
  expect_equal(bound("for (i in 1:3) i"), "loop i home")
  expect_equal(bound("`my var` <- 1"), "bind my var home")
})

test_that("a replacement names every function that it calls", {
  expect_equal(called("names(d$x)[2] <- 'a'"), c("[<-", "names<-", "$<-"))
})

test_that("names bound to functions and to constants are told apart", {
  f <- facts("f <- function(x) x; n <- 1; m <- mean; f <- function(y) y")
  expect_equal(f$functions, list("f"))
  expect_equal(f$constants, list("n"))
})

test_that("functions that are handed on are reported as symbols", {
  expect_true("unlink" %in% unlist(facts("sapply(files, unlink)")$symbols))
  expect_true("base::system" %in% unlist(facts("f <- base::system")$symbols))
  expect_false("source" %in% unlist(facts("lm(y ~ load + source, d); d[source == 1]")$symbols))
  expect_false("x" %in% unlist(facts("x <- 1; mean(x)")$symbols))
  expect_true("x" %in% unlist(facts("if (a) x <- 1; mean(x)")$symbols))
})

test_that("members of peter$ are reported by path", {
  paths <- function(code) vapply(facts(code)$members, `[[`, "", "path")
  expect_equal(paths("peter$demo$add(a = 1); gptr::peter$read('x')"), c("demo/add", "read"))
  expect_equal(paths("lapply(x, peter$demo$add)"), "demo/add")
  expect_length(facts("peter$demo$add(a = 1)")$calls, 0)
})

test_that("arguments that decide are described", {
  list_arg <- facts("rm(list = ls())")$calls[[1]]$args[[1]]
  expect_equal(list_arg$inside, list("ls"))
  expect_equal(facts("options(list(gptr.x = 1))")$calls[[1]]$args[[1]]$names, list("gptr.x"))
  expect_equal(facts("f(c('a', 'b'))")$calls[[1]]$args[[1]]$value, c("a", "b"))
  expect_equal(facts("x[1, ] <- 2")$calls[[1]]$args[[3]]$kind, "missing")
})

test_that("a syntax error is data, anything else is an error", {
  expect_match(facts("1 +")$parse_error, "unexpected end of input")
  expect_null(facts("1 + 1")$parse_error)
  expect_error(facts(paste0(strrep("(", 5000), "1", strrep(")", 5000))))
  expect_error(facts(c("a", "b")), "single string")
})

test_that("calls are shown on one line of 60 characters", {
  texts <- vapply(facts("f(function(x) {\n  x\n}); g('a\\nb'); paste('" |> paste0(strrep("x", 100), "')"))$calls, `[[`, "", "call")
  expect_true(all(nchar(texts) <= 60))
  expect_false(any(grepl("\n", texts)))
})

test_that("long and deep code is analysed", {
  expect_length(facts(paste(rep("mean(1)", 1000), collapse = "\n"))$calls, 1000)
  expect_length(facts(paste(rep("1", 1000), collapse = " + "))$calls, 0)
})
