# Code that would end, pause or hang the user's session is not run at all.

guarded <- list(
  base = c("q", "quit", "browser", "debug", "debugonce", "undebug", "readline", "file.choose",
    "setTimeLimit", "setSessionTimeLimit", "closeAllConnections", ".Internal", ".Primitive"),
  utils = c("recover", "menu", "select.list", "askYesNo", "fix", "edit", "de",
    "data.entry", "dataentry"),
  graphics = c("locator", "identify"))
guarded_names <- unlist(guarded, use.names = FALSE)

# Functions that call what they are given, by value or by name, or pass it on. c() and list() are
# left out: with a data mask, `c(q, x)` selects columns.
callers <- c("do.call", "lapply", "sapply", "vapply", "mapply", "Map", "Filter", "Reduce", "Find",
  "Position", "rapply", "eapply", "tapply", "apply", "outer", "Vectorize", "match.fun", "get",
  "get0", "mget", "dynGet", "getExportedValue", "getFromNamespace", "getAnywhere", "Recall",
  "tryCatch", "withCallingHandlers", "on.exit", "identity", "invisible", "return", "(",
  "<-", "=", "<<-", "assign", "delayedAssign", "call", "as.call", "reg.finalizer",
  "addTaskCallback", "setHook", "future", "later", "trace")

# Callers that take a function by its name in a string.
by_name <- c("do.call", "lapply", "sapply", "vapply", "mapply", "Map", "Filter", "Reduce", "Find",
  "Position", "rapply", "eapply", "tapply", "apply", "outer", "match.fun", "get", "get0", "mget",
  "dynGet", "getExportedValue", "getFromNamespace", "call")

# The text that refuses `code`, or NULL when it may run (or can't: no valid text, no R).
guard_code <- function(code, envir) {
  code <- clean_code(code)
  if (!validUTF8(code)) return(NULL)
  secret <- guard_secret(code)
  if (!is.null(secret)) return(secret)
  exprs <- parse_code(code)
  if (inherits(exprs, "error")) return(NULL)
  found <- find_guarded(exprs, envir)
  if (is.null(found)) return(NULL)
  paste0("The code was not run: ", found, " would end, pause or hang the user's session. ",
    "To ask the user something, use the ask_user tool.")
}

# The names of secrets reach the model as markers; the values never do.
guard_secret <- function(code) {
  if (!grepl("[secret:", code, fixed = TRUE)) return(NULL)
  name <- sub("^.*?\\[secret:([A-Za-z0-9_.-]+).*$", "\\1", gsub("\n", " ", code), perl = TRUE)
  if (nchar(name) > 64L || !grepl("^[A-Za-z0-9_.-]+$", name)) name <- "NAME"
  paste0("The code was not run: it holds the marker of a secret, not its value. ",
    "Read the value with Sys.getenv(\"", name, "\").")
}

find_guarded <- function(exprs, envir) {
  own <- list(functions = character(), variables = character())
  for (expr in as.list(exprs)) {
    calls <- all_calls(expr)
    own <- names_defined(calls, own)
    is_guarded <- function(name, called) {
      known <- if (called) own$functions else own$variables
      name %in% guarded_names && !name %in% known && resolves_to_guarded(name, envir, called)
    }
    for (node in calls) {
      found <- guarded_in_call(node, is_guarded)
      if (!is.null(found)) return(found)
    }
  }
  NULL
}

# Every call inside `expr`, outer ones first; by generations and not by recursion, for how deep
# and how wide code is nested is up to its writer.
all_calls <- function(expr) {
  generation <- Filter(is.call, list(expr))
  generations <- list()
  while (length(generation) > 0L) {
    generations[[length(generations) + 1L]] <- generation
    generation <- unlist(lapply(generation, inner_calls), recursive = FALSE)
  }
  unlist(generations, recursive = FALSE)
}

inner_calls <- function(node) {
  parts <- as.list(node)
  if (identical(parts[[1L]], quote(`function`))) parts <- c(as.list(parts[[2L]]), parts[3L])
  Filter(is.call, parts)
}

