#' The version and features of the extension API
#'
#' @return A list of class `gptr_api`: `version` (a [package_version][base::numeric_version], `1.0`) and `features`, a
#'   character vector: `kind.<name>` for every registered kind in byte order, `event.<name>` for every event, and the
#'   services.
#' @examples
#' gptr_api()$version
#' head(gptr_api()$features)
#' @export
gptr_api <- function() {
  ready()
  structure(
    list(
      version = package_version("1.0"),
      features = as.character(engine(.Call(wrap__engine_features, staging_load())))
    ),
    class = "gptr_api"
  )
}

#' Register a spec
#'
#' Puts a tool, policy, hook, prompt section or any other spec into the registry of this R process: sessions that
#' start later see it. Called while a package's namespace loads, the record belongs to that package and leaves with it.
#'
#' For the same kind and name, records of a session win over those of a trusted project, the user, plugins and
#' built-ins, in that order; a tie keeps the first and is reported (`gptr_registry(diagnostics = TRUE)`). Additive
#' kinds such as hooks keep all their records.
#'
#' @param spec A spec, from [gptr_tool()] or another constructor, or [gptr_spec()].
#' @return Invisibly a function without arguments that removes the record: `TRUE` when it did, `FALSE` when the record
#'   was gone already.
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `spec`) for anything but a spec,
#'   `gptr_error_invalid_spec` (`kind`, `name`, `field`, `problem`) for a spec that was altered or is not admitted,
#'   `gptr_error_permission` in code that the model wrote.
#' @seealso [gptr_registry()] lists records, [gptr_check()] tries a spec first.
#' @examples
#' off <- gptr_register(gptr_prompt_section("units", "Report every quantity with its unit.", tier = "T1"))
#' gptr_registry("prompt_section")
#' off()
#' @export
gptr_register <- function(spec) {
  check_class(spec, "gptr_spec", "spec")
  ready()
  context <- call_context()
  package <- context$package
  # Without a frame it is the person at the console.
  if (is.null(package) && length(the$frames)) {
    control_guard("gptr_register")
    no_factory("gptr_register")
  }
  source <- if (is.null(package)) "user" else paste0("plugin:", package)
  rank <- if (is.null(package)) 3L else 5L
  id <- add_record(spec, list(source = source, rank = rank, extension = source, place = context$place))
  if (!is.null(package)) on_unload(package)
  invisible(record_remover(id, guarded = is.null(package)))
}

# Made apart, so that it keeps nothing but the id alive.
record_remover <- function(id, guarded) {
  force(id)
  force(guarded)
  function() {
    if (guarded) control_guard("gptr_register")
    remove_record(id)
  }
}

# A factory registers through its API object, so that all it brings comes and goes together.
no_factory <- function(action) {
  frame <- current_frame()
  if (is.null(frame) || !identical(frame$role, "factory")) return(invisible(NULL))
  gptr_abort("permission", paste0(action, "() is not for an extension's factory: use gptr$register()."),
    action = action, tool = NA_character_, risk = 4L, how_to_allow = "Use gptr$register() of the API object.",
    session = NULL)
}

store_record <- function(spec, origin, validated) {
  added <- engine(.Call(wrap__registry_add, spec, origin, fake_state(spec), validated, FALSE))
  # Few specs hold what the engine can't read; the engine sees it as it reads.
  if (is.null(added$unreadable)) return(added)
  engine(.Call(wrap__registry_add, for_engine(spec), origin, fake_state(spec), validated, TRUE))
}

# Stores a spec in the engine and its closures here. Returns the record's id.
add_record <- function(spec, origin, specs = the$specs) {
  added <- store_record(spec, origin, FALSE)
  if (!is.null(added$validator)) {
    spec <- complete_spec(spec)
    added <- store_record(spec, origin, TRUE)
  }
  # What a constructor built is complete.
  if (!is.null(added$patch)) spec <- add_generated(apply_patch(spec, added$patch), added$generate)
  assign(added$id, spec, envir = specs)
  if (length(added$released)) forget(added$released)
  if (!added$consumed) say_unconsumed(spec$kind)
  added$id
}

# Registering what nothing reads is no error, but nobody should wait for its effect.
say_unconsumed <- function(kind) {
  if (!is.null(the$unconsumed[[kind]])) return(invisible(NULL))
  assign(kind, TRUE, envir = the$unconsumed)
  message <- paste0("Nothing reads records of kind ", kind, " yet: this one is kept and listed, no more.")
  gptr_inform("unconsumed", message, kind = kind)
}

remove_record <- function(id) {
  gone <- engine(.Call(wrap__registry_remove, id))
  forget(gone$released)
  invisible(gone$removed)
}

# How often a look-up activates what it finds waiting before it gives up.
lookup_rounds <- 10L

# The record that wins: list(id, home), or NULL. What is declared only is loaded first.
find_record <- function(kind, name, session) {
  for (round in seq_len(lookup_rounds)) {
    found <- engine(.Call(wrap__registry_winner, kind, name, session))
    if (is.null(found) || identical(found$type, "record")) return(found)
    if (!activate_load(found$load)$ran) return(NULL)
  }
  NULL
}

