#' Where does this come from?
#'
#' Every record of a name, of any kind: which one wins, what it shadows and why, who registered it, in which file and
#' line, and when.
#'
#' @param name String, not empty. The key of a record, such as `"add"` or `"demo/add"`, or the last part of one: `"add"`
#'   finds `demo/add`, too.
#' @return A data frame of class `c("gptr_why", "gptr_listing", "data.frame")`, a row a record, the winner first within
#'   its kind: `kind`, `name` (the key), `source` (character), `rank` (integer; the lowest wins), `state` (`"active"`,
#'   `"overridden"`, `"disabled"` by a filter, `"lazy"`: not loaded yet), `file` (character) and `line` (integer), `NA`
#'   at the console, `loaded` (POSIXct, when it was registered). No rows when nothing has the name. It prints as a tree.
#' @section Conditions: `gptr_error_invalid_argument` (field `arg` is `name`).
#' @examples
#' gptr_why("r")
#' @export
gptr_why <- function(name) {
  check_string(name, "name")
  ready()
  columns <- engine(.Call(wrap__registry_why, enc2utf8(name), frame_session_id()))
  columns$loaded <- as.POSIXct(columns$loaded, origin = "1970-01-01")

  rows <- columns_frame(columns[why_columns], c("gptr_why", "gptr_listing"))
  attr(rows, "reason") <- columns$reason
  rows
}

#' @export
`[.gptr_why` <- function(x, ...) {
  x <- NextMethod()
  attr(x, "reason") <- NULL
  x
}

why_columns <- c("kind", "name", "source", "rank", "state", "file", "line", "loaded")

#' @export
print.gptr_why <- function(x, ...) {
  if (!all(why_columns %in% names(x))) return(NextMethod())
  cat("<gptr_why> ", nrow(x), " record(s)\n", sep = "")
  bearer <- paste(x$kind, x$name)
  for (one in unique(bearer)) cat(one, why_tree(x, which(bearer == one)), sep = "\n")
  invisible(x)
}

# The records of one kind and name as a tree: what a winner shadows hangs below it.
why_tree <- function(x, at) {
  shadowed <- x$state[at] == "overridden"
  reason <- attr(x, "reason")
  lines <- lapply(seq_along(at), function(i) {
    later <- shadowed[-seq_len(i)]
    is_last <- if (shadowed[[i]]) !any(later) else all(later)
    indent <- if (shadowed[[i]]) "   " else ""
    c(
      paste0(indent, if (is_last) "`- " else "|- ", why_line(x, at[[i]])),
      if (!is.null(reason)) paste0(indent, if (is_last) "   " else "|  ", "(", reason[[at[[i]]]], ")")
    )
  })
  unlist(lines)
}

# user, rank 3, active, ~/x/origin.R:2, loaded 2026-01-31 10:00:00
why_line <- function(x, i) {
  where <- if (!is.na(x$file[[i]])) paste0(x$file[[i]], if (!is.na(x$line[[i]])) paste0(":", x$line[[i]]))
  loaded <- if (!is.na(x$loaded[i])) paste("loaded", format(x$loaded[i]))
  paste(c(x$source[[i]], paste("rank", x$rank[[i]]), x$state[[i]], where, loaded), collapse = ", ")
}
