# `peter$`: registered tools as R functions.

#' @export
`$.gptr_gateway` <- function(x, name) member_node(name)

#' @export
`[[.gptr_gateway` <- function(x, i, ...) member_node(i)

#' @export
`$<-.gptr_gateway` <- function(x, name, value) readonly_member(name)

#' @export
`[[<-.gptr_gateway` <- function(x, i, value) readonly_member(as.character(i))

readonly_member <- function(field) {
  gptr_abort("readonly", paste0(
    "`peter$", field, "` can't be set: register a tool with exposure \"r\" and a namespace instead."
  ), object = "peter", field = field)
}

#' @export
names.gptr_gateway <- function(x) member_names(NULL)

#' @export
`$.gptr_ns` <- function(x, name) member_node(c(unclass(x)$path, name))

#' @export
`[[.gptr_ns` <- function(x, i, ...) member_node(c(unclass(x)$path, i))

#' @export
`$<-.gptr_ns` <- function(x, name, value) readonly_member(paste(c(unclass(x)$path, name), collapse = "$"))

#' @export
`[[<-.gptr_ns` <- function(x, i, value) readonly_member(paste(c(unclass(x)$path, i), collapse = "$"))

#' @export
names.gptr_ns <- function(x) member_names(unclass(x)$path)

#' @importFrom utils .DollarNames
#' @method .DollarNames gptr_gateway
#' @export
.DollarNames.gptr_gateway <- function(x, pattern = "") complete_names(names(x), pattern)

#' @importFrom utils .DollarNames
#' @method .DollarNames gptr_ns
#' @export
.DollarNames.gptr_ns <- function(x, pattern = "") complete_names(names(x), pattern)

# A pattern that is no regular expression is the beginning of a name.
complete_names <- function(found, pattern) {
  as_prefix <- function(e) startsWith(found, sub("^\\^", "", pattern))
  found[suppressWarnings(tryCatch(grepl(pattern, found), error = as_prefix))]
}

#' @export
print.gptr_gateway <- function(x, ...) {
  cat("<peter gateway> peter(\"prompt\", objects..., model =, mode =) runs an agent in this session\n")
  cat("members: peter$<tab> (read, edit, write, grep, find, ls, ... when the tools are loaded)\n")
  invisible(x)
}

#' @export
print.gptr_ns <- function(x, ...) {
  path <- unclass(x)$path
  members <- names(x)
  cat("<peter namespace peter$", paste(path, collapse = "$"), ": ", length(members), " members>\n", sep = "")
  lines <- vapply(members, function(name) attr(member_node(c(path, name)), "signature"), "", USE.NAMES = FALSE)
  shown <- lines_in_budget(lines, print_budget())
  writeLines(lines[seq_len(shown)])
  if (shown < length(lines)) cat("(+ ", length(lines) - shown, " more: names(x))\n", sep = "")
  invisible(x)
}

# A member is a function, and nothing is below it.
#' @export
`$.gptr_member` <- function(x, name) member_node(c(strsplit(attr(x, "tool"), "/", fixed = TRUE)[[1L]], name))

#' @export
`[[.gptr_member` <- function(x, i, ...) member_node(c(strsplit(attr(x, "tool"), "/", fixed = TRUE)[[1L]], i))

#' @export
`$<-.gptr_member` <- function(x, name, value) readonly_member(paste(c(attr(x, "tool"), name), collapse = "$"))

#' @export
`[[<-.gptr_member` <- function(x, i, value) readonly_member(paste(c(attr(x, "tool"), i), collapse = "$"))

#' @export
print.gptr_member <- function(x, ...) {
  cat(attr(x, "signature"), "\n", sep = "")
  invisible(x)
}

member_names <- function(path) {
  ready()
  as.character(unlist(engine(.Call(wrap__member_names, path, frame_session_id()))))
}

# The session whose records the current code may see.
frame_session_id <- function() current_frame()$session

# A member function or a namespace.
member_node <- function(path) {
  if (!is.character(path) || anyNA(path)) {
    gptr_abort("invalid_argument", "A member of peter$ is named by a string.", arg = "name")
  }
  ready()
  nodes <- current_nodes()
  key <- paste(c(frame_session_id(), "", path), collapse = "\r")
  known <- nodes[[key]]
  if (!is.null(known)) return(known)
  node <- resolved_node(path)
  # Looking up may have loaded something, which makes what was known before old.
  assign(key, node, envir = current_nodes())
  node
}

