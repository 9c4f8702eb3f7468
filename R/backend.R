#' A backend for agents
#'
#' A backend runs an agent somewhere else: `gptr_agent(backend = "<name>")` uses it.
#'
#' Specs are checked, registered and listed; nothing reads the records in this version (see [gptr_kinds]).
#'
#' @param name String, not empty.
#' @param start `function(spec, ctx)` that starts the agent and returns a handle. It must not block.
#' @param poll `function(handle)` that returns `list(status, text, value, message)` with status `"running"`, `"done"`
#'   or `"failed"`; or `NULL` (default). It must return within 50 ms.
#' @param cancel `function(handle)` that stops the agent and all processes that it started.
#' @param capabilities Named list; empty by default.
#' @return A spec of class `c("gptr_backend", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_kinds] for all kinds.
#' @examples
#' gptr_backend(
#'   "instant",
#'   start = function(spec, ctx) list(text = "done"),
#'   poll = function(handle) list(status = "done", text = handle$text),
#'   cancel = function(handle) NULL
#' )
#' @export
gptr_backend <- function(name, start, poll = NULL, cancel, capabilities = list()) {
  build_spec("backend", given(name), list(
    start = given(start), poll = poll, cancel = given(cancel), capabilities = capabilities
  ))
}
