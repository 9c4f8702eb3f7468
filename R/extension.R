# Extensions: factories of one argument, the API object. What a factory registers is staged in the engine and committed
# as a whole when it returned.

load_session_extension <- function(session, extension) {
  data <- session_data(session)
  file <- if (is.character(extension)) normalizePath(extension, mustWork = FALSE)
  # A file is loaded once a session, however often it is named.
  if (length(file) == 1L && file %in% data$extension_files) return(invisible(NULL))
  factory <- as_factory(extension)
  data$extensions <- (data$extensions %||% 0L) + 1L
  name <- if (is.function(extension)) paste0("session:", data$extensions) else extension_name(extension)
  place <- if (!is.null(file)) list(file = enc2utf8(file), line = NA_integer_)
  origin <- list(source = "session", rank = 0L, extension = name, session = data$id, place = place)
  failure <- load_factory(factory, origin, data$specs)$failure
  if (is.null(failure)) {
    data$extension_files <- c(data$extension_files, file)
    return(invisible(NULL))
  }
  diagnose_load(origin, failure)
  gptr_abort("extension", paste0("Extension ", name, " failed to load: ", one_message(failure)),
    extension = name, parent = failure)
}

as_factory <- function(extension) {
  if (is.function(extension)) return(extension)
  if (is.character(extension) && length(extension) == 1L && !is.na(extension) && file.exists(extension)) {
    return(factory_in_file(extension))
  }
  gptr_abort("invalid_argument", paste0(
    "`extensions` must be a function(gptr) or the path of an existing file, not ", describe_argument(extension), "."
  ), arg = "extensions", expected = "a function(gptr) or the path of an existing file")
}

extension_name <- function(path) {
  base <- basename(path)
  if (identical(base, "main.R")) basename(dirname(path)) else sub("[.][Rr]$", "", base)
}

# The file is evaluated in a fresh environment over the global one; its last expression is the factory.
factory_in_file <- function(path) {
  if (!file.exists(path) || dir.exists(path)) {
    gptr_abort("invalid_argument", paste0(path, " is not an existing file."), arg = "extensions")
  }
  exprs <- tryCatch(parse(path, keep.source = TRUE, encoding = "UTF-8"), error = function(e) {
    gptr_abort("invalid_argument", paste0(path, ": ", one_message(e)), arg = "extensions")
  })
  env <- new.env(parent = globalenv())
  value <- NULL
  for (expr in exprs) value <- eval(expr, env)
  if (!is.function(value)) {
    gptr_abort("invalid_argument", paste0("The last expression of ", path, " must be a function(gptr)."),
      arg = "extensions")
  }
  value
}

# Runs a factory as one transaction. `failure` is NULL when everything was committed, else the condition that ended it;
# then nothing of it remains. `load` is the engine's number of the load. A source that a filter turns off is not loaded,
# which is no failure.
load_factory <- function(factory, origin, specs, registry = "live", dir = NULL) {
  if (!is.function(factory)) {
    return(list(failure = simpleError("An extension must be a function of one argument, the API object.")))
  }
  if (identical(registry, "live") && !engine(.Call(wrap__ext_admitted, origin))) return(list(failure = NULL))
  load <- engine(.Call(wrap__ext_begin, origin, registry))
  run_load(new_load(load, factory, origin, specs, registry, dir))
}

# What R keeps of a load: its factory, the specs that are staged, and where they go.
new_load <- function(load, factory, origin, specs, registry = "live", dir = NULL) {
  entry <- list(
    load = load, factory = factory, origin = origin, specs = specs, staged = new.env(parent = emptyenv()),
    scratch = identical(registry, "scratch"), dir = dir
  )
  the$loads[[load_key(load)]] <- entry
  entry
}

load_key <- function(load) format(load, scientific = FALSE)

# Where handlers of a load that is staged, or that lives in a scratch registry, are found; see spec_home().
load_home <- function(load, staged = FALSE) paste0(if (staged) "staged:" else "load:", load_key(load))

forget_load <- function(load) the$loads[[load_key(load)]] <- NULL

run_load <- function(entry) {
  load <- entry$load
  finished <- FALSE
  on.exit({
    if (!finished) engine(.Call(wrap__ext_rollback, load))
    if (!entry$scratch) forget_load(load)
  })
  state <- extension_state(entry$origin, entry$scratch)
  before <- as.list(state, all.names = TRUE)
  failure <- call_factory(entry, new_extension_api(entry, state))
  if (is.null(failure)) failure <- commit_load(entry)
  if (!is.null(failure)) {
    engine(.Call(wrap__ext_rollback, load))
    restore_bindings(state, before)
  }
  finished <- TRUE
  if (is.null(failure) && !entry$scratch) leave_with_package(entry$origin$source)
  if (inherits(failure, "interrupt")) resignal_interrupt()
  list(failure = failure, load = load)
}

