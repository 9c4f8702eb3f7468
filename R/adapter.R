#' An adapter for a protocol
#'
#' An adapter turns a request into what goes over the wire, and what comes back into events. gptr's own are
#' `"openai-completions"` and that of [gptr_fake_provider()].
#'
#' Specs are checked, registered and listed; nothing reads the records in this version (see [gptr_kinds]).
#'
#' @param api String. The name of the protocol, to which providers refer.
#' @param transport String: `"http_sse"` (default), `"http_ndjson"`, `"http_json"`, `"process_jsonl"` or
#'   `"inprocess"`.
#' @param build `function(model, context, opts)` that returns the request; needed unless the transport is
#'   `"inprocess"`.
#' @param parse `function(model, opts)` that returns a reader of the reply; needed unless the transport is
#'   `"inprocess"`.
#' @param stream `function(model, context, opts)`; needed when the transport is `"inprocess"`.
#' @param classify Named list of functions for a classifier, in place of the three above: `run`, or `build` and
#'   `parse`. `NULL` by default.
#' @param capabilities Named list of what the protocol can carry; empty by default.
#' @return A spec of class `c("gptr_adapter", "gptr_spec")`, named after `api`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong.
#' @seealso [gptr_register()] to put it to use, [gptr_check()] to try it, [gptr_kinds] for all kinds.
#' @examples
#' gptr_adapter(
#'   "lab-wire", transport = "http_json",
#'   build = function(model, context, opts) list(url = "https://lab.example", body = "{}"),
#'   parse = function(model, opts) list(push = function(event) list(), finish = function() list())
#' )
#' @export
gptr_adapter <- function(api,
                         transport = c("http_sse", "http_ndjson", "http_json", "process_jsonl", "inprocess"),
                         build = NULL, parse = NULL, stream = NULL, classify = NULL, capabilities = list()) {
  build_spec("adapter", given(api), list(
    api = given(api), transport = chosen(transport), build = build, parse = parse, stream = stream,
    classify = classify, capabilities = capabilities
  ))
}
