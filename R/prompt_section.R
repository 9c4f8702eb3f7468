#' A section of the system prompt
#'
#' A section adds text to the system prompt of sessions that start after it was registered.
#'
#' @param name String, not empty.
#' @param text String, or `function(ctx)` that returns a string, or `NULL` to leave the section out. It is rendered
#'   once, when a session starts.
#' @param tier String: `"T0"` (default) for what is the same in all projects, `"T1"` for the rest.
#' @param order Whole number, default 500. Sections stand in ascending order.
#' @param budget Whole number of tokens, at least 1; default 300. Longer text is cut.
#' @param parent Name of the section that this one is a part of, or `NULL` (default).
#' @return A spec of class `c("gptr_prompt_section", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_prompt()] to see the prompt.
#' @examples
#' gptr_prompt_section("house_rules", "Report every quantity with its unit.", tier = "T1", order = 780L)
#' @export
gptr_prompt_section <- function(name, text, tier = c("T0", "T1"), order = 500L, budget = 300L, parent = NULL) {
  build_spec("prompt_section", given(name), list(
    text = given(text), tier = chosen(tier), order = order, budget = budget, parent = parent
  ))
}
