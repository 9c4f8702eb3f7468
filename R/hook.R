#' A hook
#'
#' A hook is called when an event happens, in every session; [gptr_on()] adds one to a single session.
#'
#' @param event String. An event of gptr, or a channel of an extension, such as `"lab:assay"`;
#'   `gptr_api()$features` lists the events.
#' @param handler `function(event, ctx)`. What it may return depends on the event; `NULL` is always no opinion.
#' @param matcher When the handler is called: a pattern of tool names (string), `function(event)` that returns `TRUE`
#'   or `FALSE`, or `NULL` (default) for always.
#' @return A spec of class `c("gptr_hook", "gptr_spec")`, named after the event.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong, or when
#' there is no such event.
#' @examples
#' gptr_hook("message_end", function(event, ctx) NULL)
#' @export
gptr_hook <- function(event, handler, matcher = NULL) {
  event <- given(event)
  named <- is.character(event) && length(event) == 1L && !is.na(event) && nzchar(event)
  build_spec("hook", if (named) event else "hook", list(
    event = event, handler = given(handler), matcher = matcher
  ))
}