# A plugin or built-in has one state for the process, other code one for each load.
extension_state <- function(origin, scratch) {
  if (scratch || !grepl("^(plugin|builtin):", origin$source)) return(new.env(parent = emptyenv()))
  if (is.null(the$states[[origin$source]])) the$states[[origin$source]] <- new.env(parent = emptyenv())
  the$states[[origin$source]]
}

restore_bindings <- function(env, before) {
  rm(list = ls(env, all.names = TRUE), envir = env)
  list2env(before, envir = env)
}

# What the package of a plugin registered goes with its namespace.
leave_with_package <- function(source) {
  package <- sub("^plugin:", "", source)
  if (!identical(package, source) && isNamespaceLoaded(package)) on_unload(package)
}

# A load that failed is one diagnostic, and one warning a source and process.
report_load <- function(origin, failure) {
  if (is.null(failure)) return(invisible(NULL))
  diagnose_load(origin, failure)
  message <- paste0("Extension ", origin$extension, " is disabled: ", one_message(failure))
  gptr_warn("plugin", message, diagnostic = one_message(failure), once = paste0("plugin:", origin$extension))
}

diagnose_load <- function(origin, failure) {
  engine(.Call(wrap__registry_diagnose, origin$extension, "load", class(failure)[[1L]], one_message(failure)))
}

# ---- lazy extensions ------------------------------------------------------------------------------------------------

# Registers placeholders for what a factory will bring; the factory runs when one of them is asked for. `provides`: a
# named list of names by kind; `declarations`: NULL, or a named list of list(signature, description).
declare_extension <- function(factory, origin, specs, provides, declarations = NULL, dir = NULL) {
  check_function(factory, "extensions")
  if (!engine(.Call(wrap__ext_admitted, origin))) return(invisible(FALSE))
  declared <- engine(.Call(wrap__ext_declare, origin, provides, declarations))
  entry <- new_load(declared$load, factory, origin, specs, dir = dir)
  # Only kinds that are not known yet: there is nothing to ask for, so it loads now.
  if (declared$placeholders == 0L) return(invisible(activate_load(declared$load)$loaded))
  invisible(TRUE)
}

# Loads a lazy extension. `ran`: its factory was called; `loaded`: and succeeded.
activate_load <- function(load) {
  entry <- the$loads[[load_key(load)]]
  if (is.null(entry) || !engine(.Call(wrap__ext_activate_begin, load))) return(list(ran = FALSE, loaded = FALSE))
  failure <- run_load(entry)$failure
  report_load(entry$origin, failure)
  # It is a placeholder again after gptr_reload().
  if (is.null(failure)) the$activated[[load_key(load)]] <- entry
  list(ran = TRUE, loaded = is.null(failure))
}

# After a reload: loads that are placeholders again, under another number.
move_loads <- function(moved) {
  for (i in seq_along(moved$from)) {
    entry <- the$activated[[load_key(moved$from[[i]])]]
    the$activated[[load_key(moved$from[[i]])]] <- NULL
    if (!is.null(entry)) new_load(moved$to[[i]], entry$factory, entry$origin, entry$specs, dir = entry$dir)
  }
}

# ---- the factory ----------------------------------------------------------------------------------------------------

call_factory <- function(entry, api) {
  frame <- list(
    role = "factory", owner = entry$origin$extension, session = entry$origin$session, load = entry$load,
    model_code = isTRUE(current_frame()$model_code)
  )
  the$frames <- c(the$frames, list(frame))
  on.exit(pop_frame())
  failure <- structure(class = c("gptr_error_extension", "gptr_error", "error", "condition"),
    list(message = "the factory jumped to the top level", call = NULL))
  withRestarts(
    tryCatch(
      {
        requires <- attr(entry$factory, "gptr_api", exact = TRUE)
        if (!is.null(requires)) engine(.Call(wrap__ext_require, entry$load, requires))
        within_bound(getOption("gptr.load_timeout", 30), entry$factory(api))
        failure <- NULL
      },
      error = function(e) failure <<- e,
      interrupt = function(e) failure <<- e
    ),
    abort = function(...) NULL
  )
  failure
}

commit_load <- function(entry) {
  answer <- .Call(wrap__ext_commit, entry$load)
  if (inherits(answer, "gptr_engine_error")) return(engine_condition(answer))
  for (row in answer) {
    entry$specs[[row$id]] <- entry$staged[[row$token]]
    assign(row$token, row$id, envir = entry$staged)
  }
  NULL
}

# The API object: an environment whose members are read with `$`.
new_extension_api <- function(entry, state) {
  api <- list2env(entry[c("load", "origin", "staged", "specs", "scratch", "dir")], parent = emptyenv())
  api$state <- state
  outer <- new.env(parent = emptyenv())
  assign(".data", api, envir = outer)
  class(outer) <- "gptr_extension_api"
  outer
}

api_data <- function(x) get(".data", envir = x, inherits = FALSE)

