#' A router between models
#'
#' A router chooses the model before each request.
#'
#' Specs are checked, registered and listed; nothing reads the records in this version (see [gptr_kinds]).
#'
#' @param name String, not empty.
#' @param route `function(request, ctx)`. `request` is a list of `prompt`, `messages`, `state`, `previous`, `reason`
#'   and `session`; it returns a model reference, or `list(model, thinking, state)`. When it fails, the default model
#'   is used.
#' @param description String or `NULL` (default).
#' @param timeout Number of seconds, greater than 0; default 2.
#' @return A spec of class `c("gptr_router", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_kinds] for all kinds.
#' @examples
#' gptr_router("short_is_small", function(request, ctx) {
#'   if (nchar(request$prompt) < 80) "fake/fake-1" else NULL
#' })
#' @export
gptr_router <- function(name, route, description = NULL, timeout = 2) {
  build_spec("router", given(name), list(route = given(route), description = description, timeout = timeout))
}
