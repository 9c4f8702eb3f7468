#' A provider that answers from a script
#'
#' It needs no key and no network: for tests, examples and vignettes. It keeps what it was asked.
#'
#' Request i gets reply i; the last reply repeats. A reply is a string, or a list with some of:
#' * `text`, `thinking`, `signature`: strings;
#' * `tool`, `input`, `id`: one call of a tool; or `tools`: a list of such calls with `name` in place of `tool`;
#' * `json`: a value, sent as a text of JSON; `stop`: the stop reason;
#' * `error` (message) with `status` (of HTTP), `after` (pieces of the reply before it), `retry_after` (seconds);
#' * `overflow = TRUE`: the conversation is too long; `hang = TRUE`: silence until the run is ended;
#' * `delay` (seconds before the first piece), `gap` (seconds between pieces), `chunk` (characters of a piece);
#' * `usage`: a list of counts of tokens, such as `input` and `output`.
#'
#' @param script A list of replies, a character vector (one reply an element), or a `function(request)` that returns a
#'   reply.
#' @param name String of lower-case letters, digits and `-`, the first a letter or digit; default `"fake"`. The one
#'   model is then `<name>/<name>-1`.
#' @param type String: `"chat"` (default) or `"classifier"`.
#' @return A spec of class `c("gptr_provider", "gptr_spec")`, to be given as `peter(model = )` or registered. Its field
#'   `log` is an environment with `n`, the number of requests so far, and `requests`, the list of them; each has `n`,
#'   `model`, `system` (`t0`, `t1`), `tools` (names), `messages`, `last_user`, `last_results` and `params`.
#' @section Conditions:
#' `gptr_error_invalid_argument` (fields `arg`, `expected`) when an argument is wrong.
#' @seealso [peter()], [gptr_conditions] for what the failures raise.
#' @examples
#' fake <- gptr_fake_provider(list(
#'   list(tool = "r", input = list(code = "1 + 1")),
#'   "The sum is 2."
#' ))
#' session <- peter("What is 1 + 1?", model = fake)
#' session$text
#' fake$log$n
#' fake$log$requests[[2]]$last_results[[1]]$content[[1]]$text
#'
#' # A script may also answer by what it is asked.
#' echo <- gptr_fake_provider(function(request) paste("You said:", request$last_user), name = "echo")
#' peter("Hello.", model = echo)$text
#' @export
gptr_fake_provider <- function(script, name = "fake", type = c("chat", "classifier")) {
  script <- given(script)
  check_script(script)
  check_fake_name(name)
  type <- check_choice(type, c("chat", "classifier"), "type")
  api <- if (type == "chat") "fake" else "fake-classifier"
  build_spec("provider", name, list(
    id = name, api = api, models = list(fake_model(name, type, api)), type = type, local = TRUE, offline = TRUE,
    script = script, log = fake_log(script, name)
  ))
}

check_script <- function(script) {
  ok <- is.function(script) || is_plain_list(script) || (is.character(script) && !anyNA(script))
  check_that(ok, script, "script", "a list of replies, a function(request) or a character vector without NA")
}

check_fake_name <- function(name) {
  ok <- is.character(name) && length(name) == 1L && grepl("^[a-z0-9][a-z0-9-]*\\z", name, perl = TRUE)
  check_that(ok, name, "name", "lower-case letters, digits and '-', starting with a letter or digit")
}

fake_model <- function(name, type, api) {
  id <- paste0(name, if (type == "chat") "-1" else "-s1")
  list(
    id = id, ref = paste0(name, "/", id), provider = name, label = paste("Fake", id), family = name, api = api,
    type = type, context = 200000, max_output = 8192, reasoning = TRUE, tool_call = TRUE, structured_output = TRUE,
    thinking_levels = c("off", "minimal", "low", "medium", "high"), input = c("text", "image"),
    prices = data.frame(
      from = 0, tier = "standard", input = 0, output = 0, cache_read = 0, cache_write_5m = 0, cache_write_1h = 0
    ),
    cache_min = NA_real_,
    capabilities = list(
      tool_addition = TRUE, images_in_results = TRUE, mid_system = FALSE, operator_role = FALSE,
      adaptive_thinking = FALSE, effort = FALSE
    )
  )
}

# The requests stay in the engine, which keeps them as lengths into one history; they are built when looked at.
fake_log <- function(script, name) {
  replies <- if (is.function(script)) NULL else as.list(script)
  state <- engine(.Call(wrap__fake_new, for_engine(replies), is.function(script), name))
  log <- new.env(parent = emptyenv())
  log$.state <- state
  makeActiveBinding("n", function() engine(.Call(wrap__fake_count, state)), log)
  makeActiveBinding("requests", function() engine(.Call(wrap__fake_requests, state)), log)
  lockEnvironment(log, bindings = TRUE)
  structure(log, class = "gptr_fake_log")
}

#' @export
format.gptr_fake_log <- function(x, ...) {
  paste0("<gptr_fake_log> ", x$n, " request(s)")
}

#' @export
print.gptr_fake_log <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  invisible(x)
}
