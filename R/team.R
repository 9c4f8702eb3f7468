# Teams: several sessions seen as one. A team has no conversation of its own; its children have.

# `kind` is "team" or "fanout".
new_team <- function(children, kind) {
  data <- new.env(parent = emptyenv())
  data$id <- engine(.Call(wrap__fresh_id, "s", 10L))
  data$kind <- kind
  data$sessions <- children
  team <- new.env(parent = emptyenv())
  assign(".data", data, envir = team)
  class(team) <- c("gptr_team", "gptr_session")
  team
}

refuse_team <- function(s, arg) {
  if (!inherits(s, "gptr_team")) return(invisible(s))
  gptr_abort("invalid_argument", paste0("`", arg, "` is a team: it has no conversation of its own, its $children have."),
    arg = arg, expected = "a session that is no team")
}

#' @export
`$.gptr_team` <- function(x, name) {
  data <- session_data(x)
  children <- data$sessions
  each <- function(field, type) vapply(children, function(s) s[[field]], type)
  switch(name,
    text = team_text(children, data$kind),
    value = lapply(children, function(s) s$value),
    status = team_status(each("status", "")),
    reason = team_reason(children),
    usage = do.call(rbind, unname(lapply(children, function(s) s$usage))),
    cost = if (length(children)) sum(each("cost", 0)) else 0,
    history = team_history(children),
    messages = list(),
    model = , mode = team_common(each(name, "")),
    turns = if (length(children)) max(each("turns", 0L)) else 0L,
    id = data$id,
    kind = data$kind,
    file = NA_character_,
    envir = if (length(children)) children[[1L]]$envir,
    children = children,
    {
      child <- if (is.character(name)) children[[name, exact = TRUE]]
      if (is.null(child)) unknown_accessor(x, name)
      child
    }
  )
}

#' @export
`[[.gptr_team` <- function(x, i, ...) {
  if (is.character(i)) return(do.call(`$.gptr_team`, list(x, i)))
  nth_child(x$children, i)
}

#' @export
names.gptr_team <- function(x) c(session_accessors, names(session_data(x)$sessions))

# A heading for each child of a team; of a fan-out the answers alone.
team_text <- function(children, kind) {
  texts <- vapply(children, function(s) s$text, "")
  if (kind == "fanout") return(texts)
  models <- vapply(children, function(s) s$model, "")
  paste0("### ", names(children), " (", models, ")\n", ifelse(is.na(texts), "", texts), collapse = "\n\n")
}

team_status <- function(status) {
  other <- status[status != "idle"]
  if (length(other)) other[[1L]] else "idle"
}

team_reason <- function(children) {
  reasons <- vapply(children, function(s) s$reason, "")
  reasons <- reasons[!is.na(reasons)]
  if (length(reasons)) reasons[[1L]] else NA_character_
}

# What all have in common, else NA.
team_common <- function(values) {
  values <- unique(values)
  if (length(values) == 1L) values[[1L]] else NA_character_
}

team_history <- function(children) {
  rows <- lapply(names(children), function(name) {
    history <- children[[name]]$history
    cbind(child = rep(name, nrow(history)), history, stringsAsFactors = FALSE)
  })
  do.call(rbind, rows)
}

# ---- fan-out --------------------------------------------------------------------------------------------------------

# One child for each element of the one list in the context, `n` requests at a time.
fan_out <- function(call, n, run) {
  lists <- which(vapply(call$context, function(item) is.list(item$value), NA))
  if (length(lists) != 1L || !is.null(call$session)) {
    gptr_abort("invalid_argument", paste0("`parallel` needs a new session and exactly one list or data frame in the ",
      "context, not ", length(lists), "."), arg = "parallel", expected = "one list to fan out")
  }
  split <- call$context[[lists]]
  elements <- as.list(split$value)
  children <- lapply(seq_along(elements), function(i) {
    item <- list(name = element_label(split$name, names(elements), i), value = elements[[i]])
    child <- call
    child$context <- append(call$context[-lists], list(item), lists - 1L)
    begin(child, run = FALSE)
  })
  names(children) <- child_names(names(elements) %||% rep("", length(elements)))
  team <- new_team(children, "fanout")
  share_lane(children, n)
  if (is.null(current_frame())) the$last <- team
  if (run) drive_sessions(children)
  if (run) team else invisible(team)
}

element_label <- function(name, names, i) {
  if (!is.null(names) && nzchar(names[[i]])) paste0(name, "$", names[[i]]) else paste0(name, "[[", i, "]]")
}
