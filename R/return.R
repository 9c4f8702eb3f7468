#' Hand a value over from a run
#'
#' Code that the model wrote calls this to name the result of the run; it becomes `$value` of the
#' session. The last call wins.
#'
#' @param x Any object. When it is given as a symbol, the value goes by that name.
#' @return Invisibly `NULL` inside a run; outside of one `x`, invisibly, with one message of class
#'   `gptr_message_notice` in an R session (none with `options(gptr.quiet = TRUE)`).
#' @examples
#' fit <- lm(mpg ~ wt, mtcars)
#' suppressMessages(gptr_return(fit))
#' @export
gptr_return <- function(x) {
  expression <- substitute(x)
  if (is.null(current_eval_state())) {
    notice_outside_run()
    return(invisible(x))
  }
  hand_over(list(
    name = if (is.symbol(expression)) as.character(expression),
    label = deparse_line(expression), value = x))
  invisible(NULL)
}

return_notice <- new.env(parent = emptyenv())

notice_outside_run <- function() {
  if (isTRUE(return_notice$given) || isTRUE(getOption("gptr.quiet"))) return()
  return_notice$given <- TRUE
  message(structure(
    list(message = "gptr_return() names the value of a run; outside of one it returns its argument.\n",
      call = NULL),
    class = c("gptr_message_notice", "gptr_message", "message", "condition")))
}
