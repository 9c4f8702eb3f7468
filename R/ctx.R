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
    input = frame$input,
    eval_state = if (is.null(session)) NULL else session_data(session)$eval,
    output_room = function() {
      engine(.Call(wrap__session_output_room, session_data(ctx_session(session, "output_room"))$ptr))
    },
    mode = function() frame$probe$mode %||% ctx_session(session, "mode")$mode,
    model = function() frame$probe$model %||% ctx_session(session, "model")$model,
    has_ui = function() person_present(),
    ui = function() ctx_ui(),
    risk = function(code, kind = "r") ctx_risk(code, kind, session),
    redact = function(x, profile = "persist") engine(.Call(wrap__redact_text, enc2utf8(as.character(x)))),
    execute_tool = function(name, input = list()) ctx_execute_tool(name, input, session, frame),
    send = function(text, as = c("steer", "follow_up")) ctx_send(text, as, session, frame),
    set_model = function(ref, thinking = NULL, reason = "plugin") ctx_set_model(ref, thinking, reason, session),
    add_tools = function(specs) ctx_add_tools(specs, session, frame),
    tokens = function(x, class = "prose") engine(.Call(wrap__estimate_tokens, enc2utf8(as.character(x)), class)),
    eval = function(code, envir = NULL) ctx_eval(code, envir, session),
    describe = function(x, budget = 150L) gptr_describe(x, budget),
    append_entry = function(type, data = NULL) ctx_append_entry(type, data, session, frame),
    abort = function(reason = "handler") {
      check_string(reason, "reason")
      invisible(engine(.Call(wrap__session_abort, session_data(ctx_session(session, "abort"))$ptr, reason)))
    },
    aborted = function() {
      if (is.null(session)) FALSE else engine(.Call(wrap__session_aborted, session_data(session)$ptr))
    },
    update = function(text) ctx_update(text, session, frame),
    usage = function() ctx_session(session, "usage")$usage,
    state = function() ctx_state(session, frame),
    emit = function(event, data = NULL) ctx_emit(event, data, session),
    get = function(kind, name) ctx_get(kind, name, frame$session),
    ctx_absent(x, name)
  )
}

# What a member works on; without a session there is nothing.
ctx_session <- function(session, member) {
  if (is.null(session)) {
    gptr_abort("invalid_argument", paste0("ctx$", member, "() needs a session, and this ctx has none."), arg = "ctx",
      expected = "the ctx of a session")
  }
  session
}

ctx_ptr <- function(session, member) session_data(ctx_session(session, member))$ptr

# Whose handler it is that runs, as the person knows it.
ctx_owner <- function(frame) frame$owner %||% "session"

# A call of a tool through the whole pipeline, nested in the one that runs.
ctx_execute_tool <- function(name, input, session, frame) {
  check_string(name, "name")
  check_named_list(input, "input", unique = TRUE)
  call_in_run(ctx_session(session, "execute_tool"), frame, input, function(ptr, id) {
    .Call(wrap__task_tool, ptr, enc2utf8(name), for_engine(input), id, frame$call, isTRUE(frame$model_code))
  })
}

ctx_send <- function(text, as, session, frame) {
  check_string(text, "text")
  as <- check_choice(as, c("steer", "follow_up"), "as")
  ptr <- ctx_ptr(session, "send")
  invisible(engine(.Call(wrap__session_send, ptr, enc2utf8(text), as, ctx_owner(frame))))
}

ctx_set_model <- function(ref, thinking, reason, session) {
  check_string(ref, "ref")
  check_string(thinking, "thinking", null = TRUE)
  check_string(reason, "reason")
  invisible(engine(.Call(wrap__session_set_model, ctx_ptr(session, "set_model"), ref, thinking, reason)))
}

# Tools for the rest of the session. The declarations of one that has begun are frozen, so the model is told of them.
ctx_add_tools <- function(specs, session, frame) {
  ctx_session(session, "add_tools")
  control_guard("ctx$add_tools")
  specs <- check_tools(as_list_of(specs), "specs")
  removers <- lapply(specs, function(spec) {
    id <- add_session_record(session, spec, extension = ctx_owner(frame))
    function() remove_record(id)
  })
  engine(.Call(wrap__session_announce_tools, session_data(session)$ptr, vapply(specs, tool_line, "")))
  invisible(function() invisible(any(vapply(removers, function(remove) remove(), NA))))
}

# How a tool is introduced to the model.
tool_line <- function(spec) {
  key <- paste(c(spec$namespace, spec$name), collapse = "$")
  callable <- !identical(spec$exposure, "direct") || !is.null(spec$namespace)
  paste0("- ", if (callable) "peter$", key, ": ", spec$description)
}

# Code of the extension's own: it is not analysed and nobody is asked.
ctx_eval <- function(code, envir, session) {
  if (!is.null(envir)) check_environment(envir)
  if (is.character(code)) check_string(code, "code")
  home <- envir %||% session_data(ctx_session(session, "eval"))$home
  eval(if (is.character(code)) parse(text = code, keep.source = FALSE) else code, home)
}

ctx_risk <- function(code, kind, session) {
  check_string(code, "code", empty = TRUE)
  check_choice(kind, "r", "kind")
  home <- if (is.null(session)) globalenv() else session_data(session)$home
  facts <- for_engine(code_risk_facts(code, home))
  as_risk(engine(.Call(wrap__code_risk, facts, if (is.null(session)) NULL else session_data(session)$id)))
}

ctx_append_entry <- function(type, data, session, frame) {
  check_string(type, "type")
  ptr <- ctx_ptr(session, "append_entry")
  invisible(engine(.Call(wrap__session_append_entry, ptr, ctx_owner(frame), type, for_engine(data))))
}

# A line for the person, and an event for listeners, while the body of a tool runs.
ctx_update <- function(text, session, frame) {
  check_string(text, "text", empty = TRUE)
  text <- enc2utf8(text)
  ui_show(list(type = "tool_update", text = text))
  if (!is.null(session) && !is.null(frame$call)) {
    told <- drive(engine(.Call(wrap__task_update, session_data(session)$ptr, frame$call, frame$tool %||% "", text)))
    if (told$interrupted) resignal_interrupt()
  }
  invisible(NULL)
}

# An environment of each extension in each session.
ctx_state <- function(session, frame) {
  data <- session_data(ctx_session(session, "state"))
  owner <- ctx_owner(frame)
  if (is.null(data$ext[[owner]])) data$ext[[owner]] <- new.env(parent = emptyenv())
  data$ext[[owner]]
}

ctx_emit <- function(event, data, session) {
  check_string(event, "event")
  told <- drive(engine(.Call(wrap__task_emit, ctx_ptr(session, "emit"), event, for_engine(data))))
  if (told$interrupted) resignal_interrupt()
  invisible(NULL)
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
