# What model requests used.

#' What was used
#'
#' @param x `NULL`: all model requests of this R process, also of sessions that are gone; or a session, a team, or a
#'   list of them (a session counts its children).
#' @param by What a row stands for: `"session"`, `"agent"`, `"model"` (`"provider/id"`) or `"route"`.
#' @param detail `TRUE` gives a row a request, of class `gptr_ledger`, with the columns of `session$usage`.
#' @return A data frame of class `gptr_usage`: `group`, `requests` (integer), `input`, `output`, `cache_read`,
#'   `cache_write` (tokens), `cost` (USD). What a host did not report is `NA`, never 0; so is a sum with it. Its attribute
#'   `totals` is a list of the same columns over all rows, which the last printed line shows.
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `x`, `by` or `detail`).
#' @examples
#' session <- peter("Say hello.", model = gptr_fake_provider(list("hello")))
#' gptr_usage(session, by = "model")
#' @export
gptr_usage <- function(x = NULL, by = c("session", "agent", "model", "route"), detail = FALSE) {
  by <- check_choice(by, c("session", "agent", "model", "route"), "by")
  check_flag(detail, "detail")
  rows <- if (is.null(x)) usage_rows(engine(.Call(wrap__usage_ledger))) else usage_of(sessions_of(x))
  if (detail) return(structure(rows, class = c("gptr_ledger", "gptr_listing", "data.frame")))
  group <- if (by == "model") paste(rows$provider, rows$model, sep = "/") else rows[[by]]
  groups <- unique(group)
  parts <- lapply(groups, function(name) usage_sums(rows[group == name, , drop = FALSE]))
  totals <- usage_sums(rows)
  out <- data.frame(group = as.character(groups), do.call(rbind, c(list(usage_sums(rows[0L, ])[0L, ]), parts)),
    stringsAsFactors = FALSE)
  counted <- totals$input + totals$output + sum(totals$cache_read, totals$cache_write, na.rm = TRUE)
  structure(out, class = c("gptr_usage", "gptr_listing", "data.frame"), totals = as.list(totals),
    footer = paste0("total  ", totals$requests, if (totals$requests == 1L) " request  " else " requests  ",
      short_count(counted), " tokens  ", format_cost(totals$cost)))
}

# A request of a child is in its own rows and in its parent's.
usage_of <- function(sessions) {
  rows <- do.call(rbind, c(list(usage_rows(list())), lapply(sessions, function(s) s$usage)))
  rows[!duplicated(rows$request_id), , drop = FALSE]
}

usage_sums <- function(rows) {
  # A host without a cache reports none: only a request with no word of the cache at all is unknown.
  known <- function(x) if (length(x) && all(is.na(x))) NA_real_ else sum(x, na.rm = TRUE)
  written <- c(rows$cache_write_5m, rows$cache_write_1h)
  data.frame(requests = nrow(rows), input = sum(rows$input), output = sum(rows$output),
    cache_read = known(rows$cache_read), cache_write = known(written), cost = sum(rows$cost))
}
