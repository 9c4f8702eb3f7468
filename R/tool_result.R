#' The result of a tool
#'
#' What the `execute` of a tool may return when text alone is not enough.
#'
#' @param text Character vector without `NA`, or `NULL` (default). What the model reads; its elements become lines of
#'   one text.
#' @param images Images for the model, or `NULL` (default): paths of png, jpg, jpeg, gif or webp files, raw vectors
#'   with the bytes of a png file, image blocks, or a list of those.
#' @param details List with unique, non-empty names, or `NULL` (default). Kept with the session and seen by hooks,
#'   never sent to a model.
#' @param is_error `TRUE` when the text tells of a failure that the model should react to; default `FALSE`.
#' @param value Any R object: what R code that called the tool gets. `NULL` (default): the text.
#' @param gloss String or `NULL` (default). The short line that a person sees; control characters are dropped and it
#'   is cut at 80 columns. Without one the call itself is shown.
#' @param terminate `TRUE` asks to end the run after this turn; default `FALSE`.
#' @return A list of class `gptr_tool_result` with the fields `content` (list of blocks), `details`, `is_error`,
#'   `value`, `spill`, `out_id`, `truncated`, `terminate` and `gloss`.
#' @section Conditions:
#' `gptr_error_invalid_argument` (fields `arg`, `expected`) when an argument is wrong.
#' @seealso [gptr_tool()].
#' @examples
#' gptr_tool_result(c("3 rows", "2 columns"), details = list(n = 3L), value = 3L)
#' @export
gptr_tool_result <- function(text = NULL, images = NULL, details = NULL, is_error = FALSE, value = NULL,
                             gloss = NULL, terminate = FALSE) {
  check_characters(text, "text", null = TRUE)
  images <- image_blocks(images)
  check_named_list(details, "details", unique = TRUE, null = TRUE)
  check_flag(is_error, "is_error")
  check_string(gloss, "gloss", empty = TRUE, null = TRUE)
  check_flag(terminate, "terminate")
  structure(
    list(
      content = c(text_blocks(text), images), details = details, is_error = is_error, value = value, spill = NULL,
      out_id = NULL, truncated = FALSE, terminate = terminate, gloss = clean_gloss(gloss)
    ),
    class = "gptr_tool_result"
  )
}

text_blocks <- function(text) {
  if (is.null(text)) list() else list(list(type = "text", text = enc2utf8(paste(text, collapse = "\n"))))
}

clean_gloss <- function(gloss) {
  if (is.null(gloss)) NULL else strtrim(drop_controls(gloss), 80L)
}

# Control characters, separators of lines, and those that turn the direction of text around: each could make a
# terminal show something else than the text.
unprintable <- c(0:31, 127:159, 0x2028, 0x2029, 0x200E, 0x200F, 0x202A:0x202E, 0x2066:0x2069)

drop_controls <- function(x) {
  x <- enc2utf8(x)
  if (!validUTF8(x)) {
    x <- iconv(x, "UTF-8", "UTF-8", sub = "?")
  }
  codes <- utf8ToInt(x)
  intToUtf8(codes[!codes %in% unprintable])
}

no_output <- "(no output)"

result_fields <- c("text", "images", "value", "is_error", "details", "gloss")

# What an `execute` returned, as a tool result; anything that it may not return is an error.
as_tool_result <- function(x) {
  if (inherits(x, "gptr_tool_result")) {
    return(x)
  }
  if (length(x) == 0L && (is.null(x) || is.character(x) || identical(class(x), "list"))) {
    return(gptr_tool_result(no_output))
  }
  if (is.character(x) && !is.object(x)) {
    return(gptr_tool_result(x))
  }
  if (is_result_list(x)) {
    return(result_from_list(x))
  }
  abort_argument(
    "result",
    "NULL, a character vector, a gptr_tool_result, or a list of text, images, value, is_error, details and gloss", x
  )
}

is_result_list <- function(x) {
  is.list(x) && !is.object(x) && !is.null(names(x)) && anyDuplicated(names(x)) == 0L && all(names(x) %in% result_fields)
}

result_from_list <- function(x) {
  x <- x[!vapply(x, is.null, NA)]
  if (is.null(x[["text"]]) && is.null(x[["images"]])) {
    x[["text"]] <- no_output
  }
  do.call(gptr_tool_result, x, quote = TRUE)
}

#' @export
format.gptr_tool_result <- function(x, ...) {
  lines <- vapply(x$content, function(block) if (block$type == "image") "[image]" else block$text, "")
  paste(lines, collapse = "\n")
}

#' @export
print.gptr_tool_result <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  invisible(x)
}
