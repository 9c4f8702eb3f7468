#' A block of context
#'
#' A context block adds data to the first message of a session, to every prompt, or to both.
#'
#' @param name String, not empty.
#' @param provide `function(ctx, budget)` that returns a string, `list(text, attrs)`, or `NULL` for nothing. `budget`
#'   is in tokens; longer text is cut.
#' @param placement String: `"turn"` (default), `"first"` or `"both"`. A block for every turn is left out when its
#'   text did not change.
#' @param authority String: `"data"` (default), or `"operator"` for instructions. Extensions of a project and of one
#'   session may give data only.
#' @param budget Whole number of tokens, at least 1; default 300.
#' @param order Whole number, default 650. Blocks stand in ascending order.
#' @return A spec of class `c("gptr_context_block", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_prompt()] to see the first message.
#' @examples
#' gptr_context_block("lab_notebook", function(ctx, budget) "Experiment 12: cohort B.", placement = "first")
#' @export
gptr_context_block <- function(name, provide, placement = c("turn", "first", "both"),
                               authority = c("data", "operator"), budget = 300L, order = 650L) {
  build_spec("context_block", given(name), list(
    provide = given(provide), placement = chosen(placement), authority = chosen(authority),
    budget = budget, order = order
  ))
}