resolved_node <- function(path) {
  found <- resolve_member(path)
  if (identical(found$type, "member")) return(member_function(path, found))
  node <- list(path = path, kind = "plugin")
  class(node) <- "gptr_ns"
  node
}

# What paths were found to name, until the registry changes.
current_nodes <- function() {
  stamp <- .Call(wrap__registry_stamp)
  if (!identical(the$nodes_stamp, stamp)) {
    the$nodes <- new.env(parent = emptyenv())
    the$nodes_stamp <- stamp
  }
  the$nodes
}

# The function of a member. Those of the process are made once a record, until forget() drops them.
member_function <- function(path, found) {
  if (!is.null(found$home)) return(make_member(path, found))
  known <- the$members[[found$record]]
  if (is.null(known)) {
    known <- make_member(path, found)
    assign(found$record, known, envir = the$members)
  }
  known
}

# An R function for a tool: it has the formals of the tool's function, and calls it directly at the console, through
# the whole pipeline of a tool call elsewhere.
make_member <- function(path, found) {
  found <- engine(.Call(wrap__member_describe, path, frame_session_id()))
  spec <- spec_home(found$home)[[found$record]]
  shape <- if (is.function(spec$fun)) formals(plain_function(spec$fun)) else schema_formals(found$formals)
  label <- paste(path, collapse = "$")
  member <- function() NULL
  formals(member) <- shape
  # The arguments may have any name: the body calls a function object, not one that is looked up from their frame.
  body(member) <- as.call(list(member_caller(path, label, shape)))
  environment(member) <- baseenv()
  structure(member, class = c("gptr_member", "function"), tool = found$key, spec = spec,
    signature = member_signature(label, shape, found))
}

plain_function <- function(fn) if (is.primitive(fn)) args(fn) else fn

schema_formals <- function(rows) {
  shape <- lapply(rows, function(row) if (isTRUE(row$required)) quote(expr = ) else NULL)
  names(shape) <- vapply(rows, function(row) row$name, "")
  as.pairlist(shape)
}

member_signature <- function(label, shape, found) {
  if (!is.null(found$signature)) return(found$signature)
  parts <- vapply(names(shape), function(name) {
    if (identical(shape[[name]], quote(expr = ))) return(name)
    paste(name, "=", paste(deparse(shape[[name]]), collapse = " "))
  }, "")
  sentence <- found$sentence
  paste0("peter$", label, "(", paste(parts, collapse = ", "), ")", if (nzchar(sentence)) paste0("  # ", sentence))
}

member_caller <- function(path, label, shape) {
  names <- as.character(setdiff(names(shape), "..."))
  has_dots <- "..." %in% names(shape)
  required <- names[vapply(shape[names], identical, NA, quote(expr = ))]
  member <- paste0("peter$", label)
  # `missing` as an object: an argument may have that name.
  are_missing <- as.call(c(list(c), lapply(names, function(name) as.call(list(missing, as.name(name))))))
  dots <- as.call(list(list, quote(...)))
  function() {
    frame <- parent.frame()
    given <- names[!as.logical(eval(are_missing, frame))]
    lacking <- required[is.na(match(required, given))]
    if (length(lacking)) abort_missing(member, lacking[[1L]])
    # NULL counts as given.
    args <- mget(given, envir = frame, inherits = FALSE)
    value <- call_member(path, if (has_dots) c(args, eval(dots, frame)) else args)
    if (identical(path, "write") || identical(path, "plot")) invisible(value) else value
  }
}

call_member <- function(path, args) {
  frame <- current_frame()
  if (is.null(frame)) return(call_member_directly(path, args))
  session <- live_session(frame$session)
  if (is.null(session) || is.null(frame$run)) return(call_member_directly(path, args))
  call_member_in_run(path, args, session, frame)
}

# What a path names; a member that is declared only is loaded first.
resolve_member <- function(path) {
  for (round in seq_len(lookup_rounds)) {
    found <- engine(.Call(wrap__member_resolve, path, frame_session_id()))
    if (!identical(found$type, "lazy")) return(found)
    if (!activate_load(found$load)$ran) break
  }
  found
}

# A person's own call: no hook, no policy, no question.
call_member_directly <- function(path, args) {
  found <- resolve_member(path)
  spec <- spec_home(found$home)[[found$record]]
  problems <- engine(.Call(wrap__member_check, found$record, for_engine(args)))
  if (length(problems)) {
    gptr_abort("tool", paste0("Invalid arguments for ", found$key, ": ", paste(problems, collapse = "; ")),
      tool = found$key, status = "invalid")
  }
  if (is.function(spec$fun)) return(do.call(spec$fun, args, quote = TRUE))
  execute_as_function(spec, args, found$key)
}

