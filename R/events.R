#' Events
#'
#' The catalogue of events for [gptr_hook()], [gptr_on()] and `$on()` of an extension: when they happen, what the
#' handler gets, what it may answer, and whether this version emits them.
#'
#' A handler is `function(event, ctx)`. `event` is a list with `type`, `session`, `run` (ids), `agent` (`"main"`),
#' `turn` (whole number), `ts` (seconds since 1970) and the fields below. `NULL` is always no opinion. Handlers of
#' one event run in the order of rank, then of registration; each sees the event as those before it changed it.
#'
#' How answers count:
#' * *notify*: answers are ignored.
#' * *collect*: answers are merged.
#' * *transform*: the text passes through all handlers.
#' * *decision*: the first handler that blocks ends the matter; a changed input goes to the next handler.
#' * *first decision*: the first usable answer wins.
#' * *patch*: fields of the event are replaced. The new `content` of a `tool_result` is a list of blocks such as
#'   `list(list(type = "text", text = "..."))`.
#' * *block or patch*: a handler may refuse, or replace the lines.
#'
#' A handler that fails is left out and reported in `gptr_registry(diagnostics = TRUE)`; where *a failure refuses*, what
#' was to happen is refused too. Ctrl-C in a handler ends the run.
#'
#' A field that this version does not fill is `NULL`.
#'
#' A name with one colon, such as `"lab:assay"`, is a channel of an extension. Hooks on channels can be registered;
#' nothing sends on them in this version.
#'
#' @section What `ctx` has:
#' * `$session`, `$envir`, `$run`: the session, its environment, the id of the run; `NULL` outside of one.
#' * `$mode()`, `$model()`, `$usage()`: as the session's.
#' * `$has_ui()`: whether a person is there to be asked.
#' * `$abort(reason)`, `$aborted()`: end the run; whether it was ended.
#' * `$get(kind, name)`: the spec that wins, or `NULL`.
#' * `$describe(x, budget)`, `$tokens(text, class)`, `$redact(text)`: see [gptr_describe()]; an estimate of tokens; the
#'   text without known secrets.
#' * `$update(text)`: shows a line while a tool runs.
#'
#' Other members of `names(ctx)` raise `gptr_error_not_available` in this version.
#'
#' @eval local(source("tools/reference_tables.R", local = TRUE)$value("events"))
#'
#' @seealso [gptr_hook()], [gptr_on()], [gptr_kinds].
#' @name gptr_events
#' @examples
#' session <- peter("Say hello.", model = gptr_fake_provider("hello"), .run = FALSE)
#' types <- character()
#' for (event in c("turn_start", "message_end", "usage", "turn_end")) {
#'   gptr_on(session, event, function(event, ctx) types <<- c(types, event$type))
#' }
#' gptr_step(session)
#' types
NULL

# The engine's catalogue, a row an event: list(name, semantics, fail_closed, payload, returns, emitted).
event_rows <- function() engine(.Call(wrap__event_catalogue))
