#' gptr: an agent that lives inside the R session
#'
#' [peter()] sends a prompt with R objects to a language model that works in the running R session: it inspects objects,
#' runs R code and calls tools. Tools, policies, hooks, prompt sections, context blocks, commands and providers are
#' records in one registry, see [gptr_register()] and `vignette("extending-gptr")`.
#'
#' @keywords internal
#' @useDynLib gptr, .registration = TRUE
"_PACKAGE"
