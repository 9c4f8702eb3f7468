# Evaluation of R code that the model wrote, in the user's own session.

# Evaluates `code` expression by expression in `envir`.
#
# `state` is an environment that lives as long as the session: it keeps the agent's random
# seed (`seed`), the number of evaluations (`count`), the value that the code handed over
# (`value`, see gptr_return()), and, after an interrupt, what was evaluated until then
# (`interrupted`, of the same form as the result). A function `state$show(kind, text)` is
# told of messages and warnings as they come; what it writes to standard error is seen at once.
#
# `tokens` is the budget of the result, of which its images take a part.
#
# Returns list(text, images, is_error, details, status). An interrupt is not turned into a result:
# it leaves by unwinding, after everything was put back.
eval_code <- function(code, envir, state, timeout = Inf, tokens = 4000) {
  check_evaluation(code, envir, state, timeout)
  state$count <- if (is.null(state$count)) 1L else state$count + 1L
  code <- clean_code(code)
  if (!validUTF8(code)) {
    code <- iconv(code, "UTF-8", "UTF-8", sub = "\ufffd")
    return(unevaluated(code, "parse_error", "Parse error: the code is not valid UTF-8."))
  }
  blocked <- guard_code(code, envir)
  if (!is.null(blocked)) return(unevaluated(code, "blocked", blocked))
  exprs <- parse_code(code)
  if (inherits(exprs, "error")) {
    return(unevaluated(code, "parse_error", paste0("Parse error: ", conditionMessage(exprs))))
  }
  evaluate_parsed(exprs, code, envir, state, timeout, tokens)
}

check_evaluation <- function(code, envir, state, timeout) {
  refuse <- function(arg, expected) {
    gptr_abort("invalid_argument", paste0("`", arg, "` must be ", expected, "."),
      arg = arg, expected = expected)
  }
  if (!is.character(code) || length(code) != 1L || is.na(code)) refuse("code", "a single string")
  if (!is.environment(envir)) refuse("envir", "an environment")
  if (!is.environment(state)) refuse("state", "an environment")
  if (!is.numeric(timeout) || length(timeout) != 1L || is.na(timeout) || timeout <= 0) {
    refuse("timeout", "a positive number")
  }
}

# enc2utf8() would repair what has to be refused, so it is used on latin1 only.
clean_code <- function(code) {
  if (Encoding(code) == "latin1") code <- enc2utf8(code) else Encoding(code) <- "UTF-8"
  if (!validUTF8(code)) return(code)
  gsub("\r\n", "\n", code, fixed = TRUE)
}

parse_code <- function(code) {
  lines <- strsplit(code, "\n", fixed = TRUE)[[1L]]
  tryCatch(
    parse(text = code, keep.source = TRUE, encoding = "UTF-8",
      srcfile = srcfilecopy("<gptr>", lines)),
    error = identity)
}

# A result for code of which nothing ran.
unevaluated <- function(code, status, text) {
  list(
    text = paste0(text, "\n[status: ", status, "; nothing was evaluated]"), images = list(),
    is_error = TRUE, details = result_details(code = code, status = status, error = list(message = text)),
    status = status)
}

evaluate_parsed <- function(exprs, code, envir, state, timeout, tokens) {
  run <- new_run(exprs, code, envir, state, timeout, tokens)
  finished <- FALSE
  on.exit(suspendInterrupts({
    end_run(run)
    if (!finished) {
      run$status <- "interrupt"
      state$interrupted <- tryCatch(run_result(run), error = function(e) NULL)
    }
  }))
  begin_run(run)
  run_expressions(run)
  suspendInterrupts(end_run(run))
  result <- run_result(run)
  finished <- TRUE
  if (run$status == "interrupt") {
    state$interrupted <- result
    raise_interrupt()
  }
  result
}

raise_interrupt <- function() {
  signalCondition(structure(list(message = "interrupted", call = NULL),
    class = c("interrupt", "condition")))
  invokeRestart("abort")
}

# What one evaluation knows: an environment, for the condition handlers write into it.
new_run <- function(exprs, code, envir, state, timeout, tokens) {
  run <- new.env(parent = emptyenv())
  run$exprs <- exprs
  run$code <- code
  run$envir <- envir
  run$state <- state
  run$timeout <- timeout
  run$tokens <- tokens
  run$started <- now_seconds()
  run$status <- "ok"
  run$n_done <- 0L
  run$warnings <- character()
  run$undo <- list()
  run
}

