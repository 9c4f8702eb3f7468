#' A tool
#'
#' A tool is something the model can use: directly, through a declaration with a schema, or as an R function that it
#' calls from the code it writes.
#'
#' A tool needs `fun`, an ordinary R function, or `execute`, which takes the whole input; the other one is generated
#' where it is needed. With `exposure = "direct"` and only `fun`, `execute` calls `fun` and hands over what `print()`
#' shows of the value. With `exposure = "r"` and only `execute`, `fun` has the properties of the schema as
#' arguments, required ones first.
#'
#' Bodies in R run one after another, whatever `execution` says. Of the package's own tools, neighbouring calls of
#' those that only read run at once.
#'
#' @param name String of letters, digits, `_` and `-`, 1 to 64 characters.
#' @param description String. What the tool does, for the model.
#' @param parameters The JSON Schema of the input, of type object: a list, a string of JSON, or a `function(ctx)`
#'   that is evaluated when a session starts. `NULL` (default): derived from the arguments of `fun`, all
#'   of them strings; without `fun`, an object without properties.
#' @param execute `function(input, ctx)` or `NULL` (default). `input` is a named list in which arrays are lists. It
#'   returns `NULL`, a character vector, a [gptr_tool_result()], or a list of its arguments. An error that it raises
#'   reaches the model as an error result with the condition's message.
#' @param fun Function or `NULL` (default). In a direct call, arrays of strings, numbers or booleans arrive as atomic
#'   vectors.
#' @param exposure String. `"direct"` (default): declared to the model; `"r"`: a member of `peter$`; `"deferred"`:
#'   found with `peter$search()`; `"hidden"`: neither.
#' @param namespace String or `NULL` (default). The tool is then `peter$<namespace>$<name>`.
#' @param execution String. `"sequential"` (default), or `"concurrent"` for a body that changes nothing.
#' @param risk `function(input, ctx)` that returns a whole number, 0 (read-only) to 4 (critical); or `NULL` (default):
#'   0 with the annotation `read_only`, else 2. It goes to the permission policies; when it fails, 3 does.
#' @param snippet String or `NULL` (default). One line for the list of tools in the prompt.
#' @param guidelines Character vector or `NULL` (default). Rules for the prompt, one an element.
#' @param signature String or `NULL` (default). Shown in place of the signature that the schema gives.
#' @param output_tokens Whole number of tokens, or `NULL` (default: option `gptr.r_output_tokens`, 4000). Longer
#'   results are cut; the whole can be read with `peter$out()`.
#' @param record `TRUE` (default) or `FALSE`. Whether nested calls are noted in the details of the call around them
#'   (`details$nested`).
#' @param available `function(ctx)` or `NULL` (default). When it returns `FALSE` as a session starts, a direct tool
#'   is not declared to it.
#' @param annotations Named list, empty by default: `read_only`, `destructive`, `idempotent`, `open_world`,
#'   `requires_user`.
#' @param timeout Number of seconds for the body, or `NULL` (default) for no limit.
#' @return A spec of class `c("gptr_tool", "gptr_spec")`.
#' @section Conditions:
#' `gptr_error_invalid_spec` (fields `kind`, `name`, `field`, `problem`) when an argument is missing or wrong, when
#' the schema is no valid JSON Schema, or when it doesn't fit the arguments of `fun`.
#' A generated `fun` raises `gptr_error_tool` (fields `tool`, `status`) when `execute` ends in an error result, and
#' `gptr_error_invalid_argument` (fields `arg`, `expected`) when a required argument is missing.
#' @seealso [gptr_register()], [gptr_check()], [gptr_tool_result()], [gptr_policy()].
#' @examples
#' gptr_tool(
#'   "add", "Add two numbers",
#'   parameters = list(
#'     type = "object", required = I(c("a", "b")),
#'     properties = list(a = list(type = "number"), b = list(type = "number"))
#'   ),
#'   fun = function(a, b) a + b,
#'   exposure = "r", namespace = "demo"
#' )
#' @export
gptr_tool <- function(name, description, parameters = NULL, execute = NULL, fun = NULL,
                      exposure = c("direct", "r", "deferred", "hidden"), namespace = NULL,
                      execution = c("sequential", "concurrent"), risk = NULL, snippet = NULL,
                      guidelines = NULL, signature = NULL, output_tokens = NULL, record = TRUE,
                      available = NULL, annotations = list(), timeout = NULL) {
  build_spec("tool", given(name), list(
    description = given(description), parameters = parameters, execute = execute, fun = fun,
    exposure = chosen(exposure), namespace = namespace, execution = chosen(execution), risk = risk,
    snippet = snippet, guidelines = guidelines, signature = signature, output_tokens = output_tokens,
    record = record, available = available, annotations = annotations, timeout = timeout
  ))
}

