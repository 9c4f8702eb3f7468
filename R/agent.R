#' An agent
#'
#' An agent is a named way to run a child session: its model, tools and instructions.
#'
#' Specs are checked, registered and listed; nothing reads the records in this version (see [gptr_kinds]).
#'
#' `model` and `skills` are stored as written, unevaluated, and resolved when the agent runs: `model = opus` keeps the
#' symbol `opus`.
#'
#' @param name String, not empty. Not a field of a session, such as `text` or `usage`.
#' @param description String or `NULL` (default). When to use the agent, for the model.
#' @param model A model reference, a bare name, or a provider spec; `NULL` (default): the session's model.
#' @param tools Names of tools (character), a list of tool specs, or `NULL` (default).
#' @param skills Names of skills, also bare, or `NULL` (default).
#' @param system String or `NULL` (default). Instructions in place of the preset's.
#' @param backend String: `"auto"` (default), `"inline"`, `"worker"`, `"cli"`, or the name of a [gptr_backend()].
#' @param preset String. The preset of the child session; default `"minimal"`.
#' @param max_turns Whole number of model turns, or `NULL` (default).
#' @param mode String: `"plan"`, `"manual"`, `"edits"`, `"auto"`, or `NULL` (default) for the parent's mode.
#' @param objects Names of the objects that the agent sees (character), or `NULL` (default).
#' @param export Names of the objects that it hands back (character), or `NULL` (default).
#' @param returns List. The JSON Schema of its answer; or `NULL` (default).
#' @param file Path of a saved definition, or `NULL` (default).
#' @return A spec of class `c("gptr_agent", "gptr_spec")`. When nothing but `name` or `file` is given, the saved
#'   definition of that name or in that file.
#' @section Conditions:
#' * `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`): an argument is missing or wrong.
#' * `gptr_error_invalid_argument` (fields `arg`, `expected`): no argument is given.
#' * `gptr_error_not_available` (fields `member`, `provided_by`): saved definitions can't be read, because nothing
#'   provides the service for it.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_kinds] for all kinds.
#' @examples
#' gptr_agent("reviewer", description = "Reviews a model fit", system = "You review statistical models.")
#' @export
gptr_agent <- function(name = NULL, description = NULL, model = NULL, tools = NULL, skills = NULL,
                       system = NULL, backend = c("auto", "inline", "worker", "cli"), preset = "minimal",
                       max_turns = NULL, mode = NULL, objects = NULL, export = NULL, returns = NULL,
                       file = NULL) {
  supplied <- names(match.call())[-1L]
  if (all(supplied %in% c("name", "file"))) {
    return(saved_agent(name, file))
  }
  build_spec("agent", name, list(
    description = description, model = substitute(model), tools = tools, skills = substitute(skills),
    system = system, backend = chosen(backend), preset = preset, max_turns = max_turns, mode = mode,
    objects = objects, export = export, returns = returns, file = file
  ))
}

saved_agent <- function(name, file) {
  if (is.null(name) && is.null(file)) {
    abort_argument("name", "a single non-empty string, unless `file` is given", name)
  }
  ready()
  get <- find_service("agent_def.get")
  if (is.null(file)) get(name) else get(name, file = file)
}
