# Services: functions that one part offers to the others by name. A record of kind `service` replaces the function that
# a built-in declared under its name.

# Who would bring a service that nobody offers.
service_providers <- c("agent_def.get" = "skills")

# Declares the function behind a service, until a record replaces it. `builtin` names the built-in that it belongs to:
# without an enabled record of that the service is not available.
declare_service <- function(name, fun, builtin = NULL) {
  engine(.Call(wrap__service_declare, name, builtin))
  the$services[[name]] <- fun
  invisible(NULL)
}

# The function of a service; `gptr_error_not_available` when nobody offers it.
find_service <- function(name, session = frame_session_id()) {
  for (round in seq_len(lookup_rounds)) {
    found <- .Call(wrap__service_find, name, session)
    if (inherits(found, "gptr_engine_error")) no_service(found, name)
    if (identical(found$type, "record")) return(spec_home(found$home)[[found$id]]$fun)
    if (identical(found$type, "builtin")) return(the$services[[name]])
    if (!activate_load(found$load)$ran) break
  }
  no_service(NULL, name)
}

# The function of a service, or NULL.
optional_service <- function(name, session = frame_session_id()) {
  tryCatch(find_service(name, session), gptr_error_not_available = function(e) NULL)
}

no_service <- function(failure, name) {
  provider <- failure$fields$provided_by %||% unname(service_providers[name])
  if (is.na(provider %||% NA)) provider <- NULL
  gptr_abort("not_available", paste0("The service ", name, " is not available",
    if (!is.null(provider)) paste0(" (it comes with ", provider, ")"), "."), member = name, provided_by = provider)
}