api_members <- function() {
  kinds <- sub("^kind[.]", "", grep("^kind[.]", gptr_api()$features, value = TRUE))
  c("name", "dir", "state", "register", paste0("register_", kinds), "on", "require", "has", "guidance", "log", "config",
    "fetch")
}

#' @export
`$.gptr_extension_api` <- function(x, name) {
  data <- api_data(x)
  switch(name,
    name = data$origin$extension,
    dir = data$dir,
    state = data$state,
    register = function(spec) api_register(data, spec),
    on = function(event, handler, matcher = NULL) api_register(data, api_hook(event, handler, matcher)),
    require = function(requires) api_require(data, requires),
    has = function(feature) {
      api_current(data)
      feature %in% gptr_api()$features
    },
    guidance = function(line) api_register(data, api_guidance(data, line)),
    log = function(...) api_log(data, ...),
    config = function(name = NULL) NULL,
    fetch = function(url, max_chars = 20000) member_web_fetch(url, max_chars),
    api_kind(x, data, name)
  )
}

api_kind <- function(x, data, name) {
  members <- api_members()
  if (startsWith(name, "register_") && name %in% members) {
    kind <- substring(name, nchar("register_") + 1L)
    return(function(...) api_register(data, gptr_spec(kind, ...)))
  }
  gptr_abort("unknown_member", paste0("The API object has no member `", name, "`. It has: ",
    paste(members, collapse = ", "), "."), name = name, available = members)
}

api_hook <- function(event, handler, matcher) gptr_hook(event, handler, matcher)

# A second line is an error, even when the first was bad.
api_guidance <- function(data, line) {
  data$lines <- (data$lines %||% 0L) + 1L
  if (data$lines > 1L) {
    gptr_abort("invalid_spec", "An extension has one line of standing guidance: $guidance() was called twice.",
      kind = "guidance", name = data$origin$extension, field = "text", problem = "is given twice")
  }
  gptr_spec("guidance", data$origin$extension, text = line)
}

api_register <- function(data, spec) {
  if (!inherits(spec, "gptr_spec")) {
    gptr_abort("invalid_spec", "gptr$register() takes a spec, see gptr_tool() and gptr_spec().",
      kind = "?", name = "?", field = "spec", problem = "must be a spec")
  }
  if (isTRUE(the$checking) && !data$scratch) stale_in_check(data)
  place <- call_place() %||% data$origin$place
  row <- engine(.Call(wrap__ext_register, data$load, for_engine(spec), fake_state(spec), FALSE, place))
  if (!is.null(row$validator)) {
    spec <- complete_spec(spec)
    row <- engine(.Call(wrap__ext_register, data$load, for_engine(spec), fake_state(spec), TRUE, place))
  }
  spec <- add_generated(apply_patch(spec, row$patch), row$generate)
  if (is.null(row$id)) assign(row$token, spec, envir = data$staged) else data$specs[[row$id]] <- spec
  if (!row$consumed && !data$scratch) say_unconsumed(spec$kind)
  invisible(function() {
    gone <- engine(.Call(wrap__ext_unregister, data$load, row$token, row$id %||% staged_id(data, row$token)))
    forget(gone$released)
    invisible(TRUE)
  })
}

# A check leaves no trace: not through the API object of another, live extension either.
stale_in_check <- function(data) {
  gptr_abort("stale_api", paste0("gptr_check() is running: ", data$origin$extension, " registers nothing meanwhile."),
    plugin = data$origin$extension, generation = NULL)
}

staged_id <- function(data, token) {
  id <- get0(token, envir = data$staged, inherits = FALSE)
  if (is.character(id)) id else NULL
}

api_require <- function(data, requires) {
  api_current(data)
  engine(.Call(wrap__ext_require, data$load, requires))
  invisible(TRUE)
}

api_current <- function(data) engine(.Call(wrap__ext_current, data$load))

api_log <- function(data, ...) {
  if (data$scratch) return(invisible(NULL))
  text <- paste0(..., collapse = "")
  engine(.Call(wrap__registry_diagnose, data$origin$extension, "log", "log", enc2utf8(text)))
  invisible(NULL)
}

#' @export
`$<-.gptr_extension_api` <- function(x, name, value) {
  # `gptr$state$x <- v` assigns the identical environment back.
  if (identical(name, "state") && identical(value, api_data(x)$state)) return(x)
  readonly("gptr_extension_api", name)
}

#' @export
`[[<-.gptr_extension_api` <- function(x, i, value) readonly("gptr_extension_api", as.character(i))

#' @export
names.gptr_extension_api <- function(x) api_members()

#' @export
print.gptr_extension_api <- function(x, ...) {
  data <- api_data(x)
  members <- api_members()
  shown <- c(members[seq_len(6L)], "...", "on", "require", "has")
  cat("<gptr_extension_api 1.0> ", data$origin$extension, "\n", sep = "")
  cat("members: ", paste(shown, collapse = ", "), "\n", sep = "")
  invisible(x)
}
