# The tools for files. Their bodies are native; here are their specs and their R functions.

file_tool_specs <- function() list(ls_tool())

schema_of <- function(required, ...) {
  list(type = "object", required = I(required), properties = list(...))
}

text_property <- function(description) list(type = "string", description = description)

count_property <- function(description) list(type = "integer", minimum = 1, description = description)

ls_tool <- function() {
  gptr_tool("ls", "List a directory: dot files too, directories with a slash.",
    parameters = list(type = "object", properties = list(
      path = text_property("The directory; default: the working directory."),
      limit = count_property("At most so many entries; default 500.")
    )),
    execute = native_handler("ls"), fun = member_ls, exposure = "r", execution = "concurrent",
    output_tokens = file_tokens, annotations = list(read_only = TRUE, idempotent = TRUE)
  )
}

# The bodies keep to their own limits, of bytes and lines.
file_tokens <- 30000L

member_ls <- function(path = ".", sort = c("name", "mtime", "size"), long = FALSE, ...) {
  check_string(path, "path")
  sort <- check_choice(sort, c("name", "mtime", "size"), "sort")
  check_flag(long, "long")
  dots <- member_dots("ls", list(...), "limit")
  found <- native_value("ls", list(path = enc2utf8(path), sort = sort, limit = check_limit(dots$limit)))
  files_frame(found, long = long)
}

# The arguments in the dots of a member, of which `known` are taken.
member_dots <- function(member, dots, known) {
  names <- names(dots) %||% character(length(dots))
  unknown <- ifelse(nzchar(names), names, "(without a name)")[!names %in% known]
  if (length(unknown)) {
    gptr_abort("invalid_argument", c("peter$", member, "(): unused argument(s): ", paste(unknown, collapse = ", ")),
      arg = "...")
  }
  dots
}

# A number of rows or lines: NULL and Inf mean all.
check_limit <- function(limit, arg = "limit") {
  if (is.null(limit) || (is.numeric(limit) && length(limit) == 1L && identical(as.double(limit), Inf))) return(NULL)
  check_count(limit, arg, min = 1)
}

files_frame <- function(found, ...) {
  columns <- found$columns
  columns$mtime <- .POSIXct(columns$mtime)
  structure(columns, row.names = .set_row_names(length(columns$path)), class = c("gptr_files", "data.frame"),
    path = found$path, truncated = isTRUE(found$truncated), limit = found$limit, ...)
}
