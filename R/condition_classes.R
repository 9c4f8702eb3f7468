#' Conditions
#'
#' The classes of errors, warnings and messages that gptr signals, with their fields.
#'
#' Every condition of gptr has the class of its case, then the parents of the table, then `gptr_error` (`gptr_warning`,
#' `gptr_message`), then R's own. Fields are read with `$`, such as `e$arg`; what is unknown is `NULL`.
#'
#' A run that did not end well raises a condition with the field `session`. The session can be continued:
#' `e$session |> peter("...")`. What an error in a handler of yours means depends on the handler: a tool's error is a
#' result for the model, a policy's error denies; see [gptr_tool()], [gptr_policy()], [gptr_events].
#'
#' @section Wrong use:
#' | class | parent | fields | when |
#' |---|---|---|---|
#' | `gptr_error_invalid_argument` | | `arg`, `expected` | an argument is wrong |
#' | `gptr_error_invalid_identifier` | `gptr_error_invalid_argument` | `arg`, `class`, `candidates` | no model |
#' | `gptr_error_invalid_spec` | | `kind`, `name`, `field`, `problem` | a spec is wrong |
#' | `gptr_error_unknown_kind` | `gptr_error_invalid_spec` | `kind`, `name`, `field`, `problem` | no such kind |
#' | `gptr_error_unknown_member` | | `name`, `available` | `$` with a name that is not there |
#' | `gptr_error_readonly` | | `object`, `field` | `$<-` on a session, `peter`, `ctx` or the API object |
#' | `gptr_error_conformance` | | `results` | `gptr_check(error = TRUE)` found a fault |
#' | `gptr_error_not_available` | | `member`, `provided_by` | a part that this version does not have |
#' | `gptr_error_unknown_model` | | `ref`, `suggestions` | no such model |
#' | `gptr_error_noninteractive` | | `what`, `questions` | `peter()` without a prompt |
#' | `gptr_error_busy` | | `session` | a running session was to be run |
#'
#' @section Extensions:
#' | class | parent | fields | when |
#' |---|---|---|---|
#' | `gptr_error_extension` | | `extension`, `parent` | a factory failed; `parent` is its condition |
#' | `gptr_error_api_version` | | `plugin`, `required`, `available` | `$require()` was not met |
#' | `gptr_error_stale_api` | | `plugin`, `generation` | an API object was kept past a reload |
#'
#' @section Tools and permissions:
#' | class | parent | fields | when |
#' |---|---|---|---|
#' | `gptr_error_permission` | | `action`, `tool`, `risk`, `how_to_allow`, `session` | a person has to approve |
#' | `gptr_error_tool` | | `tool`, `status` | a `peter$` call failed |
#'
#' `gptr_error_permission` is raised by a run that ended because nobody was there to approve a call, and in code of the
#' model that calls what only a person may call. `risk` is a level, 0 to 4. The `status` of `gptr_error_tool` is
#' `invalid` (arguments), `not_found`, `blocked` (by a hook), `denied`, `error`, `malformed` (what the tool returned) or
#' `aborted`.
#'
#' @section Runs and model requests:
#' | class | parent | more fields | when |
#' |---|---|---|---|
#' | `gptr_error_max_turns` | | `max_turns`, `session` | the limit of model requests was reached |
#' | `gptr_error_budget` | | `kind`, `budget`, `used`, `session` | a budget is used up |
#' | `gptr_error_budget_tokens` | `gptr_error_budget` | | that of tokens; also `_cost` (USD), `_turns` (requests) |
#' | `gptr_error_provider` | | (below) | a model request failed |
#' | `gptr_error_auth` | `gptr_error_provider` | | the key was refused |
#' | `gptr_error_no_key` | | `provider`, `variables` | no model, or no key in the environment |
#' | `gptr_error_rate_limit` | `gptr_error_provider` | `retry_after` | too many requests |
#' | `gptr_error_retry_after` | `gptr_error_provider` | `retry_after` | the service asked for too long a wait |
#' | `gptr_error_spend_cap` | `gptr_error_provider` | | a quota is used up |
#' | `gptr_error_billing` | `gptr_error_provider` | | an unpaid bill |
#' | `gptr_error_overloaded` | `gptr_error_provider` | | the service is overloaded or failed inside |
#' | `gptr_error_context_overflow` | `gptr_error_provider` | `tokens` | the conversation is too long |
#' | `gptr_error_network` | `gptr_error_provider` | | the connection failed or was cut |
#' | `gptr_error_redirect` | `gptr_error_provider` | | the service answered with a redirect, which is not followed |
#' | `gptr_error_timeout` | `gptr_error_provider` | `seconds`, `what` | parent of the next three |
#' | `gptr_error_timeout_connect` | `gptr_error_timeout` | `seconds`, `what` | no connection in time |
#' | `gptr_error_timeout_first_byte` | `gptr_error_timeout` | `seconds`, `what` | no answer in time |
#' | `gptr_error_timeout_idle` | `gptr_error_timeout` | `seconds`, `what` | silence in the middle of an answer |
#' | `gptr_error_process` | | `command`, `status`, `stderr` | a command failed that had to succeed |
#' | `gptr_error_spawn` | | `command` | a command could not be started |
#' | `gptr_error_missing_package` | | `package`, `feature` | a package that is only suggested is not installed |
#' | `gptr_error_internal` | | `detail` | a fault of gptr |
#'
#' `gptr_error_provider` and its children have `provider`, `model`, `status` (of HTTP), `request_id`, `error_type`
#' and `session`; so does `gptr_error_no_key` when it comes from a request. `retry_after` and `seconds` are in
#' seconds. A run sends a request up to four times (option `gptr.max_attempts`) when it failed in a way that may
#' pass, before it raises.
#'
#' @section Warnings and messages:
#' | class | when |
#' |---|---|
#' | `gptr_warning_two_prompts` | two strings were given to `peter()`: the first is the prompt |
#' | `gptr_message_notice` | something to know; once a session |
#'
#' `options(gptr.quiet = TRUE)` silences messages.
#'
#' @seealso [peter()], [gptr_events].
#' @name gptr_conditions
#' @examples
#' model <- gptr_fake_provider(list(
#'   list(tool = "r", input = list(code = "x <- 1")),
#'   "Then I leave it."
#' ))
#' session <- tryCatch(
#'   peter("Set x.", model = model, mode = manual),
#'   gptr_error_permission = function(e) e$session
#' )
#' session$status
#' tryCatch(gptr_spec("widget", "x"), gptr_error_invalid_spec = function(e) e$problem)
NULL
