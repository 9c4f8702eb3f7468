# lintr over the package, where lintr is installed; any finding is an error.
if (!requireNamespace("lintr", quietly = TRUE)) {
  message("lintr is not installed: R code was not linted")
  quit(status = 0L)
}
found <- lintr::lint_package(".")
print(found)
quit(status = as.integer(length(found) > 0L))
