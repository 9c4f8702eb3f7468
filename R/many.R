# Many sessions at once: one loop drives all their runs. Streams are read in parallel meanwhile; R's closures run one
# after another.

#' Drive sessions until they settled
#'
#' Starts the input that waits in the sessions, goes on with runs that were left, and returns when no run is under way
#' or the time is up. Several sessions advance as their data arrives; inside of one session all keeps its order.
#'
#' @param x A session, see [peter()], a team, or a list of them.
#' @param timeout Seconds (number, 0 or more, or `Inf`). Runs that are not done by then stay `"running"`: wait or step
#'   again to go on with them.
#' @return `x`, invisibly. Running out of time is no error.
#' @section Conditions: for a single session the condition of its run, see [peter()]; of several, each session's
#'   `$status` and `$reason` tell. `gptr_error_busy` (field `session`) inside a run of one of them, before any is
#'   started; `gptr_error_invalid_argument` (`arg` is `x` or `timeout`).
#' @seealso [gptr_parallel()] for calls that are made for it, [gptr_step()], [gptr_cancel()].
#' @examples
#' ask <- function(text) peter(text, model = gptr_fake_provider(list(toupper(text))), .run = FALSE)
#' both <- list(ask("one"), ask("two"))
#' gptr_wait(both)
#' vapply(both, function(s) s$text, "")
#' @export
gptr_wait <- function(x, timeout = Inf) {
  sessions <- sessions_of(x)
  if (!identical(timeout, Inf)) check_number(timeout, "timeout", min = 0)
  outcomes <- drive_sessions(sessions, timeout)
  if (inherits(x, "gptr_session") && length(outcomes) == 1L && !is.null(outcomes[[1L]]$condition)) {
    stop(terminal_condition(outcomes[[1L]]$condition, sessions[[1L]]))
  }
  invisible(x)
}

#' Stop sessions
#'
#' Aborts the runs of sessions, with the reason `"user"`: transfers are cut, open tool calls are closed with an error
#' result, what waits in the queue is dropped. The sessions can be continued.
#'
#' @param x A session, see [peter()], a team, or a list of them. One that does not run is left as it is.
#' @return `x`, invisibly. Called from a handler inside of the run, it returns at once and the run ends soon after.
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `x`), `gptr_error_permission` in code that the model
#'   wrote, for another session than its own.
#' @examples
#' session <- peter("Wait.", model = gptr_fake_provider(list(list(hang = TRUE))), .run = FALSE)
#' gptr_wait(session, timeout = 0.1)
#' session$status
#' gptr_cancel(session)
#' session$status
#' @export
gptr_cancel <- function(x) {
  sessions <- sessions_of(x)
  for (s in sessions) guard_other_session(s, "gptr_cancel")
  for (s in sessions) {
    data <- session_data(s)
    engine(.Call(wrap__session_abort, data$ptr, "user"))
    # A run that was left settles here; one that is being driven does so in its own loop.
    if (!is.null(left_task(s)) && !is_driven(s)) settle(s)
  }
  invisible(x)
}

# Drives what is left of an aborted run.
settle <- function(session) {
  data <- session_data(session)
  task <- data$task
  data$task <- NULL
  drive(task)
  invisible(NULL)
}

#' Say something to a session
#'
#' @param s A session, see [peter()].
#' @param text What to say (string).
#' @param as `"steer"`: before the next model request of the run. `"follow_up"`: when the run would end.
#' @return `s`, invisibly and at once; into a session that does not run, the text waits for [gptr_step()] or
#'   [gptr_wait()].
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `s`, `text` or `as`), `gptr_error_permission` in code
#'   that the model wrote, for another session than its own.
#' @examples
#' session <- peter("Count to three.", model = gptr_fake_provider(list("1 2 3", "3 2 1")))
#' gptr_steer(session, "Now backwards.", as = "follow_up")
#' gptr_wait(session)
#' session$text
#' @export
gptr_steer <- function(s, text, as = c("steer", "follow_up")) {
  check_class(s, "gptr_session", "s")
  refuse_team(s, "s")
  check_string(text, "text")
  as <- check_choice(as, c("steer", "follow_up"), "as")
  guard_other_session(s, "gptr_steer")
  data <- session_data(s)
  engine(.Call(wrap__session_steer, data$ptr, enc2utf8(text), as))
  perform(engine(.Call(wrap__task_queue_told, data$ptr)))
  invisible(s)
}

# What a model's code does to a session that is not its own needs a person.
guard_other_session <- function(s, action) {
  frame <- current_frame()
  if (!is.null(frame) && !identical(frame$session, session_data(s)$id)) control_guard(action)
}