execute_as_function <- function(spec, args, key) {
  tool_result_value(key, as_tool_result(spec$execute(args[!vapply(args, is.null, NA)], new_ctx())))
}

# A call from a tool body, a hook or code that the model wrote: a task of its own, through hooks and policies.
call_member_in_run <- function(path, args, session, frame) {
  call_in_run(session, frame, args, function(ptr, id) {
    .Call(wrap__task_member, ptr, path, for_engine(args), id, frame$call, isTRUE(frame$model_code))
  })
}

# Drives the task of a nested call. Arguments and value stay in R under a number of their own.
call_in_run <- function(session, frame, args, task_of) {
  data <- session_data(session)
  id <- paste0("m", the$member_calls <- (the$member_calls %||% 0L) + 1L)
  data$member_args[[id]] <- args
  on.exit({
    data$member_args[[id]] <- NULL
    data$member_values[[id]] <- NULL
  })
  result <- drive(engine(task_of(data$ptr, id)))
  if (result$interrupted) resignal_interrupt()
  outcome <- engine(result$value)
  for (block in outcome$images) attach_image(block)
  kept <- data$member_values[[id]]
  if (is.null(kept)) outcome$text else kept$value
}

stored_args <- function(id) session_data(live_session(current_frame()$session))$member_args[[id]]

# The arguments of a nested call, with what hooks and policies made of them.
host_args <- function(step) {
  args <- stored_args(step$host_args)
  for (name in unlist(step$dropped)) args[[name]] <- NULL
  for (name in names(step$changed)) {
    args[name] <- list(as_argument(step$changed[[name]], args[[name]]))
  }
  args
}

# JSON has no vectors: a list of scalars that takes the place of one is one.
as_argument <- function(value, before) {
  scalar <- is.list(value) && is.null(names(value)) && length(value) &&
    all(lengths(value) == 1L) && all(vapply(value, is.atomic, NA))
  if (scalar && !is.list(before)) unlist(value) else value
}

# The input of a nested call as `execute` gets it; what the engine knows only a description of is the object itself.
host_input <- function(step) {
  input <- step$args[[1L]]
  for (name in names(input)) {
    if (is.list(input[[name]]) && identical(input[[name]][["$r"]], step$host_args)) {
      input[name] <- list(stored_args(step$host_args)[[name]])
    }
  }
  input
}

# Keeps a member's value in R; the engine gets a short description.
keep_member_value <- function(value, step) {
  data <- session_data(live_session(current_frame()$session))
  data$member_values[[step$host_args]] <- list(value = value)
  list(type = "value", value = list(summary = value_summary(value, current_frame()$tool)))
}

value_summary <- function(value, name) {
  if (is.null(value)) return("no value")
  if (is.data.frame(value)) return(paste0(name, ": ", nrow(value), " rows"))
  paste(class(value)[[1L]], "length", plain_length(value))
}

# ---- built-in members -----------------------------------------------------------------------------------------------

member_specs <- function() {
  member <- function(name, description, fun, parameters) {
    gptr_tool(name, description, parameters = parameters, fun = fun, exposure = "r", record = FALSE,
      annotations = list(read_only = TRUE))
  }
  schema <- function(required, ...) {
    list(type = "object", required = I(as.character(required)), properties = list(...))
  }
  text <- list(type = "string")
  whole <- list(type = "integer")
  list(
    member("help", "Show the help of a peter$ member or of an R function.", member_help,
      schema("name", name = text, package = text, budget = whole)),
    member("search", "Find members and deferred tools by words.", member_search,
      schema("words", words = text, limit = whole)),
    member("describe", "Describe an R object within a token budget.",
      function(x, budget = 150L) gptr_describe(x, budget),
      schema("x", x = structure(list(), names = character()), budget = whole)),
    member("plot", "Attach a plot of this session to the result of the running code.", member_plot,
      schema(NULL, which = whole, width = whole, height = whole)),
    member("out", "Read the full text of a result that was cut.", member_out,
      schema("id", id = text, stream = list(type = "string", enum = list("stdout", "stderr")),
        lines = list(type = "array", items = whole)))
  )
}

