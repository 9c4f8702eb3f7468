# Bare names in the code of a package. `peter(model = opus)` is for people at the console: in a package the name `opus`
# may turn out to be anything.

# The arguments that take a name as it is written.
bare_arguments <- c("model", "mode", "preset", "skills", "agents", "tools", "plugins", "extensions", "backend")

# Those that are kept unevaluated, so that no variable helps.
quoted_arguments <- list(gptr_agent = c("model", "skills"))

checked_functions <- c("peter", "gptr_agent", "gptr_parallel")

# Findings "<function>: <argument> = <symbol>" in all functions of a namespace.
bare_identifiers <- function(namespace) {
  names <- sort(ls(namespace, all.names = TRUE, sorted = FALSE), method = "radix")
  found <- lapply(names, function(name) {
    # A promise of lazy data that fails is no function.
    value <- tryCatch(get(name, envir = namespace, inherits = FALSE), error = function(e) NULL)
    if (!is.function(value) || is.primitive(value)) return(character())
    symbols <- bare_in_function(names(formals(value)), body(value), is_bound_in(namespace))
    if (length(symbols)) paste0(name, ": ", symbols)
  })
  unique(as.character(unlist(found)))
}

# TRUE for what the code of a package finds without the user's workspace: its own objects, imports, base.
is_bound_in <- function(namespace) {
  scopes <- list(namespace, parent.env(namespace), baseenv())
  function(name) any(vapply(scopes, function(scope) exists(name, envir = scope, inherits = FALSE), NA))
}

# `bound` tells which names mean something where the function is defined.
bare_in_function <- function(formals, body, bound) {
  local <- c(formals, names_assigned_in(body))
  bare_in_code(body, function(name) name %in% local || bound(name))
}

bare_in_code <- function(code, bound) {
  if (is.call(code) && identical(code[[1L]], quote(`function`))) {
    return(c(bare_in_parts(code[[2L]], bound), bare_in_function(names(code[[2L]]), code[[3L]], bound)))
  }
  if (is.call(code)) return(c(bare_in_call(code, bound), bare_in_parts(code, bound)))
  if (is.pairlist(code) || is.expression(code)) return(bare_in_parts(code, bound))
  character()
}

bare_in_parts <- function(code, bound) {
  parts <- as.list(code)
  unlist(lapply(parts[!vapply(parts, is_empty_argument, NA)], bare_in_code, bound = bound))
}

bare_in_call <- function(call, bound) {
  name <- called_name(call)
  if (is.null(name)) return(NULL)
  args <- matched_arguments(call, name)
  args <- args[names(args) %in% bare_arguments & vapply(args, is.symbol, NA) & !vapply(args, is_empty_argument, NA)]
  symbols <- vapply(args, as.character, "")
  loose <- names(args) %in% quoted_arguments[[name]] | !vapply(symbols, bound, NA)
  if (any(loose)) paste(names(args)[loose], "=", symbols[loose])
}

# "peter" for peter() and gptr::peter(); NULL for other calls.
called_name <- function(call) {
  head <- call[[1L]]
  if (is.call(head) && length(head) == 3L && as.character(head[[1L]])[[1L]] %in% c("::", ":::")) {
    if (identical(as.character(head[[2L]]), "gptr")) head <- head[[3L]]
  }
  name <- if (is.symbol(head)) as.character(head) else ""
  if (name %in% checked_functions) name
}

# Arguments by name, also those that a call gives by position.
matched_arguments <- function(call, name) {
  definition <- get0(name, envir = topenv(), mode = "function", inherits = FALSE)
  matched <- if (is.function(definition)) {
    tryCatch(match.call(definition, call), error = function(e) call)
  } else {
    call
  }
  args <- as.list(matched)[-1L]
  args[nzchar(names(args) %||% character(length(args)))]
}

# Names that code assigns in its own scope: functions within it have theirs.
names_assigned_in <- function(code) {
  if (is_empty_argument(code) || !is.call(code)) return(character())
  head <- code[[1L]]
  if (identical(head, quote(`function`))) return(character())
  target <- if (is.symbol(head) && as.character(head) %in% c("<-", "=", "<<-", "for") && length(code) > 1L) code[[2L]]
  own <- if (is.symbol(target) || is.character(target)) as.character(target)
  if (identical(head, quote(assign)) && length(code) > 1L && is.character(code[[2L]])) own <- code[[2L]]
  c(own, unlist(lapply(as.list(code), function(part) if (is_empty_argument(part)) NULL else names_assigned_in(part))))
}

is_empty_argument <- function(x) missing(x) || identical(x, quote(expr = ))
