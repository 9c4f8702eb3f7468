#' A permission policy
#'
#' A policy sees every tool call before it runs. The strictest answer of all policies wins, and a policy that fails
#' denies.
#'
#' @param name String, not empty.
#' @param check `function(call, ctx)`. `call` has `name`, `input`, `risk` and more. It returns `NULL` (no opinion) or
#'   a list with `decision` (`"allow"`, `"deny"`, `"ask"`, `"ask_human"` or `"modify"`), `reason` (string or `NULL`)
#'   and, to modify, `input` (named list). It should answer within 10 ms.
#' @param description String or `NULL` (default).
#' @param order Whole number, default 500. Policies are asked in ascending order.
#' @param required `TRUE` when nothing but read-only calls may run while this policy is missing or failed to load;
#'   default `FALSE`.
#' @return A spec of class `c("gptr_policy", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
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
