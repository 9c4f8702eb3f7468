#' Kinds of records
#'
#' The table of all kinds: what a spec of each kind has, how records of one name are resolved, and whether something
#' reads the records in this version.
#'
#' Specs of every kind are validated, registered, listed and checked alike. A record of a kind that nothing reads yet
#' has no effect; its fields may still change. *One wins*: of records with the same name the one of the lowest rank
#' counts (session 0, then project, user, plugins, built-in), and of one rank the first. *All count*: every record has
#' its effect. Fields of a spec that its kind does not have are kept and ignored.
#'
#' The eleven kinds with a constructor are documented there, with types and defaults. [gptr_spec()] writes all kinds.
#'
#' @eval local(source("tools/reference_tables.R", local = TRUE)$value("kinds"))
#'
#' @seealso [gptr_spec()], [gptr_registry()], [gptr_events].
#' @name gptr_kinds
#' @examples
#' grep("^kind[.]", gptr_api()$features, value = TRUE)
#' gptr_spec("guidance", "lab", text = "Report concentrations in mmol/L.")
NULL

# The engine's table, a row a kind: list(name, all, experimental, consumed, fields, required).
kind_rows <- function() {
  ready()
  engine(.Call(wrap__registry_kinds))
}
