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
  kept <- c("kind", "name", "source", "rank", "state", "file", "line", "loaded")
  rows <- columns_frame(columns[kept], c("gptr_why", "gptr_listing"))
  attr(rows, "reason") <- columns$reason
  rows
}
