# Raises the error that a binding returned as data; any other value is handed through.
#   engine(.Call(wrap__spec_validate, spec))
engine <- function(x) {
  if (!inherits(x, "gptr_engine_error")) {
    return(x)
  }
  stop(engine_condition(x))
}

engine_condition <- function(x) {
  fields <- lapply(unclass(x$fields), several_strings)
  if (!is.null(fields$parent)) {
    fields$parent <- parent_condition(fields$parent)
  }
  if ("no_key" %in% unlist(x$classes) && is.null(fields$provider)) {
    fields$provider <- NA_character_
  }
  new_condition("error", x$classes, x$message, fields)
}

# The engine's arrays come as lists: names that are on offer are a character vector.
several_strings <- function(field) {
  strings <- is.list(field) && is.null(names(field)) && length(field) && all(vapply(field, is_string, NA))
  if (strings) unlist(field) else field
}

is_string <- function(x) is.character(x) && length(x) == 1L

# The cause of an error came from R code, with its class vector as it was, or from the engine, with class suffixes.
parent_condition <- function(x) {
  if (inherits(x, "condition")) {
    return(x)
  }
  classes <- as.character(unlist(x$classes))
  from_r <- any(classes %in% c("condition", "error", "simpleError", "interrupt")) || any(startsWith(classes, "gptr_"))
  if (!from_r) {
    return(engine_condition(x))
  }
  cond <- new_condition("error", character(), x$message, unclass(x$fields))
  class(cond) <- unique(c(classes, "error", "condition"))
  cond
}

# Raises `gptr_error_<class>`. `class` may hold several suffixes, the most special first. Named arguments become
# fields of the condition; `.fields` takes those whose name is a formal here, such as `class`.
gptr_abort <- function(class, message, ..., call = NULL, .fields = list()) {
  stop(new_condition("error", class, message, c(list(...), .fields), call))
}

# Signals `gptr_warning_<class>`; with a key in `once`, the first time only.
gptr_warn <- function(class, message, ..., once = NULL) {
  if (first_time("warning", once)) {
    warning(new_condition("warning", class, message, list(...)))
  }
  invisible(NULL)
}

# Signals `gptr_message_<class>`, unless the option `gptr.quiet` is TRUE; with a key in `once`, the first time only.
gptr_inform <- function(class, message, ..., once = NULL) {
  if (!isTRUE(getOption("gptr.quiet")) && first_time("message", once)) {
    message(new_condition("message", class, paste0(paste(message, collapse = ""), "\n"), list(...)))
  }
  invisible(NULL)
}

new_condition <- function(type, classes, message, fields = list(), call = NULL) {
  classes <- as.character(unlist(classes))
  class <- c(if (length(classes)) paste0("gptr_", type, "_", classes), paste0("gptr_", type), type, "condition")
  message <- redacted(enc2utf8(paste(as.character(unlist(message)), collapse = "")))
  structure(c(list(message = message, call = call), condition_fields(fields)), class = class)
}

condition_fields <- function(fields) {
  names <- names(fields)
  if (is.null(names)) {
    return(list())
  }
  fields[nzchar(names) & !names %in% c("message", "call")]
}

# What of this process was signalled already, and the function that every message passes.
signals <- new.env(parent = emptyenv())
signals$seen <- character()
signals$redact <- NULL

first_time <- function(type, key) {
  if (is.null(key)) {
    return(TRUE)
  }
  key <- paste0(type, ":", key)
  if (key %in% signals$seen) {
    return(FALSE)
  }
  signals$seen <- c(signals$seen, key)
  TRUE
}

# Puts `redact`, a function(text), between messages and whoever reads them; NULL takes it away.
set_message_redactor <- function(redact) {
  signals$redact <- redact
  invisible(NULL)
}

# A failing redactor must not let the text through.
redacted <- function(text) {
  if (is.null(signals$redact)) {
    return(text)
  }
  tryCatch(signals$redact(text), error = function(e) "[redaction failed]")
}
