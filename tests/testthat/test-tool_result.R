arg <- function(expr) tryCatch(expr, gptr_error_invalid_argument = function(e) e$arg)

png_bytes <- function() {
  path <- tempfile(fileext = ".png")
  on.exit(unlink(path))
  # The start of a png file of 3 by 2 pixels.
  writeBin(c(as.raw(c(0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13)), charToRaw("IHDR"),
             as.raw(c(0, 0, 0, 3, 0, 0, 0, 2, 8, 6, 0, 0, 0))), path)
  readBin(path, "raw", 100)
}

test_that("case 31: a result has one text block and its fields in order", {
  result <- gptr_tool_result(c("3 rows", "2 cols"), details = list(n = 3L), value = 3L)
  expect_identical(class(result), "gptr_tool_result")
  expect_identical(names(result), c("content", "details", "is_error", "value", "spill", "out_id", "truncated",
                                    "terminate", "gloss"))
  expect_identical(result$content, list(list(type = "text", text = "3 rows\n2 cols")))
  expect_identical(result$details, list(n = 3L))
  expect_identical(result$value, 3L)
  expect_identical(unclass(result)[c("is_error", "truncated", "terminate")],
                   list(is_error = FALSE, truncated = FALSE, terminate = FALSE))
})

test_that("case 32: text, a file and raw bytes are three blocks", {
  path <- tempfile(fileext = ".PNG")
  on.exit(unlink(path))
  writeBin(png_bytes(), path)
  result <- gptr_tool_result("plot", images = list(path, png_bytes()))
  expect_identical(format(result), "plot\n[image]\n[image]")
  file <- result$content[[2]]
  expect_identical(file[c("type", "mime", "source", "width", "height")],
                   list(type = "image", mime = "image/png", source = "file", width = 3L, height = 2L))
  expect_identical(result$content[[3]]$source, "plot")
  expect_identical(result$content[[3]]$data, file$data)
  expect_false(grepl("[\r\n]", file$data))
  again <- gptr_tool_result(images = result$content[2:3])
  expect_identical(again$content, result$content[2:3])
  expect_identical(gptr_tool_result(images = file)$content, list(file))
})

test_that("case 32: wrong arguments are named", {
  expect_identical(arg(gptr_tool_result(images = list(42))), "images")
  expect_identical(arg(gptr_tool_result(images = "no-such-file.png")), "images")
  expect_identical(arg(gptr_tool_result(images = raw())), "images")
  expect_identical(arg(gptr_tool_result(images = list(list(type = "image", mime = "text/html", data = "AAAA")))),
                   "images")
  expect_identical(arg(gptr_tool_result(images = list(list(type = "image", mime = "image/png", data = "AA\nA")))),
                   "images")
  expect_identical(arg(gptr_tool_result(details = list(1))), "details")
  expect_identical(arg(gptr_tool_result(details = list(a = 1, a = 2))), "details")
  expect_identical(arg(gptr_tool_result(is_error = NA)), "is_error")
  expect_identical(arg(gptr_tool_result(text = 1)), "text")
  expect_identical(arg(gptr_tool_result(text = NA_character_)), "text")
  expect_identical(arg(gptr_tool_result(gloss = 1)), "gloss")
  expect_identical(gptr_tool_result(details = list())$details, list())
})

test_that("a gloss has no control characters and 80 columns", {
  gloss <- function(x) gptr_tool_result("t", gloss = x)$gloss
  expect_identical(gloss("a\u001b[31mb\n\u202ec"), "a[31mbc")
  expect_identical(nchar(gloss(strrep("x", 100))), 80L)
  expect_null(gptr_tool_result("t")$gloss)
})

test_that("a result prints its text verbatim", {
  expect_identical(utils::capture.output(print(gptr_tool_result("100 %s \\n"))), "100 %s \\n")
  expect_false(withVisible(print(gptr_tool_result("")))$visible)
})

test_that("case 33: what a tool returned becomes a result, or is refused", {
  text <- function(x) format(as_tool_result(x))
  expect_identical(text(NULL), "(no output)")
  expect_identical(text(list()), "(no output)")
  expect_identical(text(character()), "(no output)")
  expect_identical(text(c("a", "b")), "a\nb")
  expect_identical(text(list(value = 3)), "(no output)")
  result <- as_tool_result(list(text = "bad", is_error = TRUE, gloss = "short", details = NULL))
  expect_identical(unclass(result)[c("is_error", "gloss")], list(is_error = TRUE, gloss = "short"))
  expect_false(as_tool_result(list(text = "a", is_error = NULL))$is_error)
  whole <- gptr_tool_result("x", terminate = TRUE)
  expect_identical(as_tool_result(whole), whole)
  refused <- list(data.frame(a = 1), list(text = "a", colour = "b"), list(text = "a", text = "b"), list("a"), 42,
                  TRUE, factor("a"), list("a", text = "b"))
  for (x in refused) {
    expect_error(as_tool_result(x), class = "gptr_error_invalid_argument")
  }
})

test_that("a value is handed over as it is, also when it is code", {
  expect_identical(as_tool_result(list(text = "a", value = quote(stop("evaluated"))))$value, quote(stop("evaluated")))
})
