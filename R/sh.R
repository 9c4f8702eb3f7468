# The members sh() and script() of peter$.

#' Commands of the operating system
#'
#' Members of `peter$` that run programs: for the person at the console, and for R code that the model writes.
#'
#' @section sh:
#' `peter$sh(cmd, input = NULL, wd = ".", timeout = 120, env = NULL, merge = FALSE, check = FALSE, max_tokens = NULL)`
#'
#' Runs a command and waits for its end.
#' * `cmd`: one string for the system's shell; or a character vector of a program and its arguments, run without one.
#' * `input`: what it reads, as lines (character) or bytes (raw). `NULL`: nothing; a command never waits for the
#'   terminal.
#' * `wd`: its directory. `timeout`: seconds until it is ended with all its processes; `Inf` or `NULL` for no limit.
#' * `env`: named character vector of environment variables; `NA` takes one out. The command's environment is R's
#'   without variables that hold secrets: those that a provider takes its key from, and values that are, or look like,
#'   a key.
#' * `merge`: standard error goes into `stdout`. `check`: a failure is an error.
#' * `max_tokens`: whole number of tokens, 20 or more, that printing may take; default: option
#'   `gptr.helper_output_tokens`, 1500.
#'
#' The value is of class `gptr_cmd`, a list of `cmd`, `status` (integer; negative for a signal, `NA` when it was ended
#' here), `ok`, `stdout` and `stderr` (strings without the final newline, of at most 1 MB: head and tail of more),
#' `elapsed` (seconds), `timed_out` and `id`. `peter$out(id, stream, lines)` reads all that was written; the outputs
#' of the newest 20 commands are kept (option `gptr.out_keep`). A command that writes more than 512 MB is ended. What
#' it leaves running in the background goes on.
#'
#' @section script:
#' `peter$script(path, args = character(), interpreter = NULL, ...)`
#'
#' Runs a script file by its first line (`#!`), else by its suffix, else by `interpreter` (a program, and arguments
#' before the script). `...` goes to `sh()`.
#'
#' @section bg and jobs:
#' `peter$bg(cmd, name = NULL, stdin = FALSE, merge = TRUE)`, `peter$jobs(kill = FALSE)`
#'
#' `bg()` starts a command in the background. The value, of class `gptr_job`, has `read(stream)` (the lines written
#' since the last time), `wait(timeout)` (the exit status, `NA` when the time is up first), `write(text)` (lines for
#' its input, with `stdin = TRUE`; `NULL` closes it), `kill()` and `status()` (`"running"`, `"done"`, `"failed"` or
#' `"killed"`). Jobs end with the R session. `jobs()` lists them: a data frame with `id`, `name`, `cmd`, `pid`,
#' `status`, `exit`, `started`.
#'
#' @section What may run:
#' In code of the model a command is judged by its words: what only reads (such as `git status`) is free, what makes or
#' moves files of the project is free in mode edits, and whatever is not recognised, or computed, asks.
#'
#' @section Conditions:
#' `gptr_error_missing_package` (fields `package`, `feature`) without the package processx; `gptr_error_spawn` (field
#' `command`) when a program can't be started; `gptr_error_process` (fields `command`, `status`, `stderr`) with `check`;
#' `gptr_error_invalid_argument` (fields `arg`, `expected`). Ctrl-C ends the command with all its processes.
#' @seealso [gptr_web_fetch], [gptr_ask_user], [peter()].
#' @name gptr_commands
#' @examplesIf requireNamespace("processx", quietly = TRUE) && .Platform$OS.type == "unix"
#' peter$sh("echo one; echo two")
#' x <- peter$sh(c("sort", "-r"), input = c("a", "b"))
#' x$stdout
#' job <- peter$bg("echo started")
#' job$wait()
#' job$read()
NULL

sh_member <- function(cmd, input = NULL, wd = ".", timeout = 120, env = NULL, merge = FALSE, check = FALSE,
                      max_tokens = NULL) {
  check_command(cmd)
  check_that(is.null(input) || is.raw(input) || (is.character(input) && !anyNA(input)), input, "input",
    "NULL, a character vector without NA or a raw vector")
  check_directory(wd)
  check_seconds(timeout, "timeout")
  check_variables(env)
  check_flag(merge, "merge")
  check_flag(check, "check")
  if (!is.null(max_tokens)) check_count(max_tokens, "max_tokens", min = 20)
  need_processx("peter$sh()")
  result <- run_command(cmd, input, path.expand(wd), timeout %||% Inf, env, merge)
  attr(result, "max_tokens") <- max_tokens
  if (check && !result$ok) abort_failed_command(result)
  result
}

check_command <- function(cmd) {
  ok <- is.character(cmd) && length(cmd) >= 1L && !anyNA(cmd) && grepl("[^[:space:]]", cmd[[1L]]) && all(validUTF8(cmd))
  check_that(ok, cmd, "cmd", "a command: one string for a shell, or a program and its arguments")
}

