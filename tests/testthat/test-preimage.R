mode_of <- function(x) gptr::gptr_preimage(x, "x", NULL)$mode

test_that("values are kept by reference", {
  for (x in list(1:3, mtcars, list(1), mean, quote(a), NULL, lm(mpg ~ wt, mtcars))) {
    kept <- gptr::gptr_preimage(x, "x", NULL)
    expect_identical(names(kept), c("mode", "reason", "copy"))
    expect_identical(kept$mode, "ref")
    expect_identical(kept$copy, x)
  }
})

test_that("what changes in place is not kept, and the reason says so", {
  skip_if_not_installed("R6")
  objects <- list(new.env(), stdin(), R6::R6Class("Thing", public = list(a = 1))$new())
  for (x in objects) {
    kept <- gptr::gptr_preimage(x, "x", NULL)
    expect_identical(kept$mode, "none")
    expect_true(nzchar(kept$reason))
    expect_null(kept$copy)
  }
})

test_that("objects of reference classes are not kept", {
  scope <- new.env()
  generator <- methods::setRefClass("gptr_test_ref", fields = list(a = "numeric"), where = scope)
  expect_identical(mode_of(generator$new(a = 1)), "none")
})

test_that("a list with environments is kept with a reason", {
  kept <- gptr::gptr_preimage(list(new.env()), "x", NULL)
  expect_identical(kept$mode, "ref")
  expect_match(kept$reason, "environments")
})

test_that("a data.table is copied column by column", {
  x <- structure(list(a = c(1, 2), f = factor(c("u", "v"))), names = c("a", "f"), row.names = c(NA, -2L),
    class = c("data.table", "data.frame"))
  kept <- gptr::gptr_preimage(x, "x", NULL)
  expect_identical(kept$mode, "copy")
  expect_identical(kept$copy, x)
  skip_if_not_installed("rlang")
  expect_false(rlang::obj_address(kept$copy$a) == rlang::obj_address(x$a))
})