member_help <- function(name, package = NULL, budget = 800L) {
  check_string(name, "name")
  if (!is.null(package)) check_string(package, "package")
  check_count(budget, "budget", min = 20)
  lines <- if (is.null(package)) help_on_member(enc2utf8(name), budget)
  if (is.null(lines)) lines <- engine(.Call(wrap__cut_help, topic_help(name, package), budget))
  structure(as.character(unlist(lines)), class = c("gptr_text", "character"))
}

# NULL when there is no such member. The code of one that is only promised runs first.
help_on_member <- function(name, budget) {
  find_record("tool", name, frame_session_id())
  engine(.Call(wrap__member_help, name, budget, frame_session_id()))
}

# An R help page as lines of text.
topic_help <- function(topic, package) {
  where <- if (is.null(package)) utils::help((topic)) else utils::help((topic), (package))
  paths <- as.character(where)
  if (!length(paths)) {
    return(paste0("No help found for '", topic, "'", if (!is.null(package)) paste0(" in package '", package, "'"), "."))
  }
  owner <- basename(dirname(dirname(paths[[1L]])))
  page <- utils::capture.output(tools::Rd2txt(help_page(paths[[1L]], owner), options = list(underline_titles = FALSE)))
  more <- if (length(paths) > 1L) paste0(" (and ", length(paths) - 1L, " more of that name)")
  c(paste0("[help: ", owner, "::", basename(paths[[1L]]), "]", more), gsub("_\b", "", page))
}

help_page <- function(path, package) {
  tools::Rd_db(package)[[paste0(basename(path), ".Rd")]] %||% fetch_page(path)
}

fetch_page <- function(path) {
  db <- file.path(dirname(path), basename(dirname(dirname(path))))
  env <- new.env()
  lazyLoad(db, env, filter = function(n) n == basename(path))
  env[[basename(path)]]
}

member_search <- function(words, limit = 8L) {
  check_string(words, "words")
  check_count(limit, "limit", min = 1)
  rows <- engine(.Call(wrap__member_search, enc2utf8(words), limit, source_docs(), frame_session_id()))
  rows_frame(rows, list(name = "", kind = "", signature = "", score = 0))
}

# The documents of all search sources. One that fails is left out, with a diagnostic.
source_docs <- function() {
  session <- frame_session_id()
  for (load in engine(.Call(wrap__registry_pending, "search_source", session))) activate_load(load)
  docs <- lapply(engine(.Call(wrap__registry_preferred, "search_source", session)), function(place) {
    spec <- spec_home(place$home)[[place$id]]
    failed <- "left by a jump to the top level"
    found <- withRestarts(
      tryCatch(read_docs(spec$docs(new_ctx())), error = function(e) {
        failed <<- one_message(e)
        NULL
      }),
      abort = function(...) NULL
    )
    if (is.null(found)) {
      message <- paste0(spec$name, ": ", failed)
      engine(.Call(wrap__registry_diagnose, "builtin:tools", "search_source", "internal", message))
    }
    found
  })
  columns <- c(id = "id", kind = "kind", text = "text")
  lapply(columns, function(name) as.character(unlist(lapply(docs, `[[`, name))))
}

read_docs <- function(docs) {
  if (!is.data.frame(docs) || !all(c("id", "text", "kind") %in% names(docs))) {
    stop("docs() must return a data frame with the columns id, text and kind", call. = FALSE)
  }
  docs <- lapply(docs[c("id", "text", "kind")], function(column) enc2utf8(as.character(column)))
  texts <- unlist(docs)
  if (anyNA(texts) || !all(validUTF8(texts))) stop("docs() returned NA or text that is not valid", call. = FALSE)
  docs
}

member_out <- function(id, stream = c("stdout", "stderr"), lines = NULL) {
  check_string(id, "id")
  stream <- check_choice(stream, streams, "stream")
  if (!is.null(lines)) check_line_numbers(lines)
  kept <- stream_lines(id, stream, lines)
  if (!is.null(kept)) return(structure(kept, class = c("gptr_text", "character")))
  text <- engine(.Call(wrap__kept_output, id, frame_session_id()))
  if (is.null(text)) gptr_abort("invalid_argument", paste0("No output is kept under the id '", id, "'."), arg = "id")
  all <- strsplit(text, "\n", fixed = TRUE)[[1L]]
  if (!is.null(lines)) all <- all[lines[lines >= 1 & lines <= length(all)]]
  structure(all, class = c("gptr_text", "character"))
}

check_line_numbers <- function(lines) {
  check_that(is.numeric(lines) && !anyNA(lines), lines, "lines", "line numbers")
}