now_seconds <- function() proc.time()[["elapsed"]]

# Each step that changes the process pushes how to change it back before the next one starts.
begin_run <- function(run) {
  has_rlang() # loading it sets options, which are not the code's doing
  run$before <- session_snapshot(run$envir)
  steps <- list(enter_evaluation, put_seed_aside, show_agent_names, set_options, guard_devices,
    open_capture)
  for (step in steps) {
    suspendInterrupts(run$undo <- c(list(step(run)), run$undo))
  }
}

# Idempotent; one failing step does not keep the others from being undone.
end_run <- function(run) {
  while (length(run$undo) > 0L) {
    undo <- run$undo[[1L]]
    run$undo <- run$undo[-1L]
    tryCatch(undo(), error = function(e) NULL)
  }
}

run_expressions <- function(run) {
  for (i in seq_along(run$exprs)) {
    if (past_deadline(run)) {
      run$status <- "timeout"
      run$failure <- list(message = paste0("Timed out after ", plain_count(run$timeout),
        "s before expression ", i, " of ", length(run$exprs), "."))
      return(invisible())
    }
    run$line <- expression_line(run$exprs, i)
    failure <- evaluate_one(run$exprs[[i]], run)
    restore_sink(run)
    end_expression(run)
    if (!is.null(failure)) {
      run$status <- failure$status
      run$failure <- failure
      return(invisible())
    }
    run$n_done <- i
  }
}

expression_line <- function(exprs, i) {
  srcref <- attr(exprs, "srcref")[[i]]
  if (is.null(srcref)) NA_integer_ else as.integer(srcref)[1L]
}

# NULL when the expression and the printing of its value went well, else a failure.
#
# Three nets: the calling handler sees an error with its stack and leaves by `leave`; R runs no
# calling handler while its stack overflows, so that has an exiting one; and whatever
# jumps to top level (an interrupt, an error inside a handler) ends at the restart.
evaluate_one <- function(expr, run) {
  on.exit(disarm_time_limit())
  arm_time_limit()
  withRestarts(
    tryCatch(
      callCC(function(leave) {
        withCallingHandlers(
          {
            value <- run_visible(expr, run$envir, run)
            if (value$visible && !prints_itself(expr, run$envir)) print_value(value$value, run)
            NULL
          },
          error = function(e) leave(failure_record(e, sys.calls(), run)),
          warning = function(w) note_warning(w, run),
          message = function(m) note_message(m, run),
          interrupt = function(i) run$interrupted <- TRUE
        )
      }),
      stackOverflowError = function(e) failure_record(e, list(), run)),
    abort = function(...) {
      if (isTRUE(run$interrupted)) return(list(status = "interrupt"))
      failure_record(simpleError("the evaluation was aborted"), list(), run)
    })
}

# The two argument names tell calls of the harness from calls of the code; see own_call().
run_visible <- function(.gptr_expression, .gptr_home, run) {
  run$depth <- sys.nframe() + 3L # withVisible(), and two frames of eval()
  withVisible(eval(.gptr_expression, .gptr_home))
}

# Base functions whose visible value nobody wants to see: print() of a class whose method
# returns visibly would print twice.
self_printing <- c("print", "cat", "message", "require", "set.seed", "rm", "setwd", "stopifnot")

prints_itself <- function(expr, envir) {
  if (!is.call(expr)) return(FALSE)
  head <- expr[[1L]]
  if (is.call(head) && identical(head[[1L]], quote(`::`)) && identical(head[[2L]], quote(base))) {
    return(as.character(head[[3L]]) %in% self_printing)
  }
  if (!is.symbol(head) || !as.character(head) %in% self_printing) return(FALSE)
  name <- as.character(head)
  identical(get0(name, envir, mode = "function"), get(name, baseenv()))
}

# print() is called from a child of the home, so that methods defined there are found.
print_value <- function(value, run) {
  scope <- new.env(parent = run$envir)
  scope$x <- value
  if (isS4(value)) {
    scope$show <- methods::show
    run_visible(quote(show(x)), scope, run)
  } else {
    scope$print <- base::print
    run_visible(quote(print(x)), scope, run)
  }
}
