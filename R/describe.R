#' Describe an object in few tokens
#'
#' Gives the model an idea of an object: the richest of a few levels of detail that fits. The
#' first line is always `<class> shape, size`. The object is never copied or serialised, promises
#' and active bindings inside of it are not forced, and of a large object only a sample is read;
#' what comes from a sample is marked with `~`.
#'
#' Packages provide methods for their classes: a function of `x`, `budget` and `...` that returns
#' lines of text.
#'
#' @param x Any object.
#' @param budget Tokens that the text may take, a whole number of at least 20. The first line
#'   is given in any case.
#' @param ... For methods.
#' @return A character vector of lines. Raises `gptr_error_invalid_argument` (field `arg`) for
#'   an unusable `budget`.
#' @examples
#' gptr_describe(mtcars, budget = 20)
#' gptr_describe(iris)
#' gptr_describe(lm(mpg ~ wt, mtcars))
#' @export
gptr_describe <- function(x, budget = 150L, ...) {
  check_count(budget, "budget", min = 20, max = Inf)
  UseMethod("gptr_describe")
}

# The block `attached` of a prompt.
attached_facts <- function(x) gptr_describe(x)

#' @export
gptr_describe.default <- function(x, budget = 150L, ...) {
  if (isS4(x) && !is.environment(x)) return(describe_s4(x, budget))
  if (is.environment(x)) return(gptr_describe.environment(x, budget))
  if (typeof(x) == "list" && !isS4(x)) return(describe_parts(x, budget))
  richest_level(budget,
    first_line(x),
    function(room) {
      if (is_vector_like(x)) paste0("  ", vector_summary(x))
      else if (is.language(x)) cut_text(paste0("  ", deparse_line(x)), room)
    })
}

#' @export
gptr_describe.NULL <- function(x, budget = 150L, ...) first_line(x)

#' @export
gptr_describe.numeric <- function(x, budget = 150L, ...) describe_vector(x, budget)
#' @export
gptr_describe.character <- function(x, budget = 150L, ...) describe_vector(x, budget)
#' @export
gptr_describe.logical <- function(x, budget = 150L, ...) describe_vector(x, budget)
#' @export
gptr_describe.factor <- function(x, budget = 150L, ...) describe_vector(x, budget)
#' @export
gptr_describe.Date <- function(x, budget = 150L, ...) describe_vector(x, budget)
#' @export
gptr_describe.POSIXct <- function(x, budget = 150L, ...) describe_vector(x, budget)

#' @export
gptr_describe.ts <- function(x, budget = 150L, ...) {
  times <- attr(x, "tsp")
  span <- paste0("  from ", number_text(times[1L]), " to ", number_text(times[2L]), ", frequency ", number_text(times[3L]))
  richest_level(budget, first_line(x),
    function(room) paste0("  ", vector_summary(x)),
    function(room) c(paste0("  ", vector_summary(x)), span),
    function(room) if (is.null(attr(x, "dim"))) c(paste0("  ", vector_summary(x)), span, head_line(x)))
}

#' @export
gptr_describe.table <- function(x, budget = 150L, ...) describe_array(x, budget)
#' @export
gptr_describe.matrix <- function(x, budget = 150L, ...) describe_array(x, budget)
#' @export
gptr_describe.array <- function(x, budget = 150L, ...) describe_array(x, budget)

#' @export
gptr_describe.data.frame <- function(x, budget = 150L, ...) describe_parts(x, budget)
#' @export
gptr_describe.list <- function(x, budget = 150L, ...) describe_parts(x, budget)

#' @export
gptr_describe.function <- function(x, budget = 150L, ...) {
  if (is.primitive(x)) return(first_line(x))
  richest_level(budget, first_line(x),
    function(room) cut_text(paste0("  ", function_head(x)), room),
    function(room) {
      c(paste0("  ", function_head(x)), paste0("  environment: ", environment_label(environment(x))))
    })
}

#' @export
gptr_describe.environment <- function(x, budget = 150L, ...) {
  richest_level(budget, first_line(x), function(room) {
    names <- ls(x, sorted = TRUE)
    if (length(names) == 0L) return(NULL)
    enough <- utils::head(names, room) # a name takes a character and more
    kinds <- binding_kinds(x, enough)
    entries <- vapply(seq_along(enough), function(i) {
      if (kinds[[i]] != "value") return(paste0(enough[i], ":<", kinds[[i]], ">"))
      paste0(enough[i], ":", short_class(get(enough[i], x, inherits = FALSE)))
    }, "")
    one_line_of(entries, length(names), room)
  })
}

#' @export
gptr_describe.lm <- function(x, budget = 150L, ...) {
  formula <- function(room) {
    text <- tryCatch(paste(deparse(stats::formula(x)), collapse = " "), error = function(e) NULL)
    if (!is.null(text)) cut_text(paste0("  ", text), room)
  }
  coefficients <- function(room) {
    values <- .subset2(x, "coefficients")
    if (!is.numeric(values)) return(NULL)
    shown <- utils::head(values, 20L)
    entries <- paste0(names(shown), " ", number_text(shown))
    c(formula(room), paste0("  coefficients: ", paste(entries, collapse = ", "),
      more_text(length(values) - length(shown))), model_line(x))
  }
  richest_level(budget, first_line(x), formula, coefficients)
}

