# lintr over the package and its scripts, where lintr is installed; any finding is an error.
if (!requireNamespace("lintr", quietly = TRUE)) {
  message("lintr is not installed: R code was not linted")
  quit(status = 0L)
}
found <- c(lintr::lint_package("."), lintr::lint_dir("tools"), lintr::lint_dir("bench"))
for (lint in found) print(lint)
cat(length(found), "findings\n")
quit(status = as.integer(length(found) > 0L))
