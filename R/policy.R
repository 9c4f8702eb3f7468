#' A permission policy
#'
#' A policy sees every tool call before it runs. The strictest answer of all policies wins, and a policy that fails
#' denies.
#'
#' `call` is a list: `id`, `name` (for a member of `peter$` with its namespace, such as `"demo/add"`), `input`
#' (named list), `tool`, `nested` (`TRUE` for a call from R code of the model), `parent_id`, and `risk`: for R code
#' the analysis, a list with `level` (0 read-only, 1 local, 2 mutating, 3 dangerous, 4 critical), `label`,
#' `categories`, `flagged` (the calls that raise it), `paths` and more; for other tools a list with `level`.
#'
#' @param name String, not empty.
#' @param check `function(call, ctx)`. It returns `NULL` (no opinion) or
#'   a list with `decision` (`"allow"`, `"deny"`, `"ask"`, `"ask_human"` or `"modify"`), `reason` (string or `NULL`)
#'   and, to modify, `input` (named list). It should answer within 10 ms.
#' @param description String or `NULL` (default).
#' @param order Whole number, default 500. Policies are asked in ascending order.
#' @param required `TRUE` when nothing but read-only calls may run while this policy is missing or failed to load;
#'   default `FALSE`.
#' @return A spec of class `c("gptr_policy", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_kinds] for all kinds.
#' @examples
#' gptr_policy("keep_data", check = function(call, ctx) {
#'   if (identical(call$name, "r") && grepl("rm(", call$input$code, fixed = TRUE)) {
#'     list(decision = "deny", reason = "removing objects is not allowed in this session")
#'   }
#' })
#' @export
gptr_policy <- function(name, check, description = NULL, order = 500L, required = FALSE) {
  build_spec("policy", given(name), list(
    check = given(check), description = description, order = order, required = required
  ))
}
