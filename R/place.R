# Where a registration was written: file and line, for gptr_why().

# What the frames that lead here say: `place`, list(file, line) of the innermost call in a file (`line` is NA where
# sources are not kept, `place` NULL at the console), and `package`, the package whose namespace is being loaded.
# One walk, since it happens at each registration.
call_context <- function() {
  calls <- sys.calls()
  place <- package <- NULL
  for (i in engine(.Call(wrap__calls_of_note, calls))) {
    call <- calls[[i]]
    head <- call[[1L]]
    ref <- attr(call, "srcref")
    if (is.symbol(head)) {
      name <- as.character(head)
      # What runs in a file that is sourced is within it, the call of source() in another.
      switch(name,
        loadNamespace = package <- package %||% loaded_package(i),
        source = , sys.source = place <- place %||% sourced_place(name, i)
      )
    } else if (is_load(head)) {
      package <- package %||% loaded_package(i)
    }
    if (is.null(place) && !is.null(ref)) place <- srcref_place(ref, i)
  }
  list(place = place, package = package)
}

call_place <- function() call_context()$place

is_load <- function(head) identical(head, loadNamespace) || identical(head, quote(base::loadNamespace))

# The package that frame `i`, a call of loadNamespace(), loads; NULL when the loader itself is at work there.
loaded_package <- function(i) {
  package <- get0("package", envir = sys.frame(i), inherits = FALSE)
  if (!is.character(package) || identical(package[[1L]], "gptr")) return(NULL)
  above <- seq_len(sys.nframe())
  own <- vapply(above[above > i], function(j) environmentName(topenv(environment(sys.function(j)) %||% baseenv())), "")
  if (package[[1L]] %in% own) package[[1L]]
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
sourced_place <- function(name, i) {
  file <- get0(if (name == "source") "ofile" else "file", envir = sys.frame(i), inherits = FALSE)
  if (!is.character(file) || length(file) != 1L || !file.exists(file)) return(NULL)
  list(file = absolute_file(file), line = NA_integer_)
}
