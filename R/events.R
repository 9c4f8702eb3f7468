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
#' A name with one colon, such as `"lab:assay"`, is a channel of an extension: `ctx$emit()` sends on it, and the event's
#' field `data` has what was sent.
#'
#' @section What `ctx` has:
#' Policies, hooks, tool bodies and the other handlers get it as their last argument. What needs a session raises
#' `gptr_error_invalid_argument` (`arg` is `ctx`) where there is none. Wrong arguments do so with their own name.
#' * `$session`, `$envir`, `$run`: the session, its environment, the id of the run; `NULL` outside of one.
#' * `$input`: the input of the tool call that the handler belongs to (a named list), else `NULL`.
#' * `$mode()`, `$model()`, `$usage()`: as the session's.
#' * `$execute_tool(name, input)`: calls a tool by its name or key through hooks and policies, nested in the call that
#'   runs. Its value is the tool's value, else its text; a refusal or failure is `gptr_error_tool` (`tool`, `status`).
#' * `$update(text)`: tells how far a tool is: a line for the person, and the event `tool_execution_update`.
#' * `$send(text, as)`: a word to the model, before its next request (`"steer"`, the default) or when the run would end
#'   (`"follow_up"`). The model is told that the extension sent it.
#' * `$set_model(ref, thinking, reason)`: the model from the next request on; event `model_select`.
#' * `$add_tools(specs)`: tools for the rest of the session, which the model is told of. Invisibly a function that
#'   removes them.
#' * `$abort(reason)`, `$aborted()`: end the run; whether it was ended.
#' * `$state()`: an environment of the extension's own, for this session; also `$ext` of the session.
#' * `$append_entry(type, data)`: notes JSON data in the session's record, as `<extension>.<type>`.
#' * `$emit(event, data)`: sends JSON data on a channel.
#' * `$eval(code, envir)`: evaluates code of the extension's own (a string or a call) in the session's environment, and
#'   returns its value. It is not analysed, and nobody is asked.
#' * `$risk(code)`: what the analysis says of R code: a list of class `gptr_risk` with `level` (0 to 4), `label`,
#'   `categories`, `flagged` (a data frame) and others.
#' * `$has_ui()`: whether a person is there to be asked; `$ui()`: a list of functions to talk to them: `select(question,
#'   options)`, `input(prompt)`, `questions(questions)` (as the tool `ask_user` takes them; a named list of answers, `NULL`
#'   without), `notify(text)`, `permission(request)`. Without a person the answer is `NA`, `NULL` or a denial.
#' * `$get(kind, name)`: the spec that wins, or `NULL`.
#' * `$describe(x, budget)`, `$tokens(text, class)`, `$redact(text)`: see [gptr_describe()]; an estimate of tokens; the
#'   text without known secrets.
#'
#' `$secret()` and `$decide()` come from services that an extension may register as `ctx.secret` and `ctx.decide`;
#' without them they raise `gptr_error_not_available`.
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
