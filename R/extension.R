# Extensions: factories of one argument, the API object. What a factory registers is staged in the engine and committed
# as a whole when it returned.

load_session_extension <- function(session, extension) {
  factory <- as_factory(extension)
  data <- session_data(session)
  data$extensions <- (data$extensions %||% 0L) + 1L
  name <- if (is.function(extension)) paste0("session:", data$extensions) else extension_name(extension)
  origin <- list(source = "session", rank = 0L, extension = name, session = data$id)
  failure <- load_factory(factory, origin, data$specs)
  if (is.null(failure)) return(invisible(NULL))
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

# Runs a factory as one transaction. NULL when everything was committed, else the condition that ended it; then nothing
# of it remains.
load_factory <- function(factory, origin, specs, registry = "live") {
  if (!is.function(factory)) return(simpleError("An extension must be a function of one argument, the API object."))
  load <- engine(.Call(wrap__ext_begin, origin, registry))
  staged <- new.env(parent = emptyenv())
  api <- new_extension_api(load, origin, staged, specs)
  finished <- FALSE
  on.exit(if (!finished) engine(.Call(wrap__ext_rollback, load)))
  frame <- list(role = "factory", owner = origin$extension, session = origin$session)
  reply <- call_factory(factory, api, frame)
  if (is.null(reply)) reply <- commit_load(load, staged, specs, origin)
  finished <- TRUE
  if (!is.null(reply)) engine(.Call(wrap__ext_rollback, load))
  if (inherits(reply, "interrupt")) resignal_interrupt()
  the$listing <- NULL
  reply
}

call_factory <- function(factory, api, frame) {
  the$frames <- c(the$frames, list(frame))
  on.exit(pop_frame())
  failure <- structure(class = c("gptr_error_extension", "gptr_error", "error", "condition"),
    list(message = "the factory jumped to the top level", call = NULL))
  withRestarts(
    tryCatch(
      {
        within_bound(getOption("gptr.load_timeout", 30), factory(api))
        failure <- NULL
      },
      error = function(e) failure <<- e,
      interrupt = function(e) failure <<- e
    ),
    abort = function(...) NULL
  )
  failure
}

commit_load <- function(load, staged, specs, origin) {
  answer <- .Call(wrap__ext_commit, load)
  if (inherits(answer, "gptr_engine_error")) return(engine_condition(answer))
  for (row in answer) {
    specs[[row$id]] <- staged[[row$token]]
    assign(row$token, row$id, envir = staged)
  }
  NULL
}

# The API object: an environment whose members are read with `$`.
new_extension_api <- function(load, origin, staged, specs, dir = NULL) {
  api <- new.env(parent = emptyenv())
  api$load <- load
  api$origin <- origin
  api$staged <- staged
  api$specs <- specs
  api$dir <- dir
  api$state <- new.env(parent = emptyenv())
  outer <- new.env(parent = emptyenv())
  assign(".data", api, envir = outer)
  class(outer) <- "gptr_extension_api"
  outer
}

api_data <- function(x) get(".data", envir = x, inherits = FALSE)

api_members <- function() {
  kinds <- sub("^kind[.]", "", grep("^kind[.]", gptr_api()$features, value = TRUE))
  c("name", "dir", "state", "register", paste0("register_", kinds), "on", "require", "has", "guidance", "log", "config")
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
  row <- engine(.Call(wrap__ext_register, data$load, for_engine(spec), fake_state(spec)))
  spec <- add_generated(apply_patch(spec, row$patch), row$generate)
  if (is.null(row$id)) assign(row$token, spec, envir = data$staged) else data$specs[[row$id]] <- spec
  the$listing <- NULL
  invisible(function() {
    gone <- engine(.Call(wrap__ext_unregister, data$load, row$token, row$id %||% staged_id(data, row$token)))
    forget(gone$released)
    the$listing <- NULL
    invisible(TRUE)
  })
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