add_session_record <- function(session, spec, extension = NULL) {
  data <- session_data(session)
  session_get(session, "status") # fails for a session of another process
  origin <- list(source = "session", rank = 0L, extension = extension %||% "session", session = data$id)
  key <- if (is.null(spec$namespace)) spec$name else paste0(spec$namespace, "/", spec$name)
  # A later call with the same kind and key replaces the earlier record; a tie would keep the first.
  old <- data$call_records[[paste(spec$kind, key)]]
  if (is.null(extension) && !is.null(old)) remove_record(old)
  id <- add_record(spec, origin, data$specs)
  if (is.null(extension)) data$call_records[[paste(spec$kind, key)]] <- id
  id
}

fake_state <- function(spec) {
  if (is.environment(.subset2(spec, "log"))) get0(".state", envir = spec$log, inherits = FALSE) else NULL
}

on_unload <- function(package) {
  on_failed_load(package)
  if (package %in% names(the$unload_hooks)) return(invisible(NULL))
  # R keeps a hook over many loads and unloads.
  the$unload_hooks[[package]] <- function(...) unload_source(paste0("plugin:", package))
  setHook(packageEvent(package, "onUnload"), the$unload_hooks[[package]])
}

# When gptr itself goes: there is no registry to clean any more.
drop_unload_hooks <- function() {
  for (package in names(the$unload_hooks)) {
    event <- packageEvent(package, "onUnload")
    others <- Filter(function(hook) !identical(hook, the$unload_hooks[[package]]), getHook(event))
    setHook(event, others, "replace")
  }
}

# A namespace that never came to be leaves nothing behind: no hook of R tells of it, so its loader's own exit does.
on_failed_load <- function(package) {
  for (i in seq_len(sys.nframe())) {
    frame <- sys.frame(i)
    if (!identical(sys.function(i), loadNamespace)) next
    if (!identical(get0("package", frame, inherits = FALSE), package)) next
    if (isTRUE(frame$.gptr_watched)) return(invisible(NULL))
    frame$.gptr_watched <- TRUE
    gone <- function() if (!isNamespaceLoaded(package)) unload_source(paste0("plugin:", package))
    do.call(on.exit, list(as.call(list(gone)), add = TRUE), envir = frame)
    return(invisible(NULL))
  }
}

unload_source <- function(source) {
  gone <- engine(.Call(wrap__registry_unload, source))
  forget(gone$released)
  own <- function(entry) identical(entry$origin$source, source)
  the$loads <- Filter(Negate(own), the$loads)
  the$activated <- Filter(Negate(own), the$activated)
  the$states[[source]] <- NULL
  gone$count
}

#' List what is registered
#'
#' @param kind `NULL` for all kinds, or a character vector of kinds.
#' @param diagnostics `TRUE` gives the log of collisions, failures and other oddities instead (the last 1,000).
#' @return A data frame of class `gptr_registry`, a row a record: `kind`, `name`, `source` (character), `rank`
#'   (integer; the lowest wins), `state` (`"active"`, `"overridden"` by another record, `"disabled"` by a filter,
#'   `"lazy"`: declared, its code not loaded yet), `tokens` (estimate of what it costs in a request), `experimental`
#'   (logical). Records of single sessions are not listed. With `diagnostics = TRUE` one of class `gptr_diagnostics`:
#'   `time` (POSIXct), `source`, `event`, `class`, `message`.
#' @section Conditions: `gptr_error_unknown_kind`, `gptr_error_invalid_argument` (`arg`).
#' @examples
#' gptr_registry("tool")
#' @export
gptr_registry <- function(kind = NULL, diagnostics = FALSE) {
  check_flag(diagnostics, "diagnostics")
  if (!is.null(kind)) check_characters(kind, "kind")
  ready()
  if (diagnostics) {
    if (!is.null(kind)) {
      gptr_abort("invalid_argument", "`diagnostics = TRUE` lists the log: leave `kind` out.", arg = "diagnostics")
    }
    return(diagnostics_frame())
  }
  version <- .Call(wrap__registry_version)
  if (is.null(kind) && identical(the$listing$version, version)) return(the$listing$rows)
  rows <- columns_frame(engine(.Call(wrap__registry_list, kind)), "gptr_registry")
  if (is.null(kind)) the$listing <- list(version = version, rows = rows)
  rows
}

# A data frame from columns of one length.
columns_frame <- function(columns, class) {
  structure(columns, row.names = .set_row_names(length(columns[[1L]])), class = c(class, "data.frame"))
}

diagnostics_frame <- function() {
  columns <- engine(.Call(wrap__registry_diagnostics))
  columns$time <- as.POSIXct(columns$time, origin = "1970-01-01")
  columns_frame(columns, "gptr_diagnostics")
}

#' Start a new generation of extensions
#'
#' API objects that extensions kept are stale from now on: using one raises `gptr_error_stale_api`. Existing sessions
#' keep their frozen prompt; records of the user stay. There are no extension folders and no configuration files to read
#' again in this version.
#'
#' @return The new generation, an integer, invisibly.
#' @section Conditions: `gptr_error_permission` in code that the model wrote.
#' @examples
#' gptr_reload()
#' @export
gptr_reload <- function() {
  control_guard("gptr_reload")
  ready()
  reloaded <- engine(.Call(wrap__registry_reload))
  forget(reloaded$released)
  move_loads(reloaded$moved)
  invisible(reloaded$generation)
}
