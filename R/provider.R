#' A provider of models
#'
#' A provider is an endpoint with models: the left half of a model reference such as `corp/corp-large`.
#'
#' The address is completed by the adapter: `https://llm.corp.example/v1` becomes
#' `https://llm.corp.example/v1/chat/completions`. In this version `discover`, `status`, `rate`, `quota` and the
#' fragments of `thinking` are checked and stored; nothing reads them.
#'
#' @param id String of lower-case letters, digits, `-` and `_`, 1 to 64 characters, the first a letter or digit.
#' @param api String. The adapter that speaks the endpoint's protocol: `"openai-completions"` in this version.
#' @param base_url String or `NULL` (default). An absolute https address; http only on the own machine, or with
#'   `local = TRUE` on a private network. No user, password, query or fragment.
#' @param auth Names of the environment variables that may hold the key (character), a function that returns the key,
#'   or `NULL` (default).
#' @param models Model ids (character), or a list of model records, each a list with at least an `id` and, where known,
#'   `context` and `max_output` (tokens); the first is the default. `NULL` (default): none are declared.
#' @param compat Named list of what the endpoint does differently; empty by default.
#' @param type String: `"chat"` (default), `"classifier"` or `"cli"`.
#' @param headers Named list of strings (empty by default), or a function of no argument or of the request, that is
#'   called before each attempt and returns them. Their values are secrets: they are never printed.
#' @param discover `function()` that returns the models of a running server, or `NULL` (default).
#' @param status `function(check)` that says cheaply whether the provider is there, or `NULL` (default).
#' @param aliases Character vector of other names for `id`; empty by default.
#' @param local `TRUE` when the address is this machine or a trusted network; default `FALSE`.
#' @param offline `TRUE` when no network is used at all; default `FALSE`.
#' @param rate List with `requests_per_s` or `tokens_per_s` (numbers), or `NULL` (default).
#' @param context Whole number of tokens: the window of models that do not say theirs; or `NULL` (default).
#' @param quota `function(usage)` that gets each reply's usage and returns `list(left, unit, total)` or `NULL`; or
#'   `NULL` (default).
#' @param thinking Named list with a fragment of the request (a list or a JSON string) for each level of effort:
#'   `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; or `NULL` (default).
#' @return A spec of class `c("gptr_provider", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' A request without a key raises `gptr_error_no_key` (`provider`, `variables`); see [gptr_conditions].
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_models()] to list the models.
#' @examples
#' gptr_provider(
#'   "corp", api = "openai-completions",
#'   base_url = "https://llm.corp.example/v1", auth = "CORP_LLM_KEY",
#'   models = list(list(id = "corp-large", context = 128000))
#' )
#' @export
gptr_provider <- function(id, api, base_url = NULL, auth = NULL, models = NULL, compat = list(),
                          type = c("chat", "classifier", "cli"), headers = list(), discover = NULL,
                          status = NULL, aliases = character(), local = FALSE, offline = FALSE, rate = NULL,
                          context = NULL, quota = NULL, thinking = NULL) {
  build_spec("provider", given(id), list(
    id = given(id), api = given(api), base_url = base_url, auth = auth, models = models, compat = compat,
    type = chosen(type), headers = headers, discover = discover, status = status, aliases = aliases,
    local = local, offline = offline, rate = rate, context = context, quota = quota, thinking = thinking
  ))
}
