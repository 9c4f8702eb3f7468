# R to JSON and back: one table, a test a row; then what the two ways keep.

to_json <- function(x) gptr:::value_to_json(x)
from_json <- function(text, ...) gptr:::value_from_json(text, ...)
marked <- function(text, encoding) {
  Encoding(text) <- encoding
  text
}
# Package bit64 keeps 64 bits of an integer in those of a double: these are 1, 2^53 + 1, and NA.
long <- structure(c(5e-324, readBin(as.raw(c(1, 0, 0, 0, 0, 0, 32, 0)), "double", endian = "little"), -0.0), class = "integer64")
empty_object <- structure(list(), names = character())

# What becomes what. `json` NULL: JSON can't hold it, and `path` says where it is.
row <- function(what, x, json, path = "") list(what = what, x = x, json = json, path = path)
rows <- list(
  row("a string", "a", "\"a\""),
  row("whole numbers", c(1L, -2147483647L), "[1,-2147483647]"),
  row("a flag", TRUE, "true"),
  row("NULL", NULL, "null"),
  row("an array of one by I()", I("a"), "[\"a\"]"),
  row("a list of one", list("a"), "[\"a\"]"),
  row("an empty vector", character(), "[]"),
  row("an empty list", list(), "[]"),
  row("an empty object", empty_object, "{}"),
  row("a named vector", c(a = 1, b = 2), "{\"a\":1,\"b\":2}"),
  row("a named vector of one", c(a = TRUE), "{\"a\":true}"),
  row("an empty vector with names", structure(character(), names = character()), "{}"),
  row("names that are all empty", structure(1:2, names = c("", "")), "[1,2]"),
  row("a named list", list(a = 1L, b = list(c = "x", d = NULL)), "{\"a\":1,\"b\":{\"c\":\"x\",\"d\":null}}"),
  row("a NULL in a list", list(NULL, 1), "[null,1]"),
  row("NA of each type", list(NA, NA_integer_, NA_real_, NA_character_), "[null,null,null,null]"),
  row("NA among others", list(c(1, NA), c(TRUE, NA), c("a", NA)), "[[1,null],[true,null],[\"a\",null]]"),
  row("whole doubles", c(1e5, 1e15, 2^53, -2^53), "[100000,1000000000000000,9007199254740992,-9007199254740992]"),
  row("doubles beyond 2^53", 2^60, "1.152921504606847e+18"),
  row("the shortest form of a double", c(0.1, 1 / 3, 5e-324, .Machine$double.xmax), "[0.1,0.3333333333333333,5e-324,1.7976931348623157e+308]"),
  row("minus zero", -0.0, "-0.0"),
  row("integers of 64 bits", long, "[1,9007199254740993,null]"),
  row("a factor", factor(c("b", NA, "a"), levels = c("a", "b")), "[\"b\",null,\"a\"]"),
  row("a factor of one", factor("b"), "\"b\""),
  row("dates", as.Date(c("2025-07-02", NA, "1969-12-31")), "[\"2025-07-02\",null,\"1969-12-31\"]"),
  row("a date kept as integer", structure(20271L, class = "Date"), "\"2025-07-02\""),
  row("a time of another zone", as.POSIXct("2025-07-02 03:04:05", tz = "America/New_York"), "\"2025-07-02T07:04:05Z\""),
  row("a fraction of a second", structure(1751439845.25, class = c("POSIXct", "POSIXt")), "\"2025-07-02T07:04:05.25Z\""),
  row("date-times as lists", list(at = as.POSIXlt("2025-07-02 12:00:00", tz = "Asia/Tokyo")), "{\"at\":\"2025-07-02T03:00:00Z\"}"),
  row("durations", list(as.difftime(2, units = "mins"), as.difftime(1, units = "weeks")), "[120,604800]"),
  row("bytes", as.raw(c(0, 255, 16)), "\"AP8Q\""),
  row("no bytes", raw(), "\"\""),
  row("a data frame", data.frame(n = 1:2, s = c("a", NA), f = factor(c("x", "y"))), "[{\"n\":1,\"s\":\"a\",\"f\":\"x\"},{\"n\":2,\"s\":null,\"f\":\"y\"}]"),
  row("a data frame of one row", data.frame(a = 1), "[{\"a\":1}]"),
  row("a data frame without rows", data.frame(a = numeric()), "[]"),
  row("a data frame without columns", data.frame(), "[]"),
  row("a list column", structure(list(a = list(1, "x")), class = "data.frame", row.names = 1:2), "[{\"a\":1},{\"a\":\"x\"}]"),
  row("a matrix column and a frame column", structure(list(m = matrix(1:4, 2), d = data.frame(x = 3:4)), class = "data.frame", row.names = 1:2),
    "[{\"m\":[1,3],\"d\":{\"x\":3}},{\"m\":[2,4],\"d\":{\"x\":4}}]"),
  row("dates in a data frame", data.frame(d = as.Date("2025-07-02") + 0:1), "[{\"d\":\"2025-07-02\"},{\"d\":\"2025-07-03\"}]"),
  row("a matrix", matrix(1:6, 2), "[[1,3,5],[2,4,6]]"),
  row("a matrix of one", matrix("x"), "[[\"x\"]]"),
  row("a matrix without rows", matrix(0, 0, 2), "[]"),
  row("a matrix of lists", matrix(list(1, "a", NULL, TRUE), 2), "[[1,null],[\"a\",true]]"),
  row("an array", array(1:8, c(2, 2, 2)), "[[[1,5],[3,7]],[[2,6],[4,8]]]"),
  row("a table", table(c("a", "b", "a")), "{\"a\":2,\"b\":1}"),
  row("compact sequences", 1:3 + 0L, "[1,2,3]"),
  row("text of other scripts", "\u00e9\U1F600\u4f60", "\"\u00e9\U1F600\u4f60\""),
  row("what JSON writes in another way", paste0("a\"b\\c\nd\te\001", "\u2028"), paste0("\"a\\\"b\\\\c\\nd\\te\\u0001", "\u2028\"")),
  row("latin1", marked("caf\xe9", "latin1"), "\"caf\u00e9\""),
  row("Windows-1252, which R takes for latin1", marked("\x80", "latin1"), paste0("\"", enc2utf8(marked("\x80", "latin1")), "\"")),
  row("bytes that are no text", marked("a\xffb", "bytes"), "\"a\ufffdb\""),
  row("text marked UTF-8 that is none", marked("a\xffb", "UTF-8"), "\"a\ufffdb\""),
  row("a lone surrogate", marked("\xed\xa0\x80", "UTF-8"), "\"\ufffd\ufffd\ufffd\""),
  row("names of other encodings", structure(list(1), names = marked("\xe9", "latin1")), "{\"\u00e9\":1}"),
  row("classed lists", structure(list(a = 1), class = "odd"), "{\"a\":1}"),
  row("classed vectors", structure("x", class = "odd"), "\"x\""),
  row("NaN", list(a = NaN), NULL, "a"),
  row("infinities", list(a = list(1, c(2, -Inf))), NULL, "a[[2]][[2]]"),
  row("complex numbers", list(z = 1i), NULL, "z"),
  row("functions", list(a = list(mean)), NULL, "a[[1]]"),
  row("primitives", list(a = sum), NULL, "a"),
  row("environments", list(a = list(b = globalenv())), NULL, "a$b"),
  row("formulas", y ~ x, NULL),
  row("symbols", list(quote(a)), NULL, "[[1]]"),
  row("expressions", expression(x), NULL),
  row("pairlists", pairlist(a = 1), NULL),
  row("S4 objects", list(methods::getClass("numeric")), NULL, "[[1]]"),
  row("names that are missing", list(x = list(a = 1, 2)), NULL, "x"),
  row("names given twice", list(a = 1, a = 2), NULL, "a"),
  row("names given twice in other encodings", structure(1:2, names = c(marked("\xe9", "latin1"), "\u00e9")), NULL, "\u00e9"),
  row("NaN in a data frame", data.frame(x = c(1, NaN)), NULL, "x[[2]]")
)

