# What a line says of a vector: from all of it when it is small, else from a sample.

# So many elements are read of a longer vector than `read_whole`.
read_whole <- 10000L
sample_size <- 2000L

# Short names of classes and types in lists of columns.
short_classes <- c(
  double = "dbl", numeric = "dbl", integer = "int", character = "chr", logical = "lgl",
  factor = "fct", ordered = "ord", Date = "date", POSIXct = "dttm", POSIXlt = "dttm",
  difftime = "drtn", complex = "cplx", raw = "raw", "function" = "fn", data.frame = "df",
  environment = "env")

short_class <- function(x) {
  class <- class(x)[1L]
  # The class of a matrix says nothing of its cells.
  if (class %in% c("matrix", "array") && !is.null(attr(x, "dim"))) class <- typeof(x)
  if (class %in% names(short_classes)) short_classes[[class]] else shown_text(class, 30L)
}

# Vectors whose values mean what their type says; others, such as 64-bit integers kept in
# doubles, are only named.
plain_classes <- c("factor", "Date", "POSIXct", "difftime", "ts", "table", "AsIs", "noquote")

is_vector_like <- function(x) {
  if (!is.atomic(x) || is.null(x) || isS4(x)) return(FALSE)
  class <- oldClass(x)
  is.null(class) || any(plain_classes %in% class)
}

vector_summary <- function(x) {
  seen <- sampled(x)
  if (length(seen$values) == 0L) return("empty")
  kind <- intersect(plain_classes, class(x))
  describe <- (if (length(kind) > 0L) summaries[[kind[1L]]]) %||% summaries[[typeof(x)]]
  if (is.null(describe)) return(paste0(typeof(x), " values"))
  paste0(describe(seen, x), "; ", missing_text(seen))
}

# Evenly spaced and so always the same; `.subset()` reads neither classes nor the whole.
sampled <- function(x) {
  n <- plain_length(x)
  if (n <= read_whole) {
    return(list(values = .subset(x, seq_len(n)), mark = "", n = n))
  }
  index <- unique(floor(seq(1, n, length.out = sample_size)))
  list(values = .subset(x, index), mark = "~", n = n)
}

missing_text <- function(seen) {
  count <- sum(is.na(seen$values))
  if (count == 0L) return(if (seen$mark == "") "no NA" else "~no NA")
  if (seen$mark == "") paste(count, "NA")
  else paste0("~", signif(100 * count / length(seen$values), 2), "% NA")
}

number_summary <- function(seen, x) {
  values <- seen$values[!is.na(seen$values)]
  if (length(values) == 0L) return("all NA")
  paste0(seen$mark, "min ", number_text(min(values)), ", median ", number_text(stats::median(values)),
    ", max ", number_text(max(values)))
}

time_summary <- function(show) {
  function(seen, x) {
    values <- as.numeric(seen$values)
    values <- values[!is.na(values)]
    if (length(values) == 0L) return("all NA")
    paste0(seen$mark, "min ", show(min(values), x), ", max ", show(max(values), x))
  }
}

summaries <- list(
  double = number_summary,
  integer = number_summary,
  logical = function(seen, x) {
    values <- seen$values
    if (seen$mark == "") {
      return(paste0("TRUE ", sum(values, na.rm = TRUE), ", FALSE ", sum(!values, na.rm = TRUE)))
    }
    paste0("~", signif(100 * mean(values, na.rm = TRUE), 2), "% TRUE")
  },
  character = function(seen, x) {
    distinct <- unique(seen$values[!is.na(seen$values)])
    if (length(distinct) == 0L) return("all NA")
    examples <- shown_strings(utils::head(distinct, 3L))
    count <- if (seen$mark == "") length(distinct) else paste0("~", length(distinct), "+")
    paste0(count, " distinct, e.g. ", paste(examples, collapse = ", "))
  },
  complex = function(seen, x) paste0("e.g. ", paste(format(utils::head(seen$values, 3L)), collapse = ", ")),
  raw = function(seen, x) paste0("e.g. ", paste(format(utils::head(seen$values, 8L)), collapse = " ")),
  factor = function(seen, x) {
    levels <- attr(x, "levels")
    codes <- as.integer(seen$values)
    counts <- tabulate(codes, length(levels))
    top <- utils::head(order(counts, decreasing = TRUE), 3L)
    top <- top[counts[top] > 0L]
    if (length(top) == 0L) return(paste(length(levels), "levels"))
    shares <- if (seen$mark == "") counts[top]
      else paste0("~", signif(100 * counts[top] / length(codes), 2), "%")
    names <- vapply(levels[top], shown_text, "", width = 20L)
    paste0(length(levels), " levels, top: ", paste0(names, " (", shares, ")", collapse = ", "))
  },
  difftime = function(seen, x) paste0(number_summary(seen, x), " ", attr(x, "units")),
  Date = time_summary(function(value, x) format(as.Date(value, origin = "1970-01-01"))),
  POSIXct = time_summary(function(value, x) format(times_of(value, x))))

# Seconds as times in the zone of `x`.
times_of <- function(seconds, x) {
  zone <- attr(x, "tzone")
  as.POSIXct(as.numeric(seconds), origin = "1970-01-01", tz = if (is.null(zone)) "" else zone[1L])
}

head_line <- function(x) {
  n <- plain_length(x)
  if (n == 0L) return(NULL)
  first <- .subset(x, seq_len(min(n, 10L)))
  text <- if (is.factor(x)) shown_strings(attr(x, "levels")[as.integer(first)])
    else if (is.character(x)) shown_strings(first)
    else if (inherits(x, "Date")) format(as.Date(as.numeric(first), origin = "1970-01-01"))
    else if (inherits(x, "POSIXct")) format(times_of(first, x))
    else if (is.numeric(x) && !inherits(x, "difftime")) number_text(first)
    else if (is.logical(x)) as.character(first)
  if (is.null(text)) return(NULL)
  paste0("  values: ", paste(text, collapse = ", "), if (n > 10L) ", ...")
}

number_text <- function(x) {
  vapply(unname(x), function(value) format(as.numeric(value), digits = 4L), "")
}

shown_strings <- function(x) {
  vapply(x, function(text) {
    if (is.na(text)) "NA" else paste0("\"", shown_text(text, 20L), "\"")
  }, "", USE.NAMES = FALSE)
}

# One line, no control characters, valid and short; cut first, for strings may be long.
shown_text <- function(text, width) {
  if (is.na(text)) return("NA")
  text <- enc2utf8(text)
  if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
  short <- substr(text, 1L, width)
  encoded <- encodeString(short)
  if (nchar(short) < nchar(text)) paste0(encoded, "...") else encoded
}
