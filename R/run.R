#' Drive a session step by step
#'
#' Starts the input that waits in a session, or goes on with a run that was left, until `turns` model turns ended or
#' the run settled. A model turn is one request and the tool calls of its reply.
#'
#' @param s A session, see [peter()].
#' @param turns Whole number of model turns, 1 or more, or `Inf`.
#' @return `s`, invisibly.
#' @section Conditions: those of a run, see [peter()]; `gptr_error_busy` (field `session`) inside a run of `s`;
#'   `gptr_error_invalid_argument`.
#' @examples
#' session <- peter("Say hello.", model = gptr_fake_provider(list("hello")), .run = FALSE)
#' gptr_step(session)
#' session$text
#' @export
gptr_step <- function(s, turns = 1L) {
  check_class(s, "gptr_session", "s")
  refuse_team(s, "s")
  if (!identical(turns, Inf)) check_count(turns, "turns", min = 1)
  if (is.null(left_task(s)) && !session_has_input(s)) return(invisible(s))
  run_session(s, turns)
}

session_has_input <- function(s) session_get(s, "queued") > 0

#' Listen to one session
#'
#' @param s A session, see [peter()].
#' @param event Name of an event, see [gptr_events], or of a channel `"<plugin>:<topic>"` (string).
#' @param handler `function(event, ctx)`. What it may return depends on the event; `NULL` is always no opinion.
#' @param matcher `NULL`, a pattern on the tool's name such as `"mcp__*"`, or a function of the event that returns
#'   `TRUE` for those to handle.
#' @return Invisibly a function without arguments that removes the listener: `TRUE` the first time, then `FALSE`.
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `s`, `event`, `handler` or `matcher`),
#'   `gptr_error_permission` in code that the model wrote.
#' @seealso [gptr_hook()] for all sessions, [gptr_events].
#' @examples
#' session <- peter("Say hello.", model = gptr_fake_provider(list("hello")), .run = FALSE)
#' off <- gptr_on(session, "message_end", function(event, ctx) message(event$message$role))
#' gptr_step(session)
#' off()
#' @export
gptr_on <- function(s, event, handler, matcher = NULL) {
  check_class(s, "gptr_session", "s")
  refuse_team(s, "s")
  check_string(event, "event")
  check_function(handler, "handler")
  control_guard("gptr_on")
  hook <- tryCatch(gptr_hook(event, handler, matcher), gptr_error_invalid_spec = function(e) {
    arg <- if (e$field %in% c("event", "handler", "matcher")) e$field else "handler"
    gptr_abort("invalid_argument", paste0("`", arg, "` ", e$problem, "."), arg = arg)
  })
  id <- add_session_record(s, hook, extension = "session")
  invisible(function() remove_record(id))
}

#' Models that are registered
#'
#' @param query `NULL`, or text that reference, name or alias must contain.
#' @param provider `NULL`, or the id of one provider.
#' @param refresh Not available yet; must be `FALSE`.
#' @return A data frame of class `gptr_models`, a row a model: `ref` (`"provider/id"`), `provider`, `name`, `context`
#'   and `max_output` (tokens), `input_price` and `output_price` (USD per million tokens), `reasoning`, `aliases`,
#'   `status`.
#'   What is unknown is `NA`.
#' @section Conditions: `gptr_error_invalid_argument`.
#' @examples
#' off <- gptr_register(gptr_provider("corp", api = "openai-completions",
#'   base_url = "https://llm.corp.example/v1", auth = "CORP_LLM_KEY", models = "corp-large"))
#' gptr_models(provider = "corp")
#' off()
#' @export
gptr_models <- function(query = NULL, provider = NULL, refresh = FALSE) {
  if (!is.null(query)) check_string(query, "query")
  if (!is.null(provider)) check_string(provider, "provider")
  check_flag(refresh, "refresh")
  if (refresh) refuse_later(list(refresh = TRUE))
  ready()
  rows <- rows_frame(engine(.Call(wrap__model_rows, query, provider)), list(
    ref = "", provider = "", name = "", context = 0, max_output = 0, input_price = 0, output_price = 0,
    reasoning = TRUE, aliases = "", status = ""
  ))
  class(rows) <- c("gptr_models", "gptr_listing", "data.frame")
  rows
}

#' The prompt that a new session would freeze
#'
#' Sends nothing and starts nothing.
#'
#' @param x `NULL`, or a session: what that one froze.
#' @param preset `NULL` for the default, or the name of a preset: `"minimal"`, `"standard"`, `"readonly"`, `"extended"`.
#' @param tokens `FALSE` leaves the estimates out (they are `NA` then).
#' @return A list of class `gptr_prompt_view`: `system` (list of strings `t0` and `t1`), `tools_json` (string),
#'   `first_message` (string), `sections` (data frame `name`, `tier`, `tokens`), `total_tokens`.
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `x`, `preset` or `tokens`).
#' @examples
#' gptr_prompt()$sections
#' @export
gptr_prompt <- function(x = NULL, preset = NULL, tokens = TRUE) {
  if (!is.null(x)) check_class(x, "gptr_session", "x")
  if (!is.null(preset)) check_string(preset, "preset")
  check_flag(tokens, "tokens")
  ready()
  args <- list(preset = preset, tokens = tokens, settings = collect_settings(), mode = getOption("gptr.mode"),
    facts = session_facts(parent.frame(), "summary"))
  ptr <- if (is.null(x)) NULL else session_data(x)$ptr
  view <- perform(engine(.Call(wrap__task_prompt, args, ptr)))
  structure(
    list(
      system = view$system, tools_json = view$tools_json, first_message = view$first_message,
      sections = section_rows(view$sections),
      total_tokens = or_na(view$total_tokens, NA_real_), lines = unlist(view$lines)
    ),
    class = "gptr_prompt_view", preset = view$preset, tool_names = as.character(unlist(view$tool_names))
  )
}

section_rows <- function(columns) {
  data.frame(
    name = as.character(unlist(columns$name)), tier = as.character(unlist(columns$tier)),
    tokens = vapply(columns$tokens, function(n) as.numeric(or_na(n, NA)), 0)
  )
}

# What the model is told of where it runs.
prompt_facts <- function(call, session) {
  session_facts(session_data(session)$home, call$opts$context %||% "summary")
}

session_facts <- function(envir, context) {
  list(
    date = format(Sys.Date()), directory = enc2utf8(getwd()), r_version = R.version.string,
    platform = R.version$platform, front_end = front_end(), context = context,
    env = if (identical(envir, globalenv())) "R_GlobalEnv" else "session",
    objects = if (identical(context, "none")) list() else clean_facts(object_facts(envir))
  )
}

front_end <- function() {
  if (isTRUE(getOption("knitr.in.progress"))) "knitr" else if (interactive()) "console" else "Rscript"
}

clean_facts <- function(objects) {
  lapply(objects, function(o) {
    o$bytes <- if (is.na(o$bytes)) NULL else as.numeric(o$bytes)
    o
  })
}