# Any R value that is data, and some that JSON can't hold.
random_value <- function(depth) {
  n <- sample(0:4, 1)
  named <- function(x) {
    if (length(x) && sample(3, 1) == 1L) names(x) <- sample(c("a", "b", "c", "\u00e9", "d", "e"), length(x), replace = sample(12, 1) == 1L)
    x
  }
  leaf <- function() {
    named(switch(sample(10, 1),
      sample(c(TRUE, FALSE, NA), n, TRUE), sample(c(-3:3, NA, .Machine$integer.max), n, TRUE), sample(c(rnorm(3), 1e300, 2^53, NA, -0.0), n, TRUE),
      sample(c("", "x", NA, "\u00fc", "q\"\n"), n, TRUE), factor(sample(c("u", "v", NA), n, TRUE)), as.Date("2024-02-28") + seq_len(n),
      as.POSIXct("2024-02-28 23:59:59", tz = "UTC") + runif(n) * 1e6, as.raw(seq_len(n)), I(seq_len(n)), if (sample(4, 1) == 1L) NaN else 1.5))
  }
  if (depth == 0L || sample(3, 1) == 1L) return(leaf())
  switch(sample(4, 1),
    named(lapply(seq_len(n), function(i) random_value(depth - 1L))),
    data.frame(x = seq_len(n), y = rep_len(c("a", NA), n), z = rep_len(c(0.5, 2), n)),
    matrix(rep_len(unclass(leaf()), 4L), 2),
    list(a = random_value(depth - 1L), b = NULL, c = random_value(depth - 1L)))
}