check_directory <- function(wd) {
  check_string(wd, "wd")
  check_that(dir.exists(wd), wd, "wd", "a directory that is there")
}

check_seconds <- function(x, arg) {
  ok <- is.null(x) || (is.numeric(x) && length(x) == 1L && !is.na(x) && x > 0)
  check_that(ok, x, arg, "a positive number of seconds, Inf or NULL")
}

check_variables <- function(env) {
  names <- names(env)
  ok <- is.null(env) || (is.character(env) && length(names) == length(env) && all(nzchar(names)) &&
    !any(grepl("=", names, fixed = TRUE)) && anyDuplicated(names) == 0L)
  check_that(ok, env, "env", "a character vector with a name for each variable")
}

# Runs a command to its end, whichever that is.
run_command <- function(cmd, input, wd, timeout, env, merge) {
  kept <- keep_streams(merge)
  stdin <- if (!is.null(input)) input_file(input)
  process <- NULL
  on.exit({
    if (!is.null(process)) end_if_alive(process)
    unlink(stdin)
  })
  started <- now_seconds()
  suspendInterrupts(process <- start_process(cmd, kept$files$stdout, if (merge) "2>&1" else kept$files$stderr,
    stdin = stdin, wd = wd, env = env))
  how <- wait_for_end(process, unlist(kept$files), timeout)
  elapsed <- now_seconds() - started
  end_if_alive(process)
  new_cmd(cmd, process, how, kept, elapsed, timeout)
}

end_if_alive <- function(process) if (process$is_alive()) end_process_tree(process)

new_cmd <- function(cmd, process, how, kept, elapsed, timeout) {
  status <- if (how == "ended") process$get_exit_status() else NA_integer_
  stdout <- stream_text(kept$files$stdout, out_call(kept$id))
  stderr <- if (is.null(kept$files$stderr)) "" else stream_text(kept$files$stderr, out_call(kept$id, "stderr"))
  structure(
    list(
      cmd = cmd, status = status, ok = identical(status, 0L), stdout = stdout, stderr = stderr, elapsed = elapsed,
      timed_out = how == "timed_out", id = kept$id
    ),
    class = "gptr_cmd", ending = ending_note(how, status, elapsed, timeout)
  )
}

# What is said of an end that is no success.
ending_note <- function(how, status, elapsed, timeout) {
  switch(how,
    timed_out = paste0("[ended with all its processes: it took longer than ", plain_count(timeout), " s]"),
    too_much = paste0("[ended with all its processes: it wrote more than ", output_limit / 1024^2, " MB]"),
    ended = if (status < 0L) {
      paste0("[ended by signal ", -status, "]")
    } else if (status > 0L) {
      paste0("[exit status ", status, "]")
    }
  )
}

out_call <- function(id, stream = "stdout") {
  paste0("peter$out(\"", id, "\"", if (stream == "stderr") ", \"stderr\"", ")")
}

abort_failed_command <- function(result) {
  words <- paste(result$cmd, collapse = " ")
  last <- utils::tail(strsplit(result$stderr, "\n", fixed = TRUE)[[1L]], 5L)
  message <- paste(c(paste0("The command failed: ", words), attr(result, "ending"), last), collapse = "\n")
  gptr_abort("process", message, command = result$cmd, status = result$status, stderr = result$stderr)
}

# Share of the budget that standard error gets at most.
stderr_share <- 0.25

#' @export
format.gptr_cmd <- function(x, ...) {
  budget <- attr(x, "max_tokens") %||% print_budget()
  err <- if (nzchar(x$stderr)) c("[stderr]", text_within(x$stderr, stderr_share * budget, out_call(x$id, "stderr")))
  out <- if (nzchar(x$stdout)) text_within(x$stdout, budget - estimate_text(err), out_call(x$id))
  lines <- c(out, err, attr(x, "ending"))
  if (length(lines)) lines else "(no output)"
}

#' @export
print.gptr_cmd <- function(x, ...) {
  cat(format(x, ...), sep = "\n")
  invisible(x)
}

# Of a text that is itself head and tail of more, the number of lines left out is not known.
text_within <- function(text, budget, call) {
  shown <- engine(.Call(wrap__text_within, as.vector(text), max(1, floor(budget)), call))
  bytes <- attr(text, "bytes")
  if (is.null(bytes)) return(shown)
  most <- sprintf("most of %.1f MB not shown", bytes / 1024^2)
  sub("(?<=\\[\\.\\.\\. )[0-9]+ lines not shown(?=; peter)", most, shown, perl = TRUE)
}

estimate_text <- function(lines) {
  if (is.null(lines)) 0 else engine(.Call(wrap__estimate_tokens, lines, "r_output"))
}

