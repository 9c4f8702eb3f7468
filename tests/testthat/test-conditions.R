caught <- function(expr) tryCatch(expr, condition = identity)

engine_error <- function(classes, message, fields = list()) {
  structure(list(classes = classes, message = message, fields = fields), class = "gptr_engine_error")
}

test_that("a value of the engine is handed through", {
  expect_identical(engine(list(a = 1)), list(a = 1))
  expect_null(engine(NULL))
})

test_that("an error of the engine becomes a classed condition, the special class first", {
  cond <- caught(engine(engine_error(c("unknown_kind", "invalid_spec"), "No such kind.", list(kind = "widget"))))
  expect_identical(
    class(cond), c("gptr_error_unknown_kind", "gptr_error_invalid_spec", "gptr_error", "error", "condition")
  )
  expect_identical(conditionMessage(cond), "No such kind.")
  expect_identical(cond$kind, "widget")
  expect_null(conditionCall(cond))
})

test_that("a field NULL is there, message and call can't be overwritten by a field", {
  cond <- caught(engine(engine_error("x", "text", list(expected = NULL, message = "other", call = "no"))))
  expect_true("expected" %in% names(cond))
  expect_identical(conditionMessage(cond), "text")
  expect_null(conditionCall(cond))
})

test_that("the cause of an error is a condition of its own", {
  parent <- list(classes = "api_version", message = "too old", fields = list(required = ">= 2.0"))
  cond <- caught(engine(engine_error("extension", "failed: too old", list(parent = parent))))
  expect_s3_class(cond$parent, "gptr_error_api_version")
  expect_identical(cond$parent$required, ">= 2.0")
  parent <- list(classes = c("simpleError", "error", "condition"), message = "boom", fields = list())
  cond <- caught(engine(engine_error("extension", "failed: boom", list(parent = parent))))
  expect_identical(class(cond$parent), c("simpleError", "error", "condition"))
  expect_identical(conditionMessage(cond$parent), "boom")
})

test_that("gptr_abort() concatenates its message, takes fields and drops unnamed ones", {
  cond <- caught(gptr_abort(c("invalid_identifier", "invalid_argument"), c("a %s ", "{b}"), arg = "x", 1,
                            .fields = list(class = "data.frame")))
  expect_identical(conditionMessage(cond), "a %s {b}")
  expect_identical(cond$arg, "x")
  expect_identical(cond$class, "data.frame")
  expect_setequal(names(cond), c("message", "call", "arg", "class"))
  expect_s3_class(cond, "gptr_error_invalid_argument")
})

test_that("warnings and messages have their classes and fields", {
  cond <- caught(gptr_warn("plugin", "failed", diagnostic = "why"))
  expect_identical(class(cond), c("gptr_warning_plugin", "gptr_warning", "warning", "condition"))
  expect_identical(cond$diagnostic, "why")
  cond <- caught(gptr_inform("notice", "hello"))
  expect_identical(class(cond), c("gptr_message_notice", "gptr_message", "message", "condition"))
})

test_that("a once key is signalled once, and for each type of its own", {
  key <- "test-conditions once"
  expect_warning(gptr_warn("plugin", "first", once = key), class = "gptr_warning_plugin")
  expect_silent(gptr_warn("plugin", "second", once = key))
  expect_message(gptr_inform("notice", "first", once = key), class = "gptr_message_notice")
  expect_silent(gptr_inform("notice", "second", once = key))
})

test_that("the option gptr.quiet silences messages, not warnings", {
  old <- options(gptr.quiet = TRUE)
  on.exit(options(old))
  expect_silent(gptr_inform("notice", "hello"))
  expect_warning(gptr_warn("plugin", "hello"), class = "gptr_warning_plugin")
})

test_that("messages pass the redactor, and a failing one lets nothing through", {
  old <- signals$redact
  on.exit(set_message_redactor(old))
  set_message_redactor(function(text) gsub("sk-abc", "[secret:K]", text, fixed = TRUE))
  expect_identical(conditionMessage(caught(gptr_abort("x", "key sk-abc"))), "key [secret:K]")
  set_message_redactor(function(text) stop("no"))
  expect_identical(conditionMessage(caught(gptr_abort("x", "key sk-abc"))), "[redaction failed]")
})

test_that("argument checks say what was expected and what came, never the value", {
  cond <- caught(check_string(c("secret", "b"), "name"))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "name")
  expect_identical(cond$expected, "a single non-empty string")
  expect_identical(conditionMessage(cond),
                   "`name` must be a single non-empty string, not a character of length 2.")
  expect_identical(conditionMessage(caught(check_flag(NULL, "ok"))), "`ok` must be TRUE or FALSE, not NULL.")
})

test_that("each check accepts what it names and refuses the rest", {
  refused <- function(expr) inherits(caught(expr), "gptr_error_invalid_argument")
  expect_identical(check_string("", "x", empty = TRUE), "")
  expect_true(refused(check_string("", "x")))
  expect_true(refused(check_string(NA_character_, "x")))
  expect_null(check_string(NULL, "x", null = TRUE))
  expect_identical(check_characters(character(), "x"), character())
  expect_true(refused(check_characters(NA_character_, "x")))
  expect_true(refused(check_flag(NA, "x")))
  expect_identical(check_number(0.5, "x", 0, 1), 0.5)
  expect_true(refused(check_number(Inf, "x")))
  expect_identical(check_count(3, "x"), 3L)
  expect_true(refused(check_count(2.5, "x")))
  expect_true(refused(check_count(2^31, "x")))
  expect_true(refused(check_count(0, "x", min = 1)))
  expect_true(refused(check_list(mtcars, "x")))
  expect_identical(check_named_list(list(), "x"), list())
  expect_true(refused(check_named_list(list(1), "x")))
  expect_true(refused(check_named_list(list(a = 1, a = 2), "x", unique = TRUE)))
  expect_true(refused(check_function("f", "x")))
  expect_true(refused(check_class(list(), "gptr_spec", "x")))
})

test_that("numbers name their range, choices their values", {
  expect_identical(caught(check_count(0, "x", 1, 5))$expected, "a whole number between 1 and 5")
  expect_identical(caught(check_choice("c", c("a", "b"), "x"))$expected, "one of \"a\", \"b\"")
})

test_that("a choice left at its whole default is the first, and there is no partial match", {
  expect_identical(check_choice(c("allow", "deny"), c("allow", "deny"), "x"), "allow")
  expect_identical(check_choice("deny", c("allow", "deny"), "x"), "deny")
  expect_error(check_choice("den", c("allow", "deny"), "x"), class = "gptr_error_invalid_argument")
})
