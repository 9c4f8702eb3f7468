#' A hook
#'
#' A hook is called when an event happens, in every session; [gptr_on()] adds one to a single session. [gptr_events] has
#' the events, what handlers get and may answer, and what `ctx` has.
#'
#' @param event String. An event of gptr, or a channel of an extension, such as `"lab:assay"`;
#'   `gptr_api()$features` lists the events.
#' @param handler `function(event, ctx)`. What it may return depends on the event; `NULL` is always no opinion.
#' @param matcher When the handler is called: a pattern of tool names (string; `*` stands for any characters, `?` for
#'   one), `function(event)` that returns `TRUE` or `FALSE`, or `NULL` (default) for always.
#' @return A spec of class `c("gptr_hook", "gptr_spec")`, named after the event.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong, or when
#' there is no such event.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_events] for the events.
#' @examples
#' gptr_hook("message_end", function(event, ctx) NULL)
#'
#' # A hook that says no.
#' no_shell <- gptr_hook("tool_call", matcher = "r", function(event, ctx) {
#'   if (grepl("system(", event$input$code, fixed = TRUE)) {
#'     list(decision = "block", reason = "no shell commands here")
#'   }
#' })
#' off <- gptr_register(no_shell)
#' off()
#' @export
gptr_hook <- function(event, handler, matcher = NULL) {
  event <- given(event)
  named <- is.character(event) && length(event) == 1L && !is.na(event) && nzchar(event)
  build_spec("hook", if (named) event else "hook", list(
    event = event, handler = given(handler), matcher = matcher
  ))
}