model_line <- function(x) {
  fitted <- length(.subset2(x, "fitted.values"))
  family <- .subset2(x, "family")
  parts <- c(
    paste(fitted, "observations"), paste(.subset2(x, "df.residual"), "residual df"),
    if (is.list(family)) paste("family", family$family, "link", family$link),
    if (!is.null(.subset2(x, "deviance"))) paste("deviance", number_text(.subset2(x, "deviance"))))
  paste0("  ", paste(parts, collapse = ", "))
}

describe_vector <- function(x, budget) {
  richest_level(budget, first_line(x),
    function(room) paste0("  ", vector_summary(x)),
    function(room) c(paste0("  ", vector_summary(x)), head_line(x)))
}

describe_array <- function(x, budget) {
  richest_level(budget, first_line(x), function(room) {
    if (!is_vector_like(x)) return(NULL)
    c(paste0("  ", vector_summary(x)), dimnames_line(x, room))
  })
}

dimnames_line <- function(x, room) {
  names <- attr(x, "dimnames")
  columns <- if (length(names) == 2L) names[[2L]]
  if (is.null(columns)) return(NULL)
  cut_text(paste0("  columns: ", paste(utils::head(columns, 10L), collapse = ", "),
    more_text(length(columns) - 10L)), room)
}

# Columns of a data frame or elements of a list: in one line, then a line each.
describe_parts <- function(x, budget) {
  n <- element_count(x)
  if (n == 0L) return(first_line(x))
  richest_level(budget, first_line(x),
    function(room) {
      shown <- seq_len(min(n, room))
      entries <- vapply(shown, function(i) paste0(part_name(x, i), ":", short_class(.subset2(x, i))), "")
      one_line_of(entries, n, room)
    },
    function(room) {
      if (n * 10 > room) return(NULL) # a line takes more than that
      vapply(seq_len(n), function(i) {
        paste0("  $ ", part_name(x, i), " ", part_summary(.subset2(x, i)))
      }, "")
    })
}

part_name <- function(x, i) {
  name <- attr(x, "names")[i]
  if (is.null(name) || is.na(name) || !nzchar(name)) paste0("[[", i, "]]") else shown_text(name, 40L)
}

part_summary <- function(x) {
  if (is_vector_like(x)) {
    shape <- if (is.null(attr(x, "dim"))) "" else paste0(" ", shape_text(x))
    return(paste0("<", short_class(x), shape, "> ", vector_summary(x)))
  }
  shape <- shape_text(x)
  paste0("<", short_class(x), ">", if (nzchar(shape)) paste0(" ", shape))
}

describe_s4 <- function(x, budget) {
  slots <- tryCatch(methods::slotNames(x), error = function(e) character())
  richest_level(budget, first_line(x), function(room) {
    if (length(slots) == 0L) return(NULL)
    held <- attributes(x)
    entries <- vapply(slots, function(slot) paste0("@", slot, ":", short_class(held[[slot]])), "")
    one_line_of(entries, length(entries), room)
  })
}

# The first line, and below it what the last level gives that fits. A level is a function of
# the characters that are left; levels get richer, so the first that doesn't fit ends the search.
richest_level <- function(budget, first, ...) {
  best <- first
  room <- floor(budget * describe_chars_per_token) - nchar(first) - 1
  for (level in list(...)) {
    lines <- level(max(room, 0))
    if (is.null(lines)) next
    if (describe_tokens(c(first, lines)) > budget) break
    best <- c(first, lines)
  }
  best
}

describe_chars_per_token <- 2.39

describe_tokens <- function(lines) {
  ceiling(nchar(paste(lines, collapse = "\n")) / describe_chars_per_token)
}

# As many entries as fit, then how many more there are.
one_line_of <- function(entries, n, room) {
  ends <- 2L + cumsum(nchar(entries) + 1L) - 1L
  whole <- length(entries) == n && ends[n] <= room
  if (whole) return(paste0("  ", paste(entries, collapse = " ")))
  kept <- sum(ends + nchar(paste0(" ... (+", n, ")")) <= room)
  if (kept == 0L) return(NULL)
  paste0("  ", paste(entries[seq_len(kept)], collapse = " "), " ... (+", n - kept, ")")
}

cut_text <- function(text, room) {
  if (nchar(text) <= room) text else if (room < 10) NULL else paste0(substr(text, 1L, room - 3L), "...")
}

more_text <- function(n) if (n > 0L) paste0(" (+", n, ")") else ""

function_head <- function(x) {
  text <- sub("NULL *$", "", paste(deparse(args(x)), collapse = " "))
  trimws(gsub(" +", " ", text))
}

environment_label <- function(env) {
  if (is.null(env)) return("none")
  name <- environmentName(env)
  if (nzchar(name)) name else "local"
}