# ---- scripts --------------------------------------------------------------------------------------------------------

script_member <- function(path, args = character(), interpreter = NULL, ...) {
  check_string(path, "path")
  check_characters(args, "args")
  ok <- is.null(interpreter) || (is.character(interpreter) && length(interpreter) >= 1L && !anyNA(interpreter))
  check_that(ok, interpreter, "interpreter", "NULL, or a program and its arguments")
  more <- member_dots("script", list(...), setdiff(names(formals(sh_member)), "cmd"))
  file <- path.expand(path)
  check_that(file.exists(file) && !dir.exists(file), path, "path", "a script that is there")
  file <- normalizePath(file)
  program <- interpreter %||% interpreter_of(file)
  do.call(sh_member, c(list(cmd = c(program, file, args)), more))
}

# By the file's first line, else by its suffix.
interpreter_of <- function(file) {
  first <- tryCatch(readLines(file, n = 1L, warn = FALSE, skipNul = TRUE), error = function(e) character())
  if (length(first) && startsWith(first, "#!") && .Platform$OS.type != "windows") {
    words <- strsplit(trimws(substring(first, 3L)), "[[:space:]]+")[[1L]]
    # env(1) looks its program up, as processx does.
    by_env <- identical(basename(words[[1L]]), "env") && length(words) > 1L && !startsWith(words[[2L]], "-")
    return(if (by_env) words[-1L] else words)
  }
  program <- script_programs[[tolower(tools::file_ext(file))]]
  if (is.null(program)) {
    text <- paste0("Name the `interpreter` of ", file, ": neither its first line nor its suffix does.")
    gptr_abort("invalid_argument", text, arg = "interpreter", expected = "a program")
  }
  if (identical(program, "Rscript")) return(file.path(R.home("bin"), "Rscript"))
  found <- program[nzchar(Sys.which(program))]
  if (length(found)) found[[1L]] else program[[1L]]
}

script_programs <- list(
  r = "Rscript", py = c("python3", "python"), sh = "sh", bash = "bash", zsh = "zsh", pl = "perl", rb = "ruby",
  js = "node", mjs = "node", lua = "lua", jl = "julia", php = "php"
)

# ---- registration ---------------------------------------------------------------------------------------------------

command_specs <- function() {
  text <- function(...) list(type = "string", description = paste0(...))
  flag <- function(...) list(type = "boolean", description = paste0(...))
  # No type: a string or several, seconds that may be Inf, variables by name.
  either <- function(...) list(description = paste0(...))
  member <- function(name, description, fun, required, properties, ...) {
    gptr_tool(name, description, fun = fun, exposure = "r",
      parameters = list(type = "object", required = required, properties = properties, ...),
      risk = function(input, ctx) engine(.Call(wrap__member_level, name, input)),
      annotations = list(read_only = FALSE, destructive = TRUE, idempotent = FALSE, open_world = TRUE))
  }
  command <- either("One string for a shell, or a program and its arguments.")
  merge <- flag("Standard error goes into stdout.")
  as_for_sh <- either("As for sh().")
  list(
    member(
      "sh", paste("Run a command and wait for its end. What is long is cut when it is printed; peter$out(x$id) has",
        "all. The value has status, ok, stdout, stderr, elapsed, timed_out and id."), sh_member, list("cmd"),
      list(
        cmd = command, input = either("Lines, or raw bytes, for standard input."), wd = text("Working directory."),
        timeout = either("Seconds until it is ended with all its processes; Inf for none."),
        env = either("Named character vector of environment variables; NA takes one out."), merge = merge,
        check = flag("A failure is an R error."),
        max_tokens = list(type = c("integer", "null"), description = "Tokens that printing may take.")
      )
    ),
    member(
      "script", "Run a script file by its interpreter; the further arguments are those of sh().", script_member,
      list("path"),
      list(
        path = text("The script."), args = either("Its arguments."),
        interpreter = either("Program, and arguments before the script; by default by first line or suffix."),
        input = as_for_sh, wd = as_for_sh, timeout = as_for_sh, env = as_for_sh, merge = as_for_sh,
        check = as_for_sh, max_tokens = as_for_sh
      ),
      # The function itself says which arguments it does not know.
      additionalProperties = TRUE
    ),
    member(
      "bg", paste("Start a command in the background. The value has read(), wait(), write(), kill() and status();",
        "it ends with the R session."), bg_member, list("cmd"),
      list(
        cmd = command, name = list(type = c("string", "null"), description = "What it is listed as."),
        stdin = flag("Keep its input open for write()."), merge = merge
      )
    ),
    member(
      "jobs", "List the commands that run in the background; with kill = TRUE end them.", jobs_member, list(),
      list(kill = flag("End them all."))
    )
  )
}
