# Where a registration was written: file and line, for gptr_why().

# list(file, line) of the innermost call in a file that leads here; `line` is NA where sources are not kept. NULL at the
# console.
call_place <- function() {
  calls <- sys.calls()
  for (i in rev(seq_along(calls))) {
    # Most frames have neither, and this runs at each registration.
    sources <- is.symbol(head <- calls[[i]][[1L]]) && (head == "source" || head == "sys.source")
    ref <- attr(calls[[i]], "srcref")
    if (!sources && is.null(ref)) next
    # What runs in a file that is sourced is within it, the call of source() in another.
    place <- if (sources) sourced_place(head, i)
    if (is.null(place)) place <- srcref_place(ref, i)
    if (!is.null(place)) return(place)
  }
  NULL
}

srcref_place <- function(ref, i) {
  if (is.null(ref)) return(NULL)
  file <- srcref_file(attr(ref, "srcfile"))
  if (is.null(file) || called_by_gptr(i)) return(NULL)
  list(file = file, line = as.integer(ref[[1L]]))
}

# What is typed at a console or parsed from a text has no file: its name is empty, or like "<text>".
srcref_file <- function(srcfile) {
  file <- if (is.environment(srcfile)) get0("filename", envir = srcfile, inherits = FALSE)
  if (!is.character(file) || length(file) != 1L || !nzchar(file) || startsWith(file, "<")) return(NULL)
  folder <- get0("wd", envir = srcfile, inherits = FALSE)
  absolute_file(file, folder)
}

absolute_file <- function(file, folder = getwd()) {
  is_absolute <- grepl("^([/\\\\~]|[A-Za-z]:)", file)
  enc2utf8(if (is_absolute || is.null(folder)) path.expand(file) else file.path(folder, file))
}

called_by_gptr <- function(i) {
  caller <- sys.parents()[[i]]
  caller > 0L && identical(topenv(environment(sys.function(caller)) %||% baseenv()), topenv())
}

# source() and sys.source() know their file also without srcrefs.
sourced_place <- function(head, i) {
  file <- get0(if (head == "source") "ofile" else "file", envir = sys.frame(i), inherits = FALSE)
  if (!is.character(file) || length(file) != 1L || !file.exists(file)) return(NULL)
  list(file = absolute_file(file), line = NA_integer_)
}
