test_that("case_57_first_line_budget_and_large_objects", {
  expect_identical(gptr::gptr_describe(mtcars, 20)[1L], "<data.frame> 32 x 11, 7 KB")
  error <- tryCatch(gptr::gptr_describe(mtcars, budget = 5), error = identity)
  expect_s3_class(error, "gptr_error_invalid_argument")
  expect_identical(error$arg, "budget")
  expect_s3_class(tryCatch(gptr::gptr_describe(1, 20.5), error = identity),
    "gptr_error_invalid_argument")
})

test_that("a compact vector is not expanded", {
  x <- 1:1e9
  used <- gc(reset = TRUE)["Vcells", "used"]
  lines <- gptr::gptr_describe(x)
  expect_lt(gc()["Vcells", "max used"] - used, 5e6)
  expect_identical(lines[1L], "<integer> length 1000000000, 3.7 GB")
})

test_that("a large vector is neither copied nor read as a whole", {
  x <- numeric(1e7)
  used <- gc(reset = TRUE)["Vcells", "used"]
  lines <- gptr::gptr_describe(data.frame(a = x))
  expect_lt(gc()["Vcells", "max used"] - used, 1.5e7)
  expect_match(lines[2L], "~min 0")
})

test_that("the levels get richer with the budget", {
  small <- gptr::gptr_describe(iris, 20)
  middle <- gptr::gptr_describe(iris, 60)
  rich <- gptr::gptr_describe(iris, 200)
  expect_match(middle[2L], "^  Sepal.Length:dbl Sepal.Width:dbl")
  expect_identical(rich[2L], "  $ Sepal.Length <dbl> min 4.3, median 5.8, max 7.9; no NA")
  expect_match(rich[6L], "^  \\$ Species <fct> 3 levels, top: setosa \\(50\\)")
  for (lines in list(small, middle)) expect_identical(lines[1L], rich[1L])
})

test_that("a description keeps to its budget", {
  objects <- list(mtcars, letters, 1:10, list(1, "a"), mean, lm(mpg ~ wt, mtcars), globalenv(),
    as.data.frame(matrix(0, 2, 3000)), factor(letters), Sys.time(), matrix(1:6, 2))
  for (x in objects) {
    for (budget in c(20, 50, 150)) {
      lines <- gptr::gptr_describe(x, budget)
      if (length(lines) > 1L) expect_lte(gptr:::describe_tokens(lines), budget)
    }
  }
})

test_that("every class has a first line of class, shape and size", {
  skip_if_not_installed("R6")
  r6 <- R6::R6Class("Thing", public = list(a = 1))$new()
  expect_match(gptr::gptr_describe(NULL), "^<NULL> length 0, 0 B$")
  expect_match(gptr::gptr_describe(r6)[1L], "^<Thing> [0-9]+ objects, ~")
  expect_match(gptr::gptr_describe(matrix(1:6, 2))[1L], "^<matrix> 2 x 3, ")
  expect_match(gptr::gptr_describe(Sys.Date())[1L], "^<Date> length 1, ")
  expect_match(gptr::gptr_describe(function(a, b) 1)[1L], "^<function> 2 arguments, ")
  expect_match(gptr::gptr_describe(lm(mpg ~ wt, mtcars))[1L], "^<lm> length 12, ")
  expect_match(gptr::gptr_describe(quote(a + b))[1L], "^<call> language, ")
  expect_match(gptr::gptr_describe(as.POSIXlt(Sys.time()))[1L], "^<POSIXlt> length 1, ")
})

test_that("sizes without ~ are those of object.size()", {
  for (x in list(1:10, runif(100), letters, factor(letters), mtcars, iris, matrix(1:6, 2), list(1, "a"),
    quote(a + b), Sys.time())) {
    size <- gptr:::estimate_bytes(x)
    expect_true(size$exact)
    expect_equal(size$bytes, as.numeric(object.size(x)))
  }
})

test_that("sizes of character and list columns are from a sample", {
  size <- gptr:::estimate_bytes(data.frame(a = as.character(1:20000)))
  expect_false(size$exact)
  expect_equal(size$bytes / as.numeric(object.size(as.character(1:20000))), 1, tolerance = 0.2)
})

test_that("promises and active bindings are named and not forced", {
  skip_if_not_installed("rlang")
  e <- new.env()
  delayedAssign("lazy", stop("forced"), assign.env = e)
  makeActiveBinding("live", function() stop("forced"), e)
  e$x <- 1:3
  expect_match(gptr::gptr_describe(e)[2L], "lazy:<promise> live:<active binding> x:int")
  facts <- gptr:::object_facts(e)
  expect_identical(vapply(facts, `[[`, "", "class"), c("promise", "active binding", "integer"))
  expect_identical(facts[[3L]], list(name = "x", class = "integer", shape = "length 3", bytes = 64))
})

test_that("an active field of an R6 object is not forced", {
  skip_if_not_installed("R6")
  r6 <- R6::R6Class("Live", active = list(now = function() stop("forced")))$new()
  expect_silent(gptr::gptr_describe(r6))
})

test_that("text of the object can't bring control characters or line breaks", {
  lines <- gptr::gptr_describe(c("\033[31mred", "a\nb", "\xff"))
  expect_false(any(grepl("[[:cntrl:]]", lines)))
  expect_true(all(validUTF8(lines)))
})

test_that("values whose class changes their meaning are not summarised", {
  expect_length(gptr::gptr_describe(structure(1, class = "integer64")), 1L)
})

test_that("missing values are counted", {
  expect_match(gptr::gptr_describe(c(1, NA, 3))[2L], "; 1 NA$")
  expect_match(gptr::gptr_describe(NA_character_)[2L], "all NA; 1 NA")
})

test_that("packages can describe their classes", {
  registerS3method("gptr_describe", "gptr_test_class", function(x, ...) "two wells",
    envir = asNamespace("gptr"))
  expect_identical(gptr::gptr_describe(structure(list(), class = "gptr_test_class")), "two wells")
})

test_that("time series, tables, times and marked vectors tell of their values", {
  series <- gptr::gptr_describe(ts(1:24, start = 2000, frequency = 12))
  expect_identical(series[2:3], c("  min 1, median 12.5, max 24; no NA", "  from 2000 to 2002, frequency 12"))
  expect_match(gptr::gptr_describe(table(mtcars$cyl, mtcars$gear))[2L], "min 0")
  expect_match(gptr::gptr_describe(I(1:3))[2L], "min 1")
  times <- gptr::gptr_describe(as.POSIXct("2024-01-01", tz = "UTC") + 1:2)
  expect_identical(times[3L], "  values: 2024-01-01 00:00:01, 2024-01-01 00:00:02")
})

test_that("a method of another package is used, at the console and for the model", {
  registerS3method("gptr_describe", "gptr_test_class", function(x, budget = 150L, ...) c("<own>", "  second line"),
    envir = asNamespace("gptr"))
  x <- structure(list(1), class = "gptr_test_class")
  expect_identical(gptr::gptr_describe(x), c("<own>", "  second line"))
  expect_identical(gptr::peter$describe(x), c("<own>", "  second line"))
})

test_that("a class whose own methods fail, and a huge list, are described", {
  registerS3method("length", "gptr_test_bad", function(x) stop("no length"))
  expect_match(gptr::gptr_describe(structure(list(1), class = "gptr_test_bad"))[1L], "^<gptr_test_bad> length 1, ")
  lines <- gptr::gptr_describe(as.list(1:1e5), 50)
  expect_match(lines[1L], "^<list> length 100000, ~")
  expect_match(lines[2L], "[.]{3} [(][+][0-9]+[)]$")
})
