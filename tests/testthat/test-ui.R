test_that("characters that would steer a terminal are shown as codes", {
  expect_identical(printable("plain"), "plain")
  expect_identical(printable("a\033[2Jb"), "a<U+001B>[2Jb")
  expect_identical(printable("caf\u00e9 \u202e\u0085"), "caf\u00e9 <U+202E><U+0085>")
  expect_identical(printable("two\r\nlines\tof text"), "two\nlines\tof text")
})

test_that("the answer, tools and notices are shown from verbosity 2 on", {
  events <- list(
    list(type = "tool", gloss = "1 + 1"), list(type = "text", text = "It is "), list(type = "text", text = "2."),
    list(type = "notice", text = "done")
  )
  show_all <- function(level) {
    withr::local_options(gptr.verbose = level)
    capture.output(for (event in events) ui_show(event))
  }
  expect_identical(show_all(2), c("> 1 + 1", "It is 2.", "done"))
  expect_identical(show_all(1), character())
})
