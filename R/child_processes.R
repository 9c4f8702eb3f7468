# The processes that this R process started, as far as the system lets it see them.

# Waits `pause` seconds, then lists the descendants of this process and, where /proc tells the environment of others,
# those that were started since `mark_children()`: `system(wait = FALSE)` leaves a process that hangs below process 1.
# Those of `also` that live on are listed too. Each is "pid:started", since a pid may be used again. NULL: processes
# can't be observed here.
child_processes <- function(pause = 0, also = character()) {
  if (pause > 0) Sys.sleep(pause)
  table <- tryCatch(process_table(), error = function(e) NULL)
  if (is.null(table)) return(NULL)
  table <- table[!table$dead, ]
  ids <- paste0(table$pid, ":", table$started)
  own <- table$pid %in% descendants(table, Sys.getpid()) | ids %in% unlist(also)
  own[!own] <- vapply(table$pid[!own], is_marked, NA)
  sort(ids[own], method = "radix")
}

# What is started while `expr` is evaluated has a variable in its environment that tells it apart.
mark_children <- function(expr) {
  if (!is.null(the$mark)) return(expr)
  now <- format(as.numeric(Sys.time()) * 1e6, scientific = FALSE, digits = 16L)
  the$mark <- paste0("GPTR_CHECK=", Sys.getpid(), "-", now)
  on.exit({
    the$mark <- NULL
    Sys.unsetenv("GPTR_CHECK")
  })
  Sys.setenv(GPTR_CHECK = sub("^GPTR_CHECK=", "", the$mark))
  expr
}

is_marked <- function(pid) {
  if (is.null(the$mark) || pid == Sys.getpid()) return(FALSE)
  file <- file.path("/proc", pid, "environ")
  bytes <- tryCatch(suppressWarnings(readBin(file, "raw", 2e5L)), error = function(e) raw())
  length(grepRaw(the$mark, bytes, fixed = TRUE)) > 0L
}

descendants <- function(table, pid) {
  found <- integer()
  level <- pid
  while (length(level <- setdiff(table$pid[table$parent %in% level], found))) found <- c(found, level)
  found
}

# All processes: pid, parent, started (text), dead (ended, but its parent has not asked yet). NULL when unknown.
process_table <- function() {
  if (file.exists("/proc/self/stat")) return(proc_table())
  if (.Platform$OS.type == "unix" && nzchar(Sys.which("ps"))) return(ps_table())
  NULL
}

# /proc/<pid>/stat: "12 (a name) S 1 ...", where the name may have spaces and parentheses.
proc_table <- function() {
  pids <- list.files("/proc", pattern = "^[0-9]+$")
  lines <- lapply(file.path("/proc", pids, "stat"), function(file) {
    tryCatch(suppressWarnings(readLines(file, n = 1L, warn = FALSE)), error = function(e) character())
  })
  there <- lengths(lines) == 1L
  fields <- strsplit(sub("^.*[)] ", "", unlist(lines[there])), " ", fixed = TRUE)
  at <- function(i) vapply(fields, function(words) words[[i]], "")
  process_rows(pids[there], at(2L), at(20L), at(1L))
}

ps_table <- function() {
  lines <- system2("ps", c("-A", "-o", "pid=,ppid=,stat=,lstart=,comm="), stdout = TRUE, stderr = FALSE)
  words <- strsplit(trimws(lines), "[[:space:]]+")
  words <- words[lengths(words) >= 9L]
  at <- function(i) vapply(words, function(w) w[[i]], "")
  started <- vapply(words, function(w) paste(w[4:8], collapse = "-"), "")
  rows <- process_rows(at(1L), at(2L), started, at(3L))
  # `ps` itself, and the shell that it runs in.
  own <- rows$pid[basename(at(9L)) == "ps" & rows$pid %in% descendants(rows, Sys.getpid())]
  rows[!rows$pid %in% c(own, setdiff(rows$parent[rows$pid %in% own], Sys.getpid())), ]
}

process_rows <- function(pid, parent, started, state) {
  data.frame(pid = as.integer(pid), parent = as.integer(parent), started = started,
    dead = startsWith(state, "Z") | startsWith(state, "X"))
}
