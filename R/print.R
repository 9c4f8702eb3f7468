#' @export
format.gptr_api <- function(x, ...) {
  paste0("<gptr_api ", format(x$version), "> ", length(x$features), " features")
}

#' @export
print.gptr_api <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  invisible(x)
}

#' @export
print.gptr_registry <- function(x, ...) {
  cat("<gptr_registry> ", nrow(x), " record(s)\n", sep = "")
  print_rows(x)
  invisible(x)
}

#' @export
print.gptr_diagnostics <- function(x, ...) {
  cat("<gptr_diagnostics> ", nrow(x), " row(s)\n", sep = "")
  print_rows(x)
  invisible(x)
}

#' @export
print.gptr_check <- function(x, ...) {
  if (!all(c("target", "check", "ok", "message") %in% names(x))) {
    print_rows(x)
    return(invisible(x))
  }
  cat("<gptr_check> ", nrow(x), " check(s), ", sum(!x$ok), " failed\n", sep = "")
  message <- ifelse(nzchar(x$message), paste0(": ", x$message), "")
  cat(sprintf("%s%s  %s%s\n", ifelse(x$ok, "  ok    ", "  FAIL  "), x$target, x$check, message), sep = "")
  invisible(x)
}

listing_rows <- 20L

#' @export
print.gptr_listing <- function(x, ...) {
  print_rows(formatted_columns(x[seq_len(min(nrow(x), listing_rows)), , drop = FALSE]))
  if (nrow(x) == 0L) {
    cat("(no rows)\n")
  }
  if (nrow(x) > listing_rows) {
    cat("(+ ", nrow(x) - listing_rows, " more rows)\n", sep = "")
  }
  if (!is.null(attr(x, "footer"))) {
    cat(attr(x, "footer"), sep = "\n")
  }
  invisible(x)
}

# The footer speaks of all rows.
#' @export
`[.gptr_listing` <- function(x, ...) {
  x <- NextMethod()
  attr(x, "footer") <- NULL
  x
}

# Columns that are printed as counts or as costs, by the class of the listing.
listing_formats <- list(
  gptr_models = list(context = "count", max_output = "count"),
  gptr_usage = list(
    input = "count", output = "count", cache_read = "count", cache_write = "count", cost = "cost"
  ),
  gptr_skills = list(tokens = "count"),
  gptr_agents = list(tokens = "count")
)

formatted_columns <- function(x) {
  formats <- listing_formats[[class(x)[[1L]]]]
  for (column in intersect(names(formats), names(x))) {
    x[[column]] <- switch(formats[[column]], count = short_count(x[[column]]), cost = format_cost(x[[column]]))
  }
  x
}

# short_count(c(950, 1200, 3.4e6, NA)): "950" "1.2k" "3.4M" "unknown"
short_count <- function(n) {
  n <- as.numeric(n)
  millions <- n >= 999950
  thousands <- n >= 999.5 & !millions
  text <- sprintf("%.0f", n)
  text <- ifelse(thousands, sprintf("%.1fk", n / 1e3), text)
  text <- ifelse(millions, sprintf("%.1fM", n / 1e6), text)
  text[is.na(n)] <- "unknown"
  text
}

# format_cost(c(0.0123, NA)): "$0.0123" "unknown cost"
format_cost <- function(cost) {
  cost <- as.numeric(cost)
  ifelse(is.na(cost), "unknown cost", sprintf("$%.4f", cost))
}

# The body of a data frame as R prints it, without row names; nothing when there are no rows.
print_rows <- function(x) {
  if (nrow(x) > 0L && ncol(x) > 0L) {
    print(structure(as.list(x), row.names = seq_len(nrow(x)), class = "data.frame"), row.names = FALSE)
  }
}

#' @export
format.gptr_prompt_view <- function(x, ...) {
  if (!is.null(x[["lines"]])) {
    return(x[["lines"]])
  }
  sections <- x$sections
  tier <- function(name) sum(sections$tokens[sections$tier == name])
  tools <- attr(x, "tool_names")
  c(
    paste0("gptr prompt, preset ", attr(x, "preset"), in_tokens(x$total_tokens)),
    paste0("-- system block T0", in_tokens(tier("T0")), " --"), x$system$t0,
    paste0("-- system block T1", in_tokens(tier("T1")), " --"), x$system$t1,
    paste0("-- tool array: ", if (length(tools)) paste(tools, collapse = ", ") else "(none)", " --"),
    "-- first user message --", x$first_message,
    "-- sections --", utils::capture.output(print_rows(sections))
  )
}

#' @export
print.gptr_prompt_view <- function(x, ...) {
  cat(format(x, ...), sep = "\n")
  invisible(x)
}

in_tokens <- function(n) {
  if (is.na(n)) "" else paste0(" (", format(n, big.mark = ",", scientific = FALSE, trim = TRUE), " tokens)")
}

#' @export
print.gptr_text <- function(x, ...) {
  print_budgeted(x)
}

#' @export
print.gptr_lines <- function(x, ...) {
  print_budgeted(x)
}

#' @export
`[.gptr_text` <- function(x, ...) {
  structure(unclass(x)[...], class = class(x))
}

# A part of a file's lines has no place in the file any more.
#' @export
`[.gptr_lines` <- function(x, ...) {
  structure(as.character(x)[...], class = class(x), path = attr(x, "path"))
}

# Prints whole lines until the budget is used, then says in one bracket what is left out.
print_budgeted <- function(x) {
  lines <- as.character(x)
  shown <- lines_in_budget(lines, print_budget())
  writeLines(first_lines(lines, shown))
  notice <- c(lines_left(length(lines) - shown), lines_cut(x))
  if (length(notice)) {
    cat("[", paste(notice, collapse = ". "), "]\n", sep = "")
  }
  invisible(x)
}

# A first line that is longer than the budget is shown in part.
first_lines <- function(lines, shown) {
  if (shown == 0L && length(lines)) {
    return(paste0(substr(lines[[1L]], 1L, floor(print_budget() * characters_a_token)), "..."))
  }
  lines[seq_len(shown)]
}

lines_left <- function(n) {
  if (n > 0L) paste0(n, " more line(s) not printed: subset the value to see them")
}

# What a reader left out of the value itself, by the attributes that it set.
lines_cut <- function(x) {
  if (!isTRUE(attr(x, "truncated"))) {
    return(NULL)
  }
  offset <- attr(x, "offset")
  first <- if (is.null(offset)) 1L else offset
  last <- first + length(x) - 1L
  paste0("Lines ", first, "-", last, " of ", attr(x, "total"), ", offset=", last + 1L, " to go on")
}

# Tokens that one printed value may take; in code of the model at most a part of what its result has left.
print_budget <- function() {
  set <- getOption("gptr.helper_output_tokens", 1500L)
  run <- current_evaluation()
  if (is.null(run$con)) return(set)
  left <- run$tokens - seek(run$con) / characters_a_token
  max(smallest_print, min(set, share_of_result * left))
}

share_of_result <- 0.6
smallest_print <- 20

# As measured on printed R output; other characters than ASCII cost about a token each.
characters_a_token <- 2.13

lines_in_budget <- function(lines, budget) {
  size <- nchar(lines, "chars", allowNA = TRUE) + 1L
  size[is.na(size)] <- nchar(lines[is.na(size)], "bytes")
  bytes <- nchar(lines, "bytes") + 1L
  cost <- cumsum(size / characters_a_token + (bytes - size) * 0.2)
  sum(cost <= budget)
}
