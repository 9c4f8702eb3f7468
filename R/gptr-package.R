#' gptr: an agent that lives inside the R session
#'
#' [peter()] sends a prompt with R objects to a language model that works in the running R session: it inspects objects,
#' runs R code and calls tools. Tools, policies, hooks, prompt sections, context blocks, commands and providers are
#' records in one registry, see [gptr_register()] and `vignette("extending-gptr")`.
#'
#' @section Options:
#' Limits, timeouts and guards are read when a run starts; a change during the run has no effect on it.
#' * `gptr.model`: the default model, `"provider/id"`; `gptr.mode`: the default mode of new sessions.
#' * `gptr.verbose`: 0 shows nothing (default in knitr and tests), 1 as well (default in scripts), 2 shows the
#'   answer and the calls as they come (default at the console).
#' * `gptr.interactive`: `TRUE` or `FALSE`, whether a person is present; default [interactive()].
#' * `gptr.noninteractive_ask`: `"stop"` (default) or `"deny"`, see [peter()].
#' * `gptr.critical_guard`: `FALSE` switches the guard of critical actions off; `gptr.unsafe_no_permissions`: `TRUE`
#'   silences all built-in policies. Registered policies and hooks still decide.
#' * `gptr.max_turns`: model requests of a run, 50 (at the console 200).
#' * `gptr.max_attempts`: attempts of a request, 4; `gptr.max_retry_delay`: seconds, 60.
#' * `gptr.connect_timeout`, `gptr.first_byte_timeout`, `gptr.idle_timeout`: seconds, 20, 120 and 90.
#' * `gptr.hook_timeout`: seconds for hooks, policies and the like, 10; `gptr.load_timeout`: for a factory, 30.
#' * `gptr.r_output_tokens`: tokens of one result, 4000; longer ones are cut. The newest `gptr.out_keep` (20) whole texts
#'   of a session are kept. Past half of `gptr.compact_at` (200000) tokens of conversation, code gets half of the room.
#' * `gptr.r_timeout`: seconds for the code of one call of the tool `r` when nobody is present, 3600.
#' * `gptr.r_max_images`: plots that come back with one call, 3; `gptr.plot`: their size, `list(width = 768, height = 512,
#'   dpi = 120)`, in pixels and dots per inch.
#' * `gptr.helper_output_tokens`: tokens of one printed text of `peter$`, 1500.
#' * `gptr.interpolate`: `TRUE` fills `{name}` in prompts that are literals; default `FALSE`.
#' * `gptr.quiet`: `TRUE` silences messages; default `FALSE`.
#'
#' @seealso [peter()], [gptr_kinds], [gptr_events], [gptr_conditions].
#' @keywords internal
#' @useDynLib gptr, .registration = TRUE
"_PACKAGE"