#' The last session
#'
#' @return The session that the last `peter()` call at top level made or continued in this R process, also when its run
#'   failed; `NULL` before the first.
#' @examples
#' peter("Say hello.", model = gptr_fake_provider(list("hello")))
#' gptr_last()$text
#' @export
gptr_last <- function() the$last

#' Several calls at once
#'
#' Makes the given [peter()] calls together: their requests are in flight at the same time, on one R process.
#'
#' @param ... Calls of [peter()], which are not run one by one, or sessions built with `.run = FALSE`; names become the
#'   names of the children, an unnamed one is `..1`, `..2` and so on.
#' @param .list More such sessions, a list.
#' @param max_active Model requests in flight among them: a whole number, `Inf` for no bound, or `NULL`: at most
#'   `getOption("gptr.max_active")` (8) to one provider's address.
#' @param on_error `"return"`: a failure is seen in the child's `$status`. `"stop"`: the first failure stops the others
#'   and is raised.
#' @return A session of kind `"team"`: `$children` are the sessions by name, `$text` their answers under a heading each,
#'   `$value` a named list, `$status` is `"idle"` when all are, else that of the first that is not; `$usage` and `$cost`
#'   are sums. Ctrl-C stops all.
#' @section Conditions: `gptr_error_invalid_argument` (`arg`) for anything but such calls, before one is run; with
#'   `on_error = "stop"` the condition of the first failure, with the child in its field `session`.
#' @seealso [gptr_wait()].
#' @examples
#' fake <- gptr_fake_provider(function(request) toupper(request$last_user))
#' team <- gptr_parallel(a = peter("one", model = fake), b = peter("two", model = fake))
#' team$children$a$text
#' team$status
#' @export
gptr_parallel <- function(..., .list = NULL, max_active = NULL, on_error = c("return", "stop")) {
  on_error <- check_choice(on_error, c("return", "stop"), "on_error")
  if (!is.null(max_active) && !identical(max_active, Inf)) max_active <- check_count(max_active, "max_active", min = 1)
  if (!is.null(.list)) check_list(.list, ".list")
  exprs <- as.list(substitute(list(...)))[-1L]
  made <- lapply(seq_along(exprs), function(i) captured_session(exprs[[i]], function() ...elt(i), "..."))
  sessions <- c(made, lapply(.list, built_session, arg = ".list"))
  names(sessions) <- child_names(c(names(exprs) %||% rep("", length(exprs)), names(.list) %||% rep("", length(.list))))
  team <- new_team(sessions, "team")
  if (!is.null(max_active)) share_lane(sessions, max_active)
  failed <- NULL
  outcomes <- drive_sessions(sessions, settled = function(i, outcome) {
    if (on_error == "stop" && is.null(failed) && !is.null(outcome$condition)) {
      failed <<- i
      TRUE
    }
  })
  if (!is.null(failed)) stop(terminal_condition(outcomes[[failed]]$condition, sessions[[failed]]))
  if (is.null(current_frame())) the$last <- team
  team
}

# The session that a call makes, built and not run.
captured_session <- function(expr, value, arg) {
  the$captured <- expr
  on.exit(the$captured <- NULL)
  built_session(value(), arg)
}

# TRUE for a call of peter() that gptr_parallel() was given, once.
is_captured <- function(call) {
  if (is.null(the$captured) || !identical(call, the$captured)) return(FALSE)
  the$captured <- NULL
  TRUE
}

built_session <- function(x, arg) {
  if (!inherits(x, "gptr_session") || inherits(x, "gptr_team")) {
    abort_argument(arg, "calls of peter(), or sessions built with `.run = FALSE`", x)
  }
  if (is.null(left_task(x)) && !session_has_input(x)) {
    gptr_abort("invalid_argument", paste0("`", arg, "` has a session with nothing to run: build it with `.run = FALSE`."),
      arg = arg, expected = "sessions with input")
  }
  x
}

child_names <- function(names) {
  names[is.na(names)] <- ""
  names <- ifelse(nzchar(names), names, paste0("..", seq_along(names)))
  if (anyDuplicated(names)) {
    gptr_abort("invalid_argument", paste0("Two calls have the name '", names[[anyDuplicated(names)]], "'."), arg = "...",
      expected = "names of their own")
  }
  names
}

share_lane <- function(sessions, max_active) {
  limit <- if (is.infinite(max_active)) NULL else as.numeric(max_active)
  engine(.Call(wrap__sessions_share_lane, lapply(unname(sessions), function(s) session_data(s)$ptr), limit))
}

# ---- the loop -------------------------------------------------------------------------------------------------------

