# Conditions of evaluated code: what is noted of them, and their text for the model.

max_frames_first <- 5L
max_frames_last <- 15L
frame_width <- 120L
max_warnings_kept <- 50L

note_message <- function(m, run) {
  if (is.null(find_restart("muffleMessage", m))) return()
  text <- conditionMessage(m)
  write_captured(run, text)
  show_live(run, "message", text)
  invokeRestart("muffleMessage")
}

note_warning <- function(w, run) {
  level <- getOption("warn")
  if (is.numeric(level) && length(level) == 1L && isTRUE(level >= 2)) return()
  if (is.null(find_restart("muffleWarning", w))) return()
  if (!isTRUE(level < 0)) {
    text <- condition_line("Warning", w)
    write_captured(run, paste0(line_start, text, "\n"))
    if (length(run$warnings) < max_warnings_kept) {
      run$warnings <- c(run$warnings, conditionMessage(w))
    }
    show_live(run, "warning", text)
  }
  invokeRestart("muffleWarning")
}

find_restart <- function(name, condition) {
  for (restart in computeRestarts(condition)) {
    if (identical(restart$name, name)) return(restart)
  }
  NULL
}

# What the person shall see at once goes to the outer standard error.
show_live <- function(run, kind, text) {
  show <- run$state$show
  if (!is.function(show)) return()
  sink_messages(run$outer_stderr)
  on.exit(sink(run$con, type = "message"))
  tryCatch(show(kind, text), error = function(e) NULL)
}

# "Warning in f(x): text", without a call when the harness itself was the caller.
condition_line <- function(lead, condition) {
  call <- own_call(conditionCall(condition))
  text <- safe_message(condition)
  if (is.null(call)) paste0(lead, ": ", text) else paste0(lead, " in ", deparse_line(call), ": ", text)
}

# Top-level code runs inside eval(), which R then takes for the caller.
own_call <- function(call) {
  if (!is.call(call)) return(NULL)
  if (any(c(".gptr_expression", ".gptr_home") %in% all.names(call, max.names = 20L))) return(NULL)
  call
}

safe_message <- function(condition) {
  text <- tryCatch(paste(conditionMessage(condition), collapse = "\n"), error = function(e) "")
  if (nzchar(text)) text else class(condition)[1L]
}

# A few lines of deparsed code are enough: the rest is not built.
deparse_line <- function(call) {
  text <- tryCatch(deparse(call, width.cutoff = 500L, nlines = 5L), error = function(e) "<call>")
  text <- paste(trimws(text), collapse = " ")
  if (nchar(text) > frame_width) paste0(substr(text, 1L, frame_width - 3L), "...") else text
}

# status, message, call and frames of what ended the evaluation.
failure_record <- function(e, calls, run) {
  message <- safe_message(e)
  if (past_deadline(run) && is_time_limit(message)) {
    return(list(status = "timeout", message = paste0("Timed out after ", plain_count(run$timeout),
      "s (limit set by the harness).")))
  }
  call <- own_call(conditionCall(e))
  list(
    status = "error", message = message, call = if (!is.null(call)) deparse_line(call),
    class = class(e), line = run$line,
    traceback = frame_lines(code_frames(calls, run$depth, call)))
}

# The frames between those of the harness and those that raise and handle the error.
code_frames <- function(calls, depth, call) {
  if (length(calls) <= depth) return(list())
  frames <- as.list(calls)[(depth + 1L):length(calls)]
  attr(frames[[1L]], "srcref") <- NULL
  without_member_call(frames[seq_len(last_own_frame(frames, call))])
}

# What a call of a peter$ member does inside is not the code's: its body calls a function object of this package.
without_member_call <- function(frames) {
  inside <- vapply(frames, function(f) {
    head <- f[[1L]]
    is.function(head) && !is.primitive(head) && identical(topenv(environment(head)), topenv())
  }, NA)
  if (any(inside)) frames[seq_len(which(inside)[[1L]] - 1L)] else frames
}

raising <- c("stop", "warning", "abort", "signalCondition", ".handleSimpleError", "h", "stopifnot",
  "signal_abort", "withRestarts", "withOneRestart", "doWithOneRestart", ".signalSimpleWarning")

last_own_frame <- function(frames, call) {
  if (!is.null(call)) {
    bare <- without_srcref(call)
    for (i in rev(seq_along(frames))) {
      if (identical(without_srcref(frames[[i]]), bare)) return(i)
    }
  }
  n <- length(frames) - 1L # the handler itself is the last
  while (n > 0L && call_name(frames[[n]]) %in% raising) n <- n - 1L
  n
}

call_name <- function(call) {
  head <- call[[1L]]
  if (is.call(head) && length(head) == 3L) head <- head[[3L]]
  if (is.symbol(head)) as.character(head) else ""
}

without_srcref <- function(call) {
  attr(call, "srcref") <- NULL
  call
}

frame_lines <- function(frames) {
  n <- length(frames)
  shown <- seq_len(n)
  if (n > max_frames_first + max_frames_last) {
    shown <- c(seq_len(max_frames_first), seq.int(n - max_frames_last + 1L, n))
  }
  lines <- vapply(shown, function(i) {
    place <- frame_place(frames[[i]])
    text <- deparse_line(without_srcref(frames[[i]]))
    line <- paste0(formatC(i, width = 2L), ": ", text)
    paste0(substr(line, 1L, frame_width - nchar(place)), place)
  }, "")
  if (n > length(shown)) {
    gap <- paste0("    (", n - length(shown), " frames not shown)")
    lines <- append(lines, gap, after = max_frames_first)
  }
  lines
}

frame_place <- function(call) {
  srcref <- attr(call, "srcref")
  if (is.null(srcref)) return("")
  file <- tryCatch(attr(srcref, "srcfile")$filename, error = function(e) NULL)
  if (!is.character(file) || length(file) != 1L || !nzchar(file)) return("")
  paste0(" at ", substr(basename(file), 1L, 40L), "#", as.integer(srcref)[1L])
}

failure_text <- function(failure) {
  if (!identical(failure$status, "error")) return(failure$message)
  lead <- if (is.null(failure$call)) "Error: " else paste0("Error in ", failure$call, ": ")
  place <- if (is.na(failure$line)) "" else paste0("  [expression at line ", failure$line, "]")
  text <- paste0(lead, failure$message, place)
  if (length(failure$traceback) == 0L) return(text)
  paste(c(text, "Traceback (outermost first):", failure$traceback), collapse = "\n")
}
