# What tests of the registry need: records of any source, look-ups, and code that counts as the model's.

# A record of this source for the rest of the calling test; its id, invisibly.
local_record <- function(spec, source = "user", rank = source_ranks[[sub(":.*", "", source)]], session = NULL,
                         env = parent.frame()) {
  id <- add_record(spec, list(source = source, rank = rank, session = session))
  withr::defer(remove_record(id), envir = env)
  invisible(id)
}

source_ranks <- c(session = 0L, project = 1L, user = 3L, plugin = 5L, builtin = 6L)

a_command <- function(name, text = name) gptr_command(name, function(args, ctx) text, text)

# The description of the record that a look-up gives, or NULL.
winner_of <- function(name, kind = "command", session = NULL) {
  found <- find_record(kind, name, session)
  if (is.null(found)) NULL else the$specs[[found$id]]$description
}

# Rows of the listing with these names.
listed <- function(names, kind = NULL) {
  rows <- gptr_registry(kind)
  rows[rows$name %in% names, ]
}

# The diagnostics that `expr` writes.
logged <- function(expr) {
  before <- nrow(gptr_registry(diagnostics = TRUE))
  force(expr)
  rows <- gptr_registry(diagnostics = TRUE)
  rows[seq_len(nrow(rows)) > before, ]
}

# Evaluates `expr` in a frame: as code that the model wrote, or in the role of a handler.
in_frame <- function(expr, role = "tool", model_code = FALSE, session = NULL) {
  push_frame(list(role = role, model_code = model_code, session = session, owner = "test"))
  on.exit(pop_frame())
  expr
}

as_model_code <- function(expr) in_frame(expr, model_code = TRUE)

invalid_spec <- function(expr, field, problem = NULL) {
  cond <- tryCatch({
    expr
    NULL
  }, error = identity)
  expect_s3_class(cond, "gptr_error_invalid_spec")
  expect_identical(cond$field, field)
  if (!is.null(problem)) expect_match(cond$problem, problem, fixed = TRUE)
  invisible(cond)
}

# Loads a factory under this source; what it registered goes with the calling test.
local_load <- function(factory, source = "plugin:demo", rank = source_ranks[[sub(":.*", "", source)]], session = NULL,
                       env = parent.frame()) {
  origin <- list(source = source, rank = rank, extension = source, session = session)
  run <- load_factory(factory, origin, the$specs)
  if (!is.null(run$load)) withr::defer(engine(.Call(wrap__ext_rollback, run$load)), envir = env)
  run
}

# Extensions with placeholders for what they will bring.
local_lazy <- function(factory, provides, declarations = NULL, source = "plugin:demo", env = parent.frame()) {
  withr::defer(unload_source(source), envir = env)
  declare_extension(factory, list(source = source, rank = 5L, extension = source), the$specs, provides, declarations)
}

caught_error <- function(expr) {
  tryCatch({
    expr
    NULL
  }, error = identity)
}

# Removes all commands whose name begins so.
remove_commands <- function(prefix) {
  for (name in grep(paste0("^", prefix), gptr_registry("command")$name, value = TRUE)) {
    remove_record(find_record("command", name, NULL)$id)
  }
}

# Puts another function in the place of one of the package's, for the rest of the calling test.
local_function <- function(name, fn, env = parent.frame()) {
  namespace <- asNamespace("gptr")
  put <- function(value) {
    unlockBinding(name, namespace)
    assign(name, value, envir = namespace)
    lockBinding(name, namespace)
  }
  old <- get(name, envir = namespace)
  put(fn)
  withr::defer(put(old), envir = env)
}

# The table of kinds, a row a kind.
kind_table <- function() {
  rows_frame(kind_rows(), list(name = "", all = TRUE, experimental = TRUE, consumed = TRUE))
}