# The sessions that `x` stands for, each once.
sessions_of <- function(x) {
  all <- if (inherits(x, "gptr_session")) list(x) else if (is_plain_list(x)) x
  ok <- !is.null(all) && all(vapply(all, inherits, NA, "gptr_session"))
  if (!ok) abort_argument("x", "a session or a list of sessions", x)
  flat <- unlist(lapply(unname(all), function(s) if (inherits(s, "gptr_team")) unname(s$children) else list(s)), FALSE)
  flat[!duplicated(vapply(flat, function(s) session_data(s)$id, ""))]
}

# Drives the runs of several sessions until each settled or the time is up, and returns their outcomes, NULL for one
# that did not settle. `settled(i, outcome)` hears of each; TRUE from it stops the others.
drive_sessions <- function(sessions, seconds = Inf, settled = function(i, outcome) FALSE) {
  for (s in sessions) refuse_busy(s)
  tasks <- lapply(sessions, session_task)
  outcomes <- vector("list", length(sessions))
  open <- which(!vapply(tasks, is.null, NA))
  stopped <- interrupted <- finished <- FALSE
  for (i in open) mark_run(sessions[[i]], "driven", TRUE)
  on.exit(leave_runs(sessions, tasks, open, finished))
  until <- elapsed_now() + seconds
  stop_all <- function(reason) for (i in open) .Call(wrap__task_cancel, tasks[[i]], reason)
  suspendInterrupts({
    ready <- open
    repeat {
      for (i in ready) {
        step <- advance(tasks[[i]])
        interrupted <- interrupted || step$interrupted
        if (step$type == "done") {
          open <- setdiff(open, i)
          outcomes[[i]] <- settled_run(sessions[[i]], step$value)
          if (!stopped && isTRUE(settled(i, outcomes[[i]]))) {
            stopped <- TRUE
            stop_all("another call failed")
          }
        }
        if (interrupted && !stopped) {
          stopped <- TRUE
          stop_all("user")
        }
      }
      if (!length(open)) break
      left <- until - elapsed_now()
      if (left <= 0 && !stopped) break
      waited <- wait_for_any(tasks[open], if (stopped) Inf else left)
      interrupted <- interrupted || waited$interrupted
      ready <- open[as.integer(unlist(waited$ready))]
      if (interrupted && !stopped) {
        stopped <- TRUE
        stop_all("user")
      }
    }
  })
  finished <- TRUE
  if (interrupted) resignal_interrupt()
  outcomes
}

elapsed_now <- function() proc.time()[["elapsed"]]

# A new run for what waits in a session, the one that was left, or NULL when there is nothing to do.
session_task <- function(s) {
  data <- session_data(s)
  if (is.null(left_task(s)) && session_has_input(s)) data$task <- .Call(wrap__task_run, data$ptr)
  data$task
}

# Takes a task as far as it gets without waiting.
advance <- function(task) {
  interrupted <- FALSE
  repeat {
    step <- engine(.Call(wrap__task_next, task))
    forget(step$released)
    if (step$type %in% c("wait", "done")) return(list(type = step$type, value = step$value, interrupted = interrupted))
    # What several sessions say at once would be a jumble.
    if (step$type != "show") interrupted <- serve(task, step) || interrupted
  }
}

wait_for_any <- function(tasks, seconds) {
  tryCatch(allowInterrupts(engine(.Call(wrap__tasks_wait, tasks, min(seconds, 1e9)))),
    interrupt = function(e) list(ready = integer(), interrupted = TRUE))
}

# How a run ended: list(status, condition), the condition as data. An error of the engine itself counts as one.
settled_run <- function(session, value) {
  mark_run(session, "task", NULL)
  if (!inherits(value, "gptr_engine_error")) return(value)
  list(status = "error", condition = value)
}

mark_run <- function(s, field, value) assign(field, value, envir = session_data(s))

# What the loop leaves: a run that is not done waits for the next loop, after a jump it is brought to its end.
leave_runs <- function(sessions, tasks, open, finished) {
  for (s in sessions) mark_run(s, "driven", NULL)
  if (finished) return(invisible(NULL))
  for (i in open) {
    .Call(wrap__task_abandon, tasks[[i]])
    mark_run(sessions[[i]], "task", NULL)
  }
}

# TRUE while a loop drives the session's run: its own code runs, or it waits for its turn.
is_driven <- function(s) session_in_frames(s) || isTRUE(session_data(s)$driven)

refuse_busy <- function(s) {
  if (is_driven(s)) {
    gptr_abort("busy", paste0("The session ", session_data(s)$id, " is running: steer it with gptr_steer() or ",
      "peter(session, ...)."), session = s)
  }
}