# A value that JSON holds.
random_json <- function(depth) {
  n <- sample(0:4, 1)
  if (depth == 0L || sample(3, 1) == 1L) {
    return(switch(sample(5, 1), NULL, sample(c(TRUE, FALSE), 1), sample.int(1e9, 1), sample(c(rnorm(1), 10^runif(1, -300, 300), 2^53 - 1), 1),
      intToUtf8(sample(c(32:126, 233, 0x4f60, 0x1F600, 1:31), 5))))
  }
  items <- lapply(seq_len(n), function(i) random_json(depth - 1L))
  if (sample(2, 1) == 1L) items else structure(items, names = sample(c("a", "b", "\u00e9", "d e"), n))
}

for (r in rows) {
  local({
    r <- r
    test_that(paste("R to JSON:", r$what), {
      if (!is.null(r$json)) {
        expect_identical(to_json(r$x), enc2utf8(r$json))
        expect_true(validUTF8(to_json(r$x)))
      } else {
        cond <- caught(to_json(r$x))
        expect_s3_class(cond, "gptr_error_invalid_argument")
        expect_identical(cond$path, enc2utf8(r$path))
        expect_match(conditionMessage(cond), if (nzchar(r$path)) r$path else "the value", fixed = TRUE)
      }
    })
  })
}

test_that("the direct way and the one by the engine's value say the same", {
  by_tree <- function(x) gptr:::engine(.Call(gptr:::wrap__value_to_json_by_tree, gptr:::for_engine(x)))
  for (r in Filter(function(r) !is.null(r$json), rows)) expect_identical(by_tree(r$x), to_json(r$x), info = r$what)
  set.seed(20)
  for (i in 1:300) {
    x <- random_value(4L)
    direct <- tryCatch(to_json(x), gptr_error = function(e) NULL)
    tree <- by_tree(x)
    if (is.null(direct)) expect_type(tree, "list") else expect_identical(direct, tree)
  }
})

# ---- JSON to R ------------------------------------------------------------------------------------------------------

test_that("JSON to R: objects are named lists, arrays lists, and numbers are what R has for them", {
  table <- list(
    "null" = NULL, "true" = TRUE, "\"x\"" = "x", "[]" = list(), "{}" = empty_object, "[[]]" = list(list()), "[{}]" = list(empty_object),
    "[\"x\"]" = list("x"), "{\"a\":[1]}" = list(a = list(1L)), "{\"a\":null}" = list(a = NULL), "[null]" = list(NULL),
    "-2147483647" = -2147483647L, "-2147483648" = -2147483648, "2147483648" = 2147483648, "1.0" = 1, "1e3" = 1000, "-0" = -0.0, "0.1" = 0.1,
    "9007199254740992" = 2^53, "9007199254740993" = "9007199254740993", "-9007199254740993" = "-9007199254740993",
    "18446744073709551616" = "18446744073709551616", "1e-400" = 0, "\"\\u0000\"" = "\ufffd", "\"\\ud800x\"" = "\ufffdx",
    "\"\\ud83d\\ude00\"" = "\U1F600", "\"a\\qb\"" = "a\\qb", "\"\\/\"" = "/", " [ 1 , 2 ] " = list(1L, 2L)
  )
  for (json in names(table)) {
    expect_identical(from_json(json), table[[json]], info = json)
    text <- unlist(table[[json]])
    if (is.character(text) && any(!grepl("^[ -~]*$", text))) expect_identical(Encoding(text), "UTF-8")
  }
  expect_identical(sign(1 / from_json("-0")), -1)
})

