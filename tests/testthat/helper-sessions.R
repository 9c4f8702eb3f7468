# What most tests of sessions need: scripted models, a run with quiet defaults, and ways to look at what the model saw.

fake <- function(...) gptr_fake_provider(list(...))

# A reply that calls the tool `r`.
r_call <- function(code, id = NULL) {
  reply <- list(tool = "r", input = list(code = code))
  if (!is.null(id)) reply$id <- id
  reply
}

# Runs a session of its own, in a fresh environment, where everything is allowed.
run <- function(model, ..., prompt = "go", mode = "auto", envir = new.env(parent = globalenv())) {
  peter(prompt = prompt, model = model, mode = mode, envir = envir, ...)
}

caught <- function(expr) tryCatch(expr, condition = identity)

# Registers for the rest of the calling test.
registered <- function(spec, env = parent.frame()) {
  off <- gptr_register(spec)
  withr::defer(off(), envir = env)
  invisible(off)
}

# A direct tool without arguments.
plain_tool <- function(name, body, ...) {
  gptr_tool(name, paste("The tool", name), parameters = list(type = "object"), execute = body, ...)
}

call_of <- function(name, input = list(), id = NULL) {
  reply <- list(tool = name, input = input)
  if (!is.null(id)) reply$id <- id
  reply
}

results_of <- function(session) Filter(function(m) identical(m$role, "tool_result"), session$messages)

result_text <- function(session, i = 1L) {
  blocks <- results_of(session)[[i]]$content
  paste(vapply(blocks, function(b) if (identical(b$type, "text")) b$text else paste0("[", b$type, "]"), ""), collapse = "\n")
}

result_failed <- function(session, i = 1L) isTRUE(results_of(session)[[i]]$is_error)

roles_of <- function(session) vapply(session$messages, function(m) m$role, "")

# Every call of the assistant has its result, and no frame is left behind.
expect_balanced <- function(session) {
  blocks <- unlist(lapply(session$messages, function(m) if (identical(m$role, "assistant")) m$content), recursive = FALSE)
  asked <- unlist(lapply(blocks, function(b) if (identical(b$type, "tool_call")) b$id))
  answered <- vapply(results_of(session), function(m) m$tool_call_id, "")
  expect_setequal(answered, as.character(asked))
  expect_identical(anyDuplicated(answered), 0L)
  expect_length(the$frames, 0L)
}

# The session takes another turn: its status is idle and it has an answer.
expect_goes_on <- function(session, text = NULL) {
  session <- peter(session, prompt = "and again", mode = "auto")
  expect_identical(session$status, "idle")
  if (!is.null(text)) expect_identical(session$text, text)
  expect_length(the$frames, 0L)
  invisible(session)
}

# As run(), for code that the guards would ask a person about: only what the package itself refuses is refused.
run_unguarded <- function(...) {
  withr::local_options(gptr.unsafe_no_permissions = TRUE)
  run(...)
}

texts_of <- function(message) {
  paste(vapply(message$content, function(b) if (is.null(b$text)) "" else b$text, ""), collapse = "\n")
}

# The text of the user's last message in request i, context blocks and all.
asked <- function(model, i = 1L) {
  messages <- model$log$requests[[i]]$messages
  users <- Filter(function(m) identical(m$role, "user"), messages)
  texts_of(users[[length(users)]])
}

last_words <- function(model, i = 1L) model$log$requests[[i]]$last_user

# Runs R code in a process of its own that sees the package, and returns list(status, out, err). `env` is a named
# character vector of environment variables.
in_own_process <- function(code, env = character(), timeout = 120, libs = character()) {
  testthat::skip_if_not_installed("processx")
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(code, file)
  done <- processx::run(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), error_on_status = FALSE, timeout = timeout,
    env = c("current", R_LIBS = paste(c(libs, .libPaths()), collapse = .Platform$path.sep), TESTTHAT = "", env))
  list(status = done$status, out = strsplit(done$stdout, "\n", fixed = TRUE)[[1]], err = done$stderr)
}

diagnostics_since <- function(n) {
  log <- gptr_registry(diagnostics = TRUE)
  if (nrow(log) > n) log[seq(n + 1L, nrow(log)), ] else log[0, ]
}
