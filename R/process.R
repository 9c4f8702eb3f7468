# Commands of the operating system, through package processx: started, awaited, and ended with all that they started.
#
# What a command writes goes into files: nothing has to be read while it runs, memory does not grow with it, and a
# process that outlives the command and keeps its output open holds up nobody.

# Bytes of each stream that a value holds; the files have all.
output_bytes <- 1024 * 1024

# Bytes that a command may write before it is ended.
output_limit <- 512 * 1024 * 1024

# Seconds between two looks at a running command.
look_every <- 0.05

has_processx <- function() requireNamespace("processx", quietly = TRUE)

need_processx <- function(feature) {
  if (has_processx()) return(invisible(NULL))
  gptr_abort("missing_package", paste0(feature, " needs the package processx: install.packages(\"processx\")."),
    package = "processx", feature = feature)
}

# Starts a command and returns the process. One string is for a shell, several are a program and its arguments.
start_process <- function(cmd, stdout, stderr, stdin = NULL, wd = ".", env = NULL, ...) {
  words <- if (length(cmd) > 1L) cmd else shell_words(cmd)
  tryCatch(
    processx::process$new(words[[1L]], words[-1L], stdout = stdout, stderr = stderr, stdin = stdin, wd = wd,
      env = child_environment(env), windows_hide_window = TRUE, ...),
    error = function(e) {
      gptr_abort("spawn", paste0("The command can't be started: ", words[[1L]], " (", start_problem(words[[1L]]), ")."),
        command = cmd)
    }
  )
}

shell_words <- function(cmd) {
  if (.Platform$OS.type != "windows") return(c("/bin/sh", "-c", cmd))
  c(Sys.getenv("COMSPEC", "cmd.exe"), "/d", "/s", "/c", cmd)
}

start_problem <- function(program) {
  if (nzchar(Sys.which(program))) "it is there, but the system refused" else "not found"
}

# The environment of this process without secrets, changed by `env`: NA takes a variable out.
child_environment <- function(env = NULL) {
  own <- Sys.getenv()
  values <- iconv(own, "", "UTF-8", sub = "byte")
  secrets <- unlist(engine(.Call(wrap__secret_variables, names(own), values, frame_session_id())))
  own <- unclass(own)[!names(own) %in% secrets]
  # Nobody can be asked for a password.
  defaults <- c(GIT_TERMINAL_PROMPT = "0")
  all <- c(own, defaults[!names(defaults) %in% names(own)])
  all[names(env)] <- env
  all[!is.na(all)]
}

# Waits for a command's end: "ended", "timed_out" or "too_much". Ctrl-C leaves at once.
wait_for_end <- function(process, files, timeout) {
  deadline <- now_seconds() + timeout
  repeat {
    left <- deadline - now_seconds()
    process$wait(max(0, min(look_every, left)) * 1000)
    if (!process$is_alive()) return("ended")
    if (left <= 0) return("timed_out")
    if (sum(file.size(files), na.rm = TRUE) > output_limit) return("too_much")
    # Looks for Ctrl-C, which compiled loops do seldom.
    Sys.sleep(0)
  }
}

# Ends a process and everything below it, also what has left the family since.
end_process_tree <- function(process) {
  suspendInterrupts({
    for (round in 1:3) {
      table <- tryCatch(process_table(), error = function(e) NULL)
      below <- if (is.null(table)) integer() else descendants(table[!table$dead, ], process$get_pid())
      # From the root: a shell has nothing to say about children that were killed.
      tryCatch(process$kill(), error = function(e) NULL)
      for (pid in below) tools::pskill(pid, tools::SIGKILL)
      tryCatch(process$kill_tree(), error = function(e) NULL)
      if (length(below) == 0L) break
    }
  })
}

# A file for what a command reads.
input_file <- function(input) {
  file <- tempfile("in")
  if (is.raw(input)) writeBin(input, file) else writeBin(charToRaw(lines_text(input)), file)
  file
}

lines_text <- function(lines) paste0(enc2utf8(lines), "\n", collapse = "")

# ---- kept output ----------------------------------------------------------------------------------------------------

