#' A slash command
#'
#' A command is run by a person who types `/<name>` at the console.
#'
#' Specs are checked, registered and listed; nothing reads the records in this version (see [gptr_kinds]).
#'
#' @param name String without blanks, not beginning with `/`.
#' @param handler `function(args, ctx)`. `args` is the text after the name. It returns `NULL`, a character vector that
#'   is printed, or `list(prompt = )` with a prompt for the model.
#' @param description String or `NULL` (default).
#' @param complete `function(prefix, ctx)` for front ends that complete arguments, or `NULL` (default). The console
#'   does not call it.
#' @return A spec of class `c("gptr_command", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_kinds] for all kinds.
#' @examples
#' gptr_command("rows", function(args, ctx) paste("rows:", nrow(mtcars)), description = "Show the rows of mtcars")
#' @export
gptr_command <- function(name, handler, description = NULL, complete = NULL) {
  build_spec("command", given(name), list(
    handler = given(handler), description = description, complete = complete
  ))
}
