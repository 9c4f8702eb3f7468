# The analysis of code, as handlers get it.

# A list of class `gptr_risk` from what the engine found.
as_risk <- function(x) {
  flagged <- rows_frame(x$flagged, list(call = "", fn = "", level = 0L, category = "", path = ""))
  names <- c("categories", "paths", "assigned", "secrets")
  x[names] <- lapply(x[names], function(part) as.character(unlist(part)))
  x$flagged <- flagged
  x$level <- as.integer(x$level)
  structure(x, class = "gptr_risk")
}

#' @export
format.gptr_risk <- function(x, ...) {
  flagged <- x$flagged
  c(
    paste0("<gptr_risk> level ", x$level, " (", x$label, ")"),
    if (nrow(flagged)) paste0("  ", printable_each(flagged$call), "  [", flagged$level, " ", flagged$category, "]"),
    if (length(x$secrets)) paste0("  secrets: ", paste(x$secrets, collapse = ", "))
  )
}

printable_each <- function(lines) vapply(lines, printable, "", USE.NAMES = FALSE)

#' @export
print.gptr_risk <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}
