# Prints the library that an install goes to: R's first one when it can be written, else the user's own, which is made.
lib <- .libPaths()[[1L]]
if (file.access(lib, 2L) != 0L) {
  lib <- path.expand(strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep, fixed = TRUE)[[1L]][[1L]])
  dir.create(lib, recursive = TRUE, showWarnings = FALSE)
}
cat(lib)
