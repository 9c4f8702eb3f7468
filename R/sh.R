# The members sh() and script() of peter$.

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
  result <- run_command(cmd, input, wd, timeout %||% Inf, env, merge)
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
  stderr <- if (is.null(kept$files$stderr)) "" else stream_text(kept$files$stderr, out_call(kept$id, "stderr"))
  structure(
    list(
      cmd = cmd, status = status, ok = identical(status, 0L), stdout = stream_text(kept$files$stdout, out_call(kept$id)),
      stderr = stderr, elapsed = elapsed, timed_out = how == "timed_out", id = kept$id
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
  sub("(?<=\\[\\.\\.\\. )[0-9]+ lines not shown(?=; peter)", sprintf("most of %.1f MB not shown", bytes / 1024^2), shown, perl = TRUE)
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
  more <- list(...)
  unknown <- setdiff(names(more) %||% rep("", length(more)), setdiff(names(formals(sh_member)), "cmd"))
  if (length(unknown)) {
    shown <- paste(ifelse(nzchar(unknown), unknown, "(without a name)"), collapse = ", ")
    gptr_abort("invalid_argument", paste0("peter$script(): unused argument(s): ", shown), arg = "...")
  }
  file <- path.expand(path)
  check_that(file.exists(file) && !dir.exists(file), path, "path", "a script that is there")
  file <- normalizePath(file)
  program <- interpreter %||% interpreter_of(file)
  do.call(sh_member, c(list(cmd = with_program(c(program, file, args))), more))
}

# A program alone would be read as a shell's text.
with_program <- function(words) if (length(words) > 1L) words else c("/bin/sh", words)

# By the file's first line, else by its suffix.
interpreter_of <- function(file) {
  first <- tryCatch(readLines(file, n = 1L, warn = FALSE, skipNul = TRUE), error = function(e) character())
  if (length(first) && startsWith(first, "#!") && .Platform$OS.type != "windows") {
    words <- strsplit(trimws(substring(first, 3L)), "[[:space:]]+")[[1L]]
    # env(1) looks its program up, as processx does.
    if (identical(basename(words[[1L]]), "env") && length(words) > 1L && !startsWith(words[[2L]], "-")) words <- words[-1L]
    return(words)
  }
  program <- script_programs[[tolower(tools::file_ext(file))]]
  if (is.null(program)) {
    gptr_abort("invalid_argument", paste0("Name the `interpreter` of ", file, ": neither its first line nor its suffix does."),
      arg = "interpreter", expected = "a program")
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
  list(
    member("sh", paste("Run a command and wait for its end. Output that is long is cut in print; peter$out(x$id) has all.",
      "The value has status, ok, stdout, stderr, elapsed, timed_out and id."), sh_member, list("cmd"),
      list(cmd = command, input = either("Lines, or raw bytes, for standard input."), wd = text("Working directory."),
      timeout = either("Seconds until it is ended with all its processes; Inf for none."),
      env = either("Named character vector of environment variables; NA takes one out."),
      merge = flag("Standard error goes into stdout."), check = flag("A failure is an R error."),
      max_tokens = list(type = c("integer", "null"), description = "Tokens that printing may take."))),
    member("script", "Run a script file by its interpreter; the further arguments are those of sh().", script_member,
      list("path"), list(path = text("The script."), args = either("Its arguments."),
      interpreter = either("Program, and arguments before the script; by default by first line or suffix."),
      input = either("As for sh()."), wd = either("As for sh()."), timeout = either("As for sh()."), env = either("As for sh()."),
      merge = either("As for sh()."), check = either("As for sh()."), max_tokens = either("As for sh().")),
      # The function itself says which arguments it does not know.
      additionalProperties = TRUE),
    member("bg", paste("Start a command in the background. The value has read(), wait(), write(), kill() and status();",
      "it ends with the R session."), bg_member, list("cmd"),
      list(cmd = command, name = list(type = c("string", "null"), description = "What it is listed as."),
      stdin = flag("Keep its input open for write()."), merge = flag("Standard error goes into stdout."))),
    member("jobs", "List the commands that run in the background; with kill = TRUE end them.", jobs_member, list(),
      list(kill = flag("End them all.")))
  )
}
