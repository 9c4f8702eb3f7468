# `ctx`, the last argument of handlers: what they may ask of the session that runs them.

new_ctx <- function(frame = current_frame()) structure(list(frame = frame), class = "gptr_ctx")

ctx_members <- c(
  "session", "envir", "run", "input", "mode", "model", "has_ui", "ui", "risk", "redact", "secret", "execute_tool",
  "send", "set_model", "add_tools", "tokens", "eval", "describe", "append_entry", "abort", "aborted", "update",
  "decide", "usage", "state", "emit", "get"
)

#' @export
`$.gptr_ctx` <- function(x, name) {
  frame <- unclass(x)$frame
  session <- live_session(frame$session)
  switch(name,
    session = session,
    envir = if (is.null(session)) NULL else session_data(session)$home,
    run = frame$run,
    eval_state = if (is.null(session)) NULL else session_data(session)$eval,
    mode = function() frame$probe$mode %||% ctx_session(session, "mode")$mode,
    model = function() frame$probe$model %||% ctx_session(session, "model")$model,
    has_ui = function() person_present(),
    tokens = function(x, class = "prose") engine(.Call(wrap__estimate_tokens, enc2utf8(as.character(x)), class)),
    redact = function(x, profile = "persist") engine(.Call(wrap__redact_text, enc2utf8(as.character(x)))),
    describe = function(x, budget = 150L) gptr_describe(x, budget),
    abort = function(reason = "handler") {
      invisible(engine(.Call(wrap__session_abort, session_data(ctx_session(session, "abort"))$ptr, reason)))
    },
    aborted = function() {
      if (is.null(session)) FALSE else engine(.Call(wrap__session_aborted, session_data(session)$ptr))
    },
    update = function(text) {
      check_string(text, "text", empty = TRUE)
      ui_show(list(type = "tool_update", text = text))
      invisible(NULL)
    },
    usage = function() ctx_session(session, "usage")$usage,
    get = function(kind, name) ctx_get(kind, name, frame$session),
    ctx_absent(x, name)
  )
}

ctx_session <- function(session, member) {
  if (is.null(session)) {
    gptr_abort("not_available", paste0("ctx$", member, "() needs a session."), member = paste0("ctx$", member, "()"),
      provided_by = NULL)
  }
  session
}

ctx_get <- function(kind, name, session) {
  check_string(kind, "kind")
  check_string(name, "name")
  found <- find_record(enc2utf8(kind), enc2utf8(name), session)
  if (is.null(found)) NULL else spec_home(found$home)[[found$id]]
}

# A member that the session does not have itself may come from the service `ctx.<member>`, a function of (ctx, ...).
ctx_absent <- function(ctx, name) {
  service <- if (name %in% ctx_members) optional_service(paste0("ctx.", name), unclass(ctx)$frame$session)
  if (!is.null(service)) return(function(...) service(ctx, ...))
  if (name %in% ctx_members) {
    gptr_abort("not_available", paste0("ctx$", name, " is not available in this version."),
      member = paste0("ctx$", name, "()"), provided_by = NULL)
  }
  gptr_abort("unknown_member",
    paste0("ctx has no member `", name, "`. It has: ", paste(ctx_members, collapse = ", "), "."),
    name = name, available = ctx_members)
}

#' @export
`[[.gptr_ctx` <- function(x, i, ...) do.call(`$.gptr_ctx`, list(x, i))

#' @export
`$<-.gptr_ctx` <- function(x, name, value) readonly("gptr_ctx", name)

#' @export
`[[<-.gptr_ctx` <- function(x, i, value) readonly("gptr_ctx", as.character(i))

#' @export
names.gptr_ctx <- function(x) ctx_members

#' @export
print.gptr_ctx <- function(x, ...) {
  cat("<gptr_ctx> session ", unclass(x)$frame$session %||% "none", "\n", sep = "")
  cat("members: ", paste(ctx_members, collapse = ", "), "\n", sep = "")
  invisible(x)
}

# Functions generated for tools run outside of any session, too.
process_ctx <- function() new_ctx()
