# Time limits of evaluations, and which evaluation runs now.

# Evaluations nest: code may prompt a session whose code is evaluated in turn.
running <- new.env(parent = emptyenv())
running$stack <- list()

enter_evaluation <- function(run) {
  # An inner evaluation has no more time than the outer one that waits for it.
  run$deadline <- min(run$started + run$timeout, nearest_deadline())
  run$timeout <- round(run$deadline - run$started, 2)
  depth <- length(running$stack)
  running$stack <- c(running$stack, list(run))
  function() {
    running$stack <- running$stack[seq_len(depth)]
    rearm_outer()
  }
}

# The state environment of the evaluation that runs now, or NULL.
current_eval_state <- function() {
  depth <- length(running$stack)
  if (depth == 0L) NULL else running$stack[[depth]]$state
}

# The evaluation that runs now, or NULL; one of an outer session is no evaluation of the current one.
current_evaluation <- function() {
  depth <- length(running$stack)
  if (depth == 0L) return(NULL)
  run <- running$stack[[depth]]
  session <- current_session()
  if (is.null(session) || identical(session_data(session)$eval, run$state)) run
}

# Notes what gptr_return() hands over.
hand_over <- function(entry) {
  run <- running$stack[[length(running$stack)]]
  run$returned <- if (is.null(entry$name)) entry$label else entry$name
  run$state$value <- entry
}

past_deadline <- function(run) now_seconds() >= run$deadline

# setTimeLimit() has one limit for the process: the nearest deadline of all that run counts.
# Without any, a limit that the user has set is left alone.
arm_time_limit <- function() {
  deadline <- nearest_deadline()
  if (is.finite(deadline)) {
    setTimeLimit(elapsed = max(deadline - now_seconds(), 0.001), transient = TRUE)
  }
}

disarm_time_limit <- function() {
  if (is.finite(nearest_deadline())) setTimeLimit(elapsed = Inf)
}

# An inner evaluation has switched the outer one's limit off.
rearm_outer <- function() {
  if (length(running$stack) > 0L) arm_time_limit()
}

nearest_deadline <- function() {
  min(Inf, vapply(running$stack, function(run) run$deadline, 0))
}

# The limit raises a plain error; only its text, which R translates, tells it from others.
is_time_limit <- function(message) {
  known <- c("reached elapsed time limit", "reached CPU time limit")
  translated <- c(gettext(known[1L], domain = "R"), gettext(known[2L], domain = "R"))
  message %in% c(known, translated)
}