# Files for the output of a new command, under an id for peter$out(). The newest ones are kept.
keep_streams <- function(merge) {
  id <- fresh_output_id()
  folder <- file.path(tempdir(), "gptr-out")
  dir.create(folder, showWarnings = FALSE)
  files <- list(stdout = file.path(folder, paste0(id, ".out")))
  if (!merge) files$stderr <- file.path(folder, paste0(id, ".err"))
  file.create(unlist(files))
  the$streams[[id]] <- list(files = files, job = FALSE)
  drop_old_streams()
  list(id = id, files = files)
}

fresh_output_id <- function() {
  repeat {
    the$stream_count <- (the$stream_count %||% 0L) + 1L
    id <- sprintf("o%04x%04x", Sys.getpid() %% 65536L, the$stream_count %% 65536L)
    if (is.null(the$streams[[id]])) return(id)
  }
}

drop_old_streams <- function() {
  free <- names(Filter(function(entry) !entry$job, the$streams))
  old <- utils::head(free, -max(1L, getOption("gptr.out_keep", 20L)))
  for (id in old) unlink(unlist(the$streams[[id]]$files))
  the$streams[old] <- NULL
}

# The lines of a kept stream: all, or those of these numbers. NULL for an unknown id.
stream_lines <- function(id, stream, lines = NULL) {
  entry <- the$streams[[id]]
  if (is.null(entry)) return(NULL)
  file <- entry$files[[stream]]
  if (is.null(file) || !file.exists(file)) return(character())
  if (is_binary_file(file)) return(binary_note(file.size(file)))
  con <- file(file, "rb")
  on.exit(close(con))
  if (is.null(lines)) return(clean_bytes(readBin(con, "raw", file.size(file)), lines = TRUE))
  pick_lines(con, lines)
}

# Reads piece by piece, up to the last line that is wanted.
pick_lines <- function(con, lines) {
  found <- stats::setNames(rep(NA_character_, length(lines)), lines)
  at <- 0L
  while (at < max(lines, 0L) && length(piece <- readLines(con, 10000L, warn = FALSE, skipNul = TRUE))) {
    here <- lines > at & lines <= at + length(piece)
    found[here] <- piece[lines[here] - at]
    at <- at + length(piece)
  }
  found <- unname(found[!is.na(found)])
  vapply(found, function(line) clean_bytes(charToRaw(line)), "", USE.NAMES = FALSE)
}

# What a value holds of a stream: all, or head and tail.
stream_text <- function(file, call) {
  size <- file.size(file)
  if (is.na(size) || size == 0) return("")
  if (is_binary_file(file)) return(binary_note(size))
  con <- file(file, "rb")
  on.exit(close(con))
  if (size <= output_bytes) return(sub("\n$", "", clean_bytes(readBin(con, "raw", size))))
  head <- whole_characters(readBin(con, "raw", floor(0.4 * output_bytes)))
  rest <- floor(0.6 * output_bytes)
  seek(con, size - rest)
  tail <- readBin(con, "raw", rest)
  left_out <- size - length(head) - length(tail)
  note <- sprintf("\n[... %.0f bytes not shown; %s has all]\n", left_out, call)
  structure(paste0(clean_bytes(head), note, sub("\n$", "", clean_bytes(tail))), bytes = size)
}

# As for files that are read: NUL in the first 8000 bytes.
is_binary_file <- function(file) {
  con <- file(file, "rb")
  on.exit(close(con))
  any(readBin(con, "raw", 8000L) == as.raw(0L))
}

binary_note <- function(size) {
  sprintf("[binary output, %.0f bytes, not shown: let the command write it into a file]", size)
}

# Text of bytes: U+FFFD for what is not UTF-8, no NUL, line ends of Windows as others.
clean_bytes <- function(bytes, lines = FALSE) {
  text <- engine(.Call(wrap__text_of_bytes, bytes))
  if (lines) strsplit(text, "\n", fixed = TRUE)[[1L]] else text
}

# Bytes up to the last character of UTF-8 that is complete.
whole_characters <- function(bytes) {
  n <- length(bytes)
  for (back in seq_len(min(3L, n))) {
    byte <- as.integer(bytes[[n - back + 1L]])
    if (byte < 0x80L) break
    if (byte >= 0xc0L) {
      needed <- if (byte >= 0xf0L) 4L else if (byte >= 0xe0L) 3L else 2L
      return(if (needed > back) bytes[seq_len(n - back)] else bytes)
    }
  }
  bytes
}
