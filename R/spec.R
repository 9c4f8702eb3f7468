#' Write a spec of any kind
#'
#' A spec is what one writes; [gptr_register()] makes a record of it. The eleven constructors, from [gptr_tool()] to
#' [gptr_backend()], write the common kinds; this function writes all of them, also kinds that a plugin defined.
#'
#' Unknown fields are kept. A field that is `NULL` counts as left out, so that its default is filled in.
#'
#' @param kind String. The name of a registered kind, such as `"env_alias"`; `gptr_api()$features` lists them.
#' @param name String, not empty. The name that the record will have.
#' @param ... The fields, each with a name of its own; [gptr_kinds] has the fields of every kind.
#' @return A list of class `c("gptr_<kind>", "gptr_spec")` with the fields `kind` and `name`, then those given, then
#'   the defaults, and `api_version` last. It prints its fields; the body of a function and the value of a header
#'   are never shown.
#' @section Conditions:
#' * `gptr_error_invalid_argument` (fields `arg`, `expected`): `kind` is no single string.
#' * `gptr_error_unknown_kind`, also `gptr_error_invalid_spec`: no such kind is registered.
#' * `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`): a field is missing or wrong.
#' @seealso [gptr_kinds], [gptr_register()].
#' @examples
#' gptr_spec("env_alias", "SLACK_BOT_TOKEN", aliases = "slack-token")
#' @export
gptr_spec <- function(kind, name, ...) {
  check_string(if (missing(kind)) NULL else kind, "kind")
  build_spec(kind, if (missing(name)) NULL else name, list(...))
}

# What every constructor ends with.
build_spec <- function(kind, name, fields) {
  fields <- fields[!vapply(fields, is.null, NA)]
  spec <- c(list(kind = kind, name = name), fields)
  complete_spec(structure(spec, class = c(paste0("gptr_", kind), "gptr_spec")))
}

# Validates a spec and fills in what its kind adds: defaults, coerced values, generated functions.
complete_spec <- function(spec) {
  answer <- engine(.Call(wrap__spec_validate, for_engine(spec), staging_load()))
  spec <- apply_patch(spec, answer$patch)
  spec <- add_generated(spec, answer$generate)
  if (!is.null(answer$validator)) spec <- validated_by_kind(spec, answer$validator)
  last <- names(spec) == "api_version"
  structure(c(unclass(spec)[!last], unclass(spec)[last]), class = class(spec))
}

apply_patch <- function(spec, patch) {
  if (length(patch) == 0L) return(spec)
  for (i in seq_along(patch)) {
    spec[[names(patch)[[i]]]] <- patch[[i]]
  }
  spec
}

# The functions that a kind writes for its author, when the engine says that one is missing.
add_generated <- function(spec, generate) {
  switch(
    if (is.null(generate)) "nothing" else generate$type,
    nothing = spec,
    execute = add_field(spec, "execute", execute_from_fun(spec)),
    fun = add_field(spec, "fun", fun_from_execute(spec, unlist(generate$formals), unlist(generate$required))),
    ui = add_ui_methods(spec, unlist(generate$methods)),
    gptr_abort("internal", "Nothing can be generated for this spec.", detail = generate$type)
  )
}

add_field <- function(spec, field, value) {
  spec[[field]] <- value
  spec
}

add_ui_methods <- function(spec, methods) {
  for (method in methods) {
    spec[[method]] <- ui_method(method, spec)
  }
  spec
}

# A way to ask that is not there answers as a person who says nothing.
ui_method <- function(method, spec) {
  switch(
    method,
    input = function(prompt) NA_character_,
    questions = function(questions) list(answers = structure(list(), names = character()), cancelled = TRUE),
    notify = function(text) invisible(NULL),
    permission = permission_from_select(spec$select),
    gptr_abort("internal", "Nothing can be generated for this spec.", detail = method)
  )
}

# Only a clear yes allows: the number 1, alone.
permission_from_select <- function(select) {
  force(select)
  function(request) {
    title <- paste0("Allow ", request$tool, "? ", paste(request$summary, collapse = "\n"))
    answer <- tryCatch(select(title, c("Yes", "No")), error = function(e) NULL)
    allowed <- is_finite_number(answer) && is.null(dim(answer)) && answer == 1
    list(decision = if (allowed) "allow" else "deny", remember = NULL, feedback = NULL)
  }
}

# The value of a choice argument: the first of its formal's default when that was left as it stands. Anything else
# goes to the kind's validator, which knows what is wrong with it.
chosen <- function(x) {
  frame <- sys.parent()
  choices <- eval(formals(sys.function(frame))[[as.character(substitute(x))]])
  if (identical(x, choices)) choices[[1L]] else x
}

# The argument `x` of the calling function, NULL when it was left out.
given <- function(x) {
  if (eval.parent(substitute(missing(x)))) NULL else x
}

#' @export
format.gptr_spec <- function(x, ...) {
  fields <- unclass(x)
  shown <- !(names(fields) %in% c("kind", "name")) & !vapply(fields, is.null, NA)
  labels <- vapply(which(shown), function(i) field_label(names(fields)[[i]], fields[[i]]), "")
  c(spec_header(fields), if (any(shown)) paste0("  ", names(fields)[shown], ": ", labels))
}

#' @export
print.gptr_spec <- function(x, ...) {
  cat(format(x, ...), sep = "\n")
  invisible(x)
}

spec_header <- function(fields) {
  word <- function(x) if (is.character(x) && length(x) == 1L && !is.na(x)) flattened(x) else "?"
  paste0("<gptr_", word(fields[["kind"]]), " ", word(fields[["name"]]), ">")
}

# Fields that may hold secrets, also in a spec that was altered after it was built.
secret_fields <- c("headers", "env", "oauth", "set")

# `auth` names environment variables; a value that is no such name may be the key itself.
variable_name <- "^[A-Z_][A-Z0-9_]*$"

field_label <- function(field, value) {
  if (is.atomic(value) && field %in% secret_fields) {
    return(paste0("<list of ", length(value), ">"))
  }
  if (is.character(value) && field == "auth") {
    value[!grepl(variable_name, value)] <- "<hidden>"
  }
  value_label(value)
}

value_label <- function(value) {
  if (is.function(value)) {
    "<fn>"
  } else if (is.environment(value)) {
    "<env>"
  } else if (is.data.frame(value)) {
    paste0("<data.frame ", nrow(value), " x ", ncol(value), ">")
  } else if (is.symbol(value)) {
    as.character(value)
  } else if (is.call(value)) {
    "<call>"
  } else if (is.list(value)) {
    paste0("<list of ", length(value), ">")
  } else if (is.atomic(value)) {
    atomic_label(value)
  } else {
    paste0("<", class(value)[[1L]], ">")
  }
}

# atomic_label(1:7): "1, 2, 3, 4, 5, ..."
atomic_label <- function(value) {
  first <- utils::head(value, 5L)
  first <- if (is.double(first) && !is.object(first)) plain_number(first) else flattened(as.character(first))
  long <- !is.na(first) & nchar(first) > 60L
  first[long] <- paste0(substr(first[long], 1L, 57L), "...")
  paste(c(first, if (length(value) > 5L) "..."), collapse = ", ")
}

# plain_number(2e5): "200000"
plain_number <- function(x) {
  vapply(x, format, "", digits = 15L, scientific = 10L, USE.NAMES = FALSE)
}

flattened <- function(x) {
  gsub("[\r\n\t]+", " ", x)
}
