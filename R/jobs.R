# Commands in the background: the members bg() and jobs() of peter$.

# Jobs that ended and are still listed.
ended_jobs_kept <- 20L

bg_member <- function(cmd, name = NULL, stdin = FALSE, merge = TRUE) {
  check_command(cmd)
  if (!is.null(name)) check_string(name, "name")
  check_flag(stdin, "stdin")
  check_flag(merge, "merge")
  need_processx("peter$bg()")
  kept <- keep_streams(merge)
  job <- new.env(parent = emptyenv())
  suspendInterrupts({
    process <- start_process(cmd, kept$files$stdout, if (merge) "2>&1" else kept$files$stderr,
      stdin = if (stdin) "|", cleanup_tree = TRUE)
    the$streams[[kept$id]]$job <- TRUE
    fill_job(job, process, kept, cmd, name)
    the$jobs[[kept$id]] <- job
    forget_ended_jobs()
  })
  job
}

fill_job <- function(job, process, kept, cmd, name) {
  state <- new.env(parent = emptyenv())
  state$process <- process
  state$files <- kept$files
  state$read <- c(stdout = 0, stderr = 0)
  state$killed <- FALSE
  state$started <- Sys.time()
  job$.state <- state
  job$id <- kept$id
  job$name <- name %||% kept$id
  job$cmd <- cmd
  job$read <- function(stream = c("stdout", "stderr")) job_read(state, kept$id, check_choice(stream, streams, "stream"))
  job$wait <- function(timeout = Inf) job_wait(state, timeout)
  job$write <- function(text) job_write(state, text)
  job$kill <- function() job_kill(state)
  job$status <- function() job_status(state)
  lockEnvironment(job, bindings = TRUE)
  class(job) <- "gptr_job"
  invisible(job)
}

streams <- c("stdout", "stderr")

# What was written since the last time, at most `output_bytes` at once; a character that is not whole yet waits.
job_read <- function(state, id, stream) {
  file <- state$files[[stream]]
  size <- if (is.null(file)) 0 else file.size(file)
  from <- state$read[[stream]]
  if (is.na(size) || size <= from) return(structure(character(), class = c("gptr_text", "character")))
  con <- file(file, "rb")
  on.exit(close(con))
  seek(con, from)
  bytes <- readBin(con, "raw", min(size - from, output_bytes))
  if (state$process$is_alive() || size - from > output_bytes) bytes <- whole_characters(bytes)
  state$read[[stream]] <- from + length(bytes)
  structure(clean_bytes(bytes, lines = TRUE), class = c("gptr_text", "character"))
}

# The exit status; NA when the time is up first. Ctrl-C ends the wait and not the job.
job_wait <- function(state, timeout) {
  check_seconds(timeout, "timeout")
  how <- wait_for_end(state$process, unlist(state$files), timeout %||% Inf)
  if (how == "too_much") job_kill(state)
  exit_status(state)
}

exit_status <- function(state) {
  if (state$process$is_alive()) NA_integer_ else state$process$get_exit_status() %||% NA_integer_
}

# Writes lines to the job's input; NULL closes it.
job_write <- function(state, text) {
  process <- state$process
  if (!process$has_input_connection()) {
    gptr_abort("invalid_argument", "The job reads nothing: start it with stdin = TRUE.", arg = "text")
  }
  if (is.null(text)) {
    close(process$get_input_connection())
    return(invisible(TRUE))
  }
  check_characters(text, "text")
  left <- charToRaw(lines_text(text))
  while (length(left)) {
    if (!process$is_alive()) abort_closed_input()
    left <- tryCatch(process$write_input(left), error = function(e) abort_closed_input())
    # A job that does not read for now has a full pipe.
    if (length(left)) Sys.sleep(look_every)
  }
  invisible(TRUE)
}

abort_closed_input <- function() {
  gptr_abort("invalid_argument", "The job has ended or its input is closed.", arg = "text")
}

job_kill <- function(state) {
  running <- state$process$is_alive()
  if (running) {
    state$killed <- TRUE
    end_process_tree(state$process)
  }
  invisible(running)
}

job_status <- function(state) {
  if (state$process$is_alive()) return("running")
  if (state$killed) return("killed")
  if (identical(exit_status(state), 0L)) "done" else "failed"
}

#' @export
format.gptr_job <- function(x, ...) {
  state <- x$.state
  words <- substr(paste(x$cmd, collapse = " "), 1L, 60L)
  status <- job_status(state)
  exit <- if (status == "failed") paste0(" (exit status ", exit_status(state), ")")
  paste0("<gptr_job ", x$name, "> ", printable(words), ": ", status, exit)
}

#' @export
print.gptr_job <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  cat("members: read(stream), wait(timeout), write(text), kill(), status(); peter$out(\"", x$id, "\") has its output\n",
    sep = "")
  invisible(x)
}

jobs_member <- function(kill = FALSE) {
  check_flag(kill, "kill")
  jobs <- unname(the$jobs)
  if (kill) for (job in jobs) job$kill()
  rows <- lapply(jobs, function(job) {
    state <- job$.state
    list(id = job$id, name = job$name, cmd = paste(job$cmd, collapse = " "), pid = state$process$get_pid(),
      status = job_status(state), exit = exit_status(state), started = as.numeric(state$started))
  })
  rows <- rows_frame(rows, list(id = "", name = "", cmd = "", pid = 0L, status = "", exit = 0L, started = 0))
  rows$started <- as.POSIXct(rows$started, origin = "1970-01-01")
  class(rows) <- c("gptr_jobs", "gptr_listing", "data.frame")
  rows
}

# Only so many jobs that ended are remembered, and their output as long.
forget_ended_jobs <- function() {
  ended <- names(Filter(function(job) !job$.state$process$is_alive(), the$jobs))
  old <- utils::head(ended, -ended_jobs_kept)
  the$jobs[old] <- NULL
  for (id in old) the$streams[[id]]$job <- FALSE
}