# The `execute` of a direct tool that has only `fun`.
execute_from_fun <- function(spec) {
  fun <- spec$fun
  schemas <- if (is.list(spec$parameters)) spec$parameters[["properties"]]
  function(input, ctx) run_fun(fun, input, schemas)
}

run_fun <- function(fun, input, schemas) {
  value <- do.call(fun, atomic_arrays(input, schemas), quote = TRUE)
  if (inherits(value, "gptr_tool_result")) {
    return(value)
  }
  text <- utils::capture.output(print(value))
  gptr_tool_result(if (length(text)) text else no_output, value = value)
}

# Arrays of scalars as an R user expects them: list(1, NULL) of numbers becomes c(1, NA).
atomic_arrays <- function(input, schemas) {
  for (name in intersect(names(input), names(schemas))) {
    mode <- item_mode(schemas[[name]])
    if (!is.null(mode) && is.list(input[[name]])) {
      input[[name]] <- atomic_vector(input[[name]], mode)
    }
  }
  input
}

json_scalars <- c(string = "character", number = "double", integer = "integer", boolean = "logical")

# The vector type for the items of an array schema, NULL when they are not all of one scalar type.
item_mode <- function(schema) {
  items <- if (is.list(schema)) schema[["items"]]
  if (!is.list(items)) return(NULL)
  types <- setdiff(unlist(items[["type"]]), "null")
  if (is.null(types)) types <- type_of_values(items[["enum"]])
  if (length(types) == 1L && types %in% names(json_scalars)) json_scalars[[types]] else NULL
}

# What the values of an `enum` have in common.
type_of_values <- function(values) {
  if (length(values) > 0L && all(vapply(values, function(v) is.character(v) && length(v) == 1L, NA))) "string"
}

atomic_vector <- function(items, mode) {
  if (any(lengths(items) > 1L)) {
    return(items)
  }
  items[lengths(items) == 0L] <- NA
  c(vector(mode, 0L), unlist(items, use.names = FALSE))
}

# The `fun` of an `r` tool that has only `execute`. Its arguments are the schema's properties, and these may have any
# name: the body therefore calls a function object, not one that is looked up from the frame of the arguments.
fun_from_execute <- function(spec, names, required) {
  call_execute <- member_call(spec, names, required)
  fun <- function() NULL
  formals(fun) <- generated_formals(names, required)
  body(fun) <- as.call(list(call_execute))
  environment(fun) <- baseenv()
  fun
}

generated_formals <- function(names, required) {
  formals <- stats::setNames(rep(list(NULL), length(names)), names)
  formals[required | names == "..."] <- list(quote(expr = ))
  as.pairlist(formals)
}

member_call <- function(spec, names, required) {
  member <- paste(c("peter", spec$namespace, spec$name), collapse = "$")
  name <- spec$name
  execute <- spec$execute
  required <- names[as.logical(required) & names != "..."]
  function() {
    frame <- parent.frame()
    check_arguments_given(member, frame, required)
    result <- as_tool_result(execute(arguments_in(frame, names), process_ctx()))
    tool_result_value(name, result)
  }
}

check_arguments_given <- function(member, frame, required) {
  for (name in required) {
    if (argument_missing(frame, name)) abort_missing(member, name)
  }
}

abort_missing <- function(member, name) {
  gptr_abort("invalid_argument", c(member, "(): argument `", name, "` is missing."), arg = name, expected = "a value")
}

# The arguments that were given, by name, without those that are NULL.
arguments_in <- function(frame, names) {
  here <- Filter(function(name) name != "..." && !argument_missing(frame, name), names)
  values <- stats::setNames(lapply(here, get, envir = frame, inherits = FALSE), here)
  dots <- if ("..." %in% names) eval(as.call(list(list, quote(...))), frame)
  values <- c(values, dots)
  values <- values[!vapply(values, is.null, NA)]
  if (length(values)) values else structure(list(), names = character())
}

# `missing` as an object: an argument may have that name.
argument_missing <- function(frame, name) {
  eval(as.call(list(missing, as.name(name))), frame)
}

# What R code gets of a result: the value, else the text; an error result is raised.
tool_result_value <- function(tool, result) {
  if (isTRUE(result$is_error)) {
    gptr_abort("tool", format(result), tool = tool, status = "error")
  }
  if (is.null(result$value)) format(result) else result$value
}
