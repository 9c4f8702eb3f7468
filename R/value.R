# Values across the border to the engine, as JSON text. Requests, inputs and results of tools go the same way.

# The JSON text of an R object. What JSON can't hold raises `gptr_error_invalid_argument`; `path` says where it is.
value_to_json <- function(x) {
  answer <- engine(.Call(wrap__value_to_json, for_engine(x)))
  if (is.character(answer)) {
    return(answer)
  }
  at <- if (nzchar(answer$path)) answer$path else "the value"
  gptr_abort("invalid_argument", paste0("`x` can't be sent as JSON: ", at, " ", answer$problem, "."),
             arg = "x", path = answer$path)
}

# The R object for a JSON text: objects are named lists, arrays lists. With `vectors`, an array of strings, of numbers or
# of flags is an atomic vector with NA for null; I() marks one of length one.
value_from_json <- function(text, vectors = FALSE) {
  check_string(text, "text", empty = TRUE)
  engine(.Call(wrap__value_from_json, text, vectors))
}

# A value as the engine can read it: it knows neither the rules of time zones nor the formals of primitive functions.
for_engine <- function(x) {
  if (.Call(wrap__value_needs_r, x)) readable(x) else x
}

readable <- function(x) {
  if (inherits(x, "POSIXlt")) {
    return(as.POSIXct(x))
  }
  if (is.primitive(x)) {
    with_formals <- args(x)
    return(if (is.null(with_formals)) x else with_formals)
  }
  if (typeof(x) != "list") {
    return(x)
  }
  parts <- lapply(unclass(x), readable)
  attributes(parts) <- attributes(x)
  parts
}