guarded_in_call <- function(node, is_guarded) {
  head <- node[[1L]]
  if (is_namespace_access(node)) return(guarded_value_access(node))
  if (is_namespace_access(head)) {
    name <- as.character(head[[3L]])
    if (in_guarded_package(head)) return(shown_call(head))
  } else if (is.symbol(head)) {
    name <- as.character(head)
    if (is_guarded(name, called = TRUE)) return(shown_call(head))
  } else {
    return(NULL)
  }
  if (reads_stdin(name, node)) return(paste0("`", deparse(node, nlines = 1L)[1L], "`"))
  if (name %in% callers) guarded_argument(node, name, is_guarded) else NULL
}

is_namespace_access <- function(node) {
  is.call(node) && length(node) == 3L &&
    (identical(node[[1L]], quote(`::`)) || identical(node[[1L]], quote(`:::`)))
}

in_guarded_package <- function(access) {
  as.character(access[[3L]]) %in% guarded[[as.character(access[[2L]])]]
}

# `base::q` as a value ends the session as soon as anybody calls it.
guarded_value_access <- function(node) {
  if (as.character(node[[2L]]) == "base" && as.character(node[[3L]]) %in% c("q", "quit")) {
    paste0("`", deparse(node)[1L], "`")
  }
}

guarded_argument <- function(node, caller, is_guarded) {
  arguments <- as.list(node)[-1L]
  if (caller %in% c("<-", "=", "<<-")) arguments <- arguments[-1L]
  calls_it <- caller %in% by_name
  for (i in seq_along(arguments)) {
    if (calls_it && is_namespace_access(arguments[[i]]) && in_guarded_package(arguments[[i]])) {
      return(paste0("`", deparse(arguments[[i]])[1L], "` in ", caller, "()"))
    }
    name <- argument_name(arguments[[i]], strings = calls_it)
    if (!nzchar(name) || !is_guarded(name, called = FALSE)) next
    if (calls_it || name %in% c("q", "quit")) return(paste0("`", name, "` in ", caller, "()"))
  }
  NULL
}

# "" for anything but a symbol, or a string where it may stand for one.
argument_name <- function(argument, strings) {
  if (is.symbol(argument)) return(as.character(argument))
  if (strings && is.character(argument) && length(argument) == 1L && !is.na(argument)) argument
  else ""
}

shown_call <- function(head) paste0("`", deparse(head)[1L], "()`")

reads_stdin <- function(name, node) {
  if (name == "stdin") return(length(node) == 1L)
  formals <- switch(name, readLines = base::readLines, scan = base::scan, file = base::file, NULL)
  if (is.null(formals)) return(FALSE)
  given <- as.list(node)[-1L]
  if (any(vapply(given, identical, NA, quote(...)))) return(FALSE)
  given <- tryCatch(as.list(match.call(formals, node))[-1L], error = function(e) NULL)
  if (is.null(given)) return(FALSE)
  switch(name,
    readLines = is.null(given$con) || identical(given$con, "stdin"),
    scan = is.null(given$text) &&
      (is.null(given$file) || given$file %in% list("", "stdin")),
    file = identical(given$description, "stdin"))
}

# Adds what these calls give a meaning: any assigned name, parameter or loop variable hides a
# value of that name; only a function hides a function, in R's look-up of calls.
names_defined <- function(calls, own) {
  for (node in calls) {
    head <- node[[1L]]
    if (!is.symbol(head) || length(node) < 3L) next
    head <- as.character(head)
    if (head == "function") own$variables <- c(own$variables, names(node[[2L]]))
    if (!head %in% c("<-", "=", "<<-", "for")) next
    target <- argument_name(node[[2L]], strings = TRUE)
    own$variables <- c(own$variables, target)
    value <- node[[3L]]
    if (is.call(value) && identical(value[[1L]], quote(`function`))) {
      own$functions <- c(own$functions, target)
    }
  }
  own
}

# A user's own function, or a variable, of that name is free.
resolves_to_guarded <- function(name, envir, called) {
  found <- tryCatch(get0(name, envir, mode = if (called) "function" else "any"),
    error = function(e) NULL)
  if (is.null(found)) return(FALSE)
  for (package in names(guarded)) {
    if (!name %in% guarded[[package]]) next
    if (identical(found, get0(name, asNamespace(package), inherits = FALSE))) return(TRUE)
  }
  FALSE
}
