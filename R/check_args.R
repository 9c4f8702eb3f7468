# Argument checks. Each returns its argument invisibly, or raises `gptr_error_invalid_argument` with the fields
# `arg` and `expected`. The message never shows the value itself. `null = TRUE` lets NULL pass.

check_string <- function(x, arg = deparse1(substitute(x)), empty = FALSE, null = FALSE) {
  force(arg)
  ok <- is.character(x) && length(x) == 1L && !is.na(x) && (empty || nzchar(x))
  check_that(ok, x, arg, if (empty) "a single string" else "a single non-empty string", null)
}

check_characters <- function(x, arg = deparse1(substitute(x)), null = FALSE) {
  force(arg)
  check_that(is.character(x) && !anyNA(x), x, arg, "a character vector without NA", null)
}

check_flag <- function(x, arg = deparse1(substitute(x)), null = FALSE) {
  force(arg)
  check_that(is.logical(x) && length(x) == 1L && !is.na(x), x, arg, "TRUE or FALSE", null)
}

check_number <- function(x, arg = deparse1(substitute(x)), min = -Inf, max = Inf, null = FALSE) {
  force(arg)
  ok <- is_finite_number(x) && x >= min && x <= max
  check_that(ok, x, arg, paste0("a number", range_phrase(min, max)), null)
}

# A whole number within R's integer range; returned as an integer.
check_count <- function(x, arg = deparse1(substitute(x)), min = 0, max = Inf, null = FALSE) {
  force(arg)
  ok <- is_finite_number(x) && x == trunc(x) && abs(x) <= .Machine$integer.max && x >= min && x <= max
  check_that(ok, x, arg, paste0("a whole number", range_phrase(min, max)), null)
  invisible(if (!is.null(x)) as.integer(x))
}

check_function <- function(x, arg = deparse1(substitute(x)), null = FALSE) {
  force(arg)
  check_that(is.function(x), x, arg, "a function", null)
}

check_list <- function(x, arg = deparse1(substitute(x)), null = FALSE) {
  force(arg)
  check_that(is_plain_list(x), x, arg, "a list", null)
}

# An empty list is a named list.
check_named_list <- function(x, arg = deparse1(substitute(x)), unique = FALSE, null = FALSE) {
  force(arg)
  ok <- is_plain_list(x) && all_named(x) && !(unique && anyDuplicated(names(x)) > 0L)
  check_that(ok, x, arg, if (unique) "a list with unique, non-empty names" else "a named list", null)
}

check_class <- function(x, class, arg = deparse1(substitute(x)), null = FALSE) {
  if (inherits(x, class)) return(invisible(x))
  force(arg)
  check_that(FALSE, x, arg, paste("an object of class", paste(class, collapse = " or ")), null)
}

# Matches exactly. The whole vector of choices, as a formal's default has it, means the first.
check_choice <- function(x, choices, arg = deparse1(substitute(x)), null = FALSE) {
  force(arg)
  if (identical(x, choices)) {
    return(choices[[1L]])
  }
  ok <- is.character(x) && length(x) == 1L && x %in% choices
  check_that(ok, x, arg, paste("one of", paste0("\"", choices, "\"", collapse = ", ")), null)
}

check_that <- function(ok, x, arg, expected, null = FALSE) {
  if (ok || (null && is.null(x))) {
    return(invisible(x))
  }
  abort_argument(arg, expected, x)
}

# abort_argument("x", "a list", 1): `x` must be a list, not a numeric of length 1.
abort_argument <- function(arg, expected, x) {
  gptr_abort("invalid_argument", c("`", arg, "` must be ", expected, ", not ", describe_argument(x), "."),
             arg = arg, expected = expected)
}

describe_argument <- function(x) {
  if (is.null(x)) {
    return("NULL")
  }
  size <- tryCatch(length(x), error = function(e) 1L)
  paste0("a ", class(x)[[1L]], " of length ", size)
}

is_finite_number <- function(x) {
  is.numeric(x) && !is.object(x) && length(x) == 1L && is.finite(x)
}

is_plain_list <- function(x) {
  is.list(x) && !is.data.frame(x)
}

all_named <- function(x) {
  length(x) == 0L || (!is.null(names(x)) && all(!is.na(names(x)) & nzchar(names(x))))
}

range_phrase <- function(min, max) {
  if (is.finite(min) && is.finite(max)) {
    return(paste0(" between ", min, " and ", max))
  }
  if (is.finite(min)) {
    return(paste(" of at least", min))
  }
  if (is.finite(max)) paste(" of at most", max) else ""
}
