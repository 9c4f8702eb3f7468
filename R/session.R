# The session object: a handle with reference semantics. Its state is the engine's; what stays in R (closures, values,
# the home environment) hangs on the handle and goes with it.

new_session <- function(home, args) {
  made <- engine(.Call(wrap__session_new, args))
  data <- new.env(parent = emptyenv())
  data$ptr <- made$ptr
  data$id <- made$id
  data$home <- home
  data$specs <- new.env(parent = emptyenv())
  data$eval <- new.env(parent = emptyenv())
  data$ext <- list()
  data$children <- list()
  data$task <- NULL
  session <- new.env(parent = emptyenv())
  assign(".data", data, envir = session)
  class(session) <- "gptr_session"
  remember_session(made$id, session)
  session
}

session_data <- function(s) get(".data", envir = s, inherits = FALSE)

# Sessions are known by weak references, so that a dropped one is collected. Names of collected ones are swept when
# their number has doubled since the last sweep.
remember_session <- function(id, session) {
  if (length(the$sessions) >= the$sweep_at) {
    gone <- Filter(function(old) is.null(live_session(old)), names(the$sessions))
    rm(list = gone, envir = the$sessions)
    the$sweep_at <- max(64L, 2L * length(the$sessions))
  }
  assign(id, engine(.Call(wrap__weakref_new, session)), envir = the$sessions)
}

live_session <- function(id) {
  ref <- if (!is.null(id)) the$sessions[[id]]
  if (is.null(ref)) NULL else .Call(wrap__weakref_get, ref)
}

session_get <- function(s, field) engine(.Call(wrap__session_get, session_data(s)$ptr, field))

session_accessors <- c(
  "text", "value", "usage", "cost", "history", "messages", "model", "mode", "status", "reason", "id", "kind", "file",
  "turns", "envir", "children", "ext"
)

#' @export
`$.gptr_session` <- function(x, name) {
  data <- session_data(x)
  switch(name,
    text = or_na(session_get(x, "text"), NA_character_),
    reason = or_na(session_get(x, "reason"), NA_character_),
    model = , mode = , status = , turns = , messages = , kind = session_get(x, name),
    usage = usage_rows(session_get(x, "usage")),
    cost = or_na(session_get(x, "cost"), NA_real_),
    history = history_rows(session_get(x, "history")),
    id = data$id,
    file = NA_character_,
    envir = data$home,
    value = data$eval$value$value,
    children = live_children(x),
    ext = data$ext,
    {
      child <- live_children(x)[[name, exact = TRUE]]
      if (is.null(child)) unknown_accessor(x, name)
      child
    }
  )
}

unknown_accessor <- function(x, name) {
  available <- names(x)
  gptr_abort("unknown_member",
    paste0("A gptr_session has no `", name, "`. It has: ", paste(available, collapse = ", "), "."),
    name = name, available = available
  )
}

#' @export
`[[.gptr_session` <- function(x, i, ...) {
  if (is.character(i)) return(do.call(`$.gptr_session`, list(x, i)))
  nth_child(live_children(x), i)
}

nth_child <- function(children, i) {
  if (!is.numeric(i) || length(i) != 1L || is.na(i) || i < 1 || i > length(children)) {
    gptr_abort("invalid_argument",
      paste0("`i` must be the number of a child session: there are ", length(children), "."), arg = "i"
    )
  }
  children[[i]]
}

readonly <- function(object, field) {
  gptr_abort("readonly", paste0("`", field, "` of a ", object, " can't be set."), object = object, field = field)
}

#' @export
`$<-.gptr_session` <- function(x, name, value) readonly("gptr_session", name)

#' @export
`[[<-.gptr_session` <- function(x, i, value) readonly("gptr_session", as.character(i))

#' @export
names.gptr_session <- function(x) c(session_accessors, names(live_children(x)))

#' @export
length.gptr_session <- function(x) 1L

#' @importFrom utils .DollarNames
#' @method .DollarNames gptr_session
#' @export
.DollarNames.gptr_session <- function(x, pattern = "") {
  found <- names(x)
  found[startsWith(found, sub("^\\^", "", pattern))]
}

live_children <- function(x) {
  children <- lapply(session_data(x)$children, live_session)
  children[!vapply(children, is.null, NA)]
}

or_na <- function(x, na) if (is.null(x)) na else x

#' @export
print.gptr_session <- function(x, ...) {
  if (!is.na(x$text)) cat(x$text, "\n", sep = "")
  cat(session_footer(x), "\n", sep = "")
  invisible(x)
}

session_footer <- function(x) {
  turns <- x$turns
  parts <- c(
    x$status, x$model, paste(turns, if (turns == 1L) "turn" else "turns"),
    paste(short_count(total_tokens(x$usage)), "tokens"), format_cost(x$cost), x$id
  )
  paste(parts, collapse = if (l10n_info()[["UTF-8"]]) " \u00b7 " else " . ")
}

# Input, output and what caches read and wrote; NA when a host did not report input or output. Hosts without a cache
# do not report one.
total_tokens <- function(usage) {
  cached <- unlist(usage[c("cache_read", "cache_write_5m", "cache_write_1h")])
  sum(usage$input, usage$output) + sum(cached, na.rm = TRUE)
}

#' @export
format.gptr_session <- function(x, ...) x$text

#' @export
as.character.gptr_session <- function(x, ...) x$text

#' @importFrom utils str
#' @export
str.gptr_session <- function(object, ...) {
  cat("<gptr_session ", object$id, " | ", object$kind, " | ", object$status, " | ", object$turns, " turns | ",
    object$model, ">\n", sep = "")
  invisible(NULL)
}

#' @export
summary.gptr_session <- function(object, ...) {
  structure(list(id = object$id, history = object$history), class = "gptr_session_summary")
}

#' @export
print.gptr_session_summary <- function(x, ...) {
  print(x$history, row.names = FALSE)
  invisible(x)
}

usage_rows <- function(rows) {
  columns <- list(
    request_id = "", session = "", agent = "", provider = "", model = "", route = "", input = 0, output = 0,
    cache_read = 0, cache_write_5m = 0, cache_write_1h = 0, reasoning = 0, cost = 0, stop_reason = "", started = 0,
    seconds = 0, estimated = TRUE
  )
  rows_frame(rows, columns)
}

history_rows <- function(rows) {
  rows_frame(rows, list(turn = 0L, role = "", preview = "", tools = "", tokens = 0))
}

# A data frame from a list of rows; `columns` gives names and types, an absent value is NA.
rows_frame <- function(rows, columns) {
  cells <- lapply(names(columns), function(name) {
    na <- columns[[name]][NA]
    values <- lapply(rows, function(row) or_na(row[[name]], na))
    as.vector(unlist(c(list(columns[[name]][0L]), values), use.names = FALSE), typeof(na))
  })
  names(cells) <- names(columns)
  as.data.frame(cells, stringsAsFactors = FALSE)
}