test_that("JSON to R: with `vectors`, arrays of one scalar type are atomic vectors", {
  table <- list(
    "[1,2]" = 1:2, "[1,2.5]" = c(1, 2.5), "[1,null]" = c(1L, NA), "[null,0.5]" = c(NA, 0.5), "[true,null]" = c(TRUE, NA), "[\"a\",null]" = c("a", NA),
    "[null,null]" = c(NA, NA), "[1]" = I(1L), "[\"a\"]" = I("a"), "[]" = list(), "[1,\"a\"]" = list(1L, "a"), "[[1,2],[3]]" = list(1:2, I(3L)),
    "[9007199254740993,1]" = list("9007199254740993", 1L), "{\"a\":[1,2]}" = list(a = 1:2), "[1,true]" = list(1L, TRUE)
  )
  for (json in names(table)) {
    got <- from_json(json, vectors = TRUE)
    expect_identical(got, table[[json]], info = json)
    if (!grepl("9007", json)) expect_identical(to_json(got), json)
  }
})

test_that("JSON to R: what is no JSON is refused with its place, and nothing is left behind", {
  for (text in c("", " ", "[1,]", "{\"a\"}", "{a:1}", "[1 2]", "01", "+1", ".5", "1.", "1e", "-", "tru", "NaN", "Infinity", "1e999", "\"a", "[1] x",
    "{\"a\":1,\"a\":2}", "'a'", "[1,2", "{\"a\":1,}", strrep("[", 1e5))) {
    cond <- caught(from_json(text))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "text")
  }
  expect_match(conditionMessage(caught(from_json("[1,x]"))), "byte 4")
  many <- paste0("{", paste0("\"k", c(1:40, 7), "\":1", collapse = ","), "}")
  expect_match(conditionMessage(caught(from_json(many))), "the name \"k7\" is given twice", fixed = TRUE)
  for (bad in list(NULL, 1, NA_character_, c("1", "2"), list("1"))) expect_s3_class(caught(from_json(bad)), "gptr_error_invalid_argument")
})

# Not held: the empty name, which R has for no name.
test_that("two ways through JSON lose nothing that JSON can hold", {
  texts <- c("{\"tags\":[\"x\"]}", "{\"a\":{},\"b\":[],\"c\":[[]],\"d\":[{}],\"e\":null}", "[0.1,1e-7,5e-324,1.7976931348623157e+308,-0.0]",
    "[2147483647,2147483648,9007199254740992]", "{\"a b\":{\"\u00e9\":[true,false,null]}}", "[\"\\\"\\\\\\n\\u0001\"]", "\"\"")
  for (text in enc2utf8(texts)) {
    expect_identical(to_json(from_json(text)), text)
    expect_identical(to_json(from_json(text, vectors = TRUE)), text)
  }
  set.seed(21)
  for (i in 1:200) {
    text <- to_json(random_json(5L))
    expect_identical(to_json(from_json(text)), text)
    expect_identical(to_json(from_json(text, vectors = TRUE)), text)
  }
})

test_that("doubles and integers keep every bit", {
  set.seed(22)
  x <- c(rnorm(1000), 10^runif(1000, -308, 308), -2^runif(1000, -1000, 1000), 5e-324, .Machine$double.xmax, .Machine$double.eps)
  expect_identical(from_json(to_json(x), vectors = TRUE), x)
  i <- c(sample.int(.Machine$integer.max, 1000), -.Machine$integer.max, .Machine$integer.max, 0L)
  expect_identical(from_json(to_json(i), vectors = TRUE), i)
})

test_that("1,000 levels of nesting go both ways, more are refused with an error", {
  nested <- function(n) Reduce(function(x, i) list(x), seq_len(n), 1L)
  json <- function(n) paste0(strrep("[", n), "1", strrep("]", n))
  expect_identical(to_json(nested(1000L)), json(1000L))
  expect_identical(from_json(json(1000L)), nested(1000L))
  expect_s3_class(caught(to_json(nested(1002L))), "gptr_error_invalid_argument")
  expect_s3_class(caught(from_json(json(1001L))), "gptr_error_invalid_argument")
  expect_s3_class(caught(to_json(nested(50000L))), "gptr_error_invalid_argument")
})

test_that("a long sequence is refused, not expanded", {
  expect_match(conditionMessage(caught(to_json(list(x = 1:1e9)))), "too large")
})

test_that("names that objects share are not tied together", {
  x <- from_json("[{\"a\":1,\"b\":2},{\"a\":3,\"b\":4},{\"b\":5},{\"a\":6,\"b\":7}]")
  names(x[[1]])[[1]] <- "z"
  expect_identical(lapply(x, names), list(c("z", "b"), c("a", "b"), "b", c("a", "b")))
})
