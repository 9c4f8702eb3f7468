# Lints the R code: a name that two files of R/ define (the later one wins, silently), functions that are called but
# defined nowhere, folders that would not get into the package, and lintr over the package and its scripts where lintr is
# installed. Any finding is an error.

# The names that a file defines at its top level.
defined_in <- function(file) {
  is_assignment <- function(e) is.call(e) && identical(e[[1L]], as.name("<-"))
  targets <- lapply(Filter(is_assignment, as.list(parse(file, keep.source = FALSE))), function(e) e[[2L]])
  vapply(Filter(function(t) is.name(t) || is.character(t), targets), as.character, "")
}

defined_twice <- function(folder) {
  files <- list.files(folder, "[.]R$", full.names = TRUE)
  names <- lapply(files, defined_in)
  table <- data.frame(name = unlist(names), file = rep(files, lengths(names)))
  twice <- unique(table$name[duplicated(table$name)])
  vapply(twice, function(n) paste0(n, " is defined in: ", paste(table$file[table$name == n], collapse = ", ")), "")
}

# Calls of functions that are neither defined in `folder` nor visible from it.
not_defined <- function(folder) {
  space <- new.env(parent = globalenv())
  for (file in list.files(folder, "[.]R$", full.names = TRUE)) {
    for (e in as.list(parse(file, keep.source = TRUE))) try(eval(e, space), silent = TRUE)
  }
  notes <- character()
  codetools::checkUsageEnv(space, report = function(note) notes <<- c(notes, note))
  grep("no visible global function", notes, value = TRUE)
}

# Folders that R CMD build leaves out of the package without a word.
not_packaged <- function(folder) {
  dirs <- list.dirs(folder)
  left_out <- dirs[grepl("^(check|chm|.*[Oo]ld|.*[.]Rcheck)$", basename(dirs))]
  if (length(left_out)) paste0(left_out, ": R CMD build leaves out folders of this name")
}

found <- c(defined_twice("R"), not_defined("R"), not_packaged("src"))
if (length(found)) writeLines(found)
count <- length(found)
if (requireNamespace("lintr", quietly = TRUE)) {
  rules <- function(...) {
    lintr::linters_with_defaults(
      ..., object_usage_linter = NULL, object_name_linter = NULL, cyclocomp_linter = NULL,
      commented_code_linter = NULL, spaces_inside_linter = NULL
    )
  }
  code <- rules(line_length_linter = lintr::line_length_linter(122L))
  # Tests hold data, and closures as arguments.
  tests <- rules(line_length_linter = NULL, brace_linter = NULL)
  linters <- list(R = code, tools = code, bench = code, tests = tests)
  lints <- unlist(lapply(names(linters), function(d) lintr::lint_dir(d, linters = linters[[d]])), recursive = FALSE)
  for (lint in lints) print(lint)
  count <- count + length(lints)
} else {
  message("lintr is not installed: its part is left out")
}
cat(count, "findings\n")
quit(status = as.integer(count > 0L))
