# The tools for files. Their bodies are native; here are their specs, their R functions, and the classes of what those
# return.

#' Files: the members `read`, `write`, `edit`, `grep`, `find` and `ls`
#'
#' Six tools for files. The model calls `read`, `write` and `edit` directly; code that it writes, and you, call all of
#' them as functions of `peter$`. They run in the engine, beside R: several cores search, and Ctrl-C ends them at once.
#'
#' ```r
#' peter$read(path, offset = NULL, limit = NULL)
#' peter$write(path, content)
#' peter$edit(path, edits, replace_all = FALSE)
#' peter$grep(pattern, path = ".", glob = NULL, ignore_case = FALSE, fixed = FALSE, context = 0L, limit = 100L,
#'            output = c("content", "files", "count"), sort = c("path", "count", "mtime"), ...)
#' peter$find(pattern, path = ".", sort = c("path", "mtime", "size", "relevance"), type = "file", limit = 1000L)
#' peter$ls(path = ".", sort = c("name", "mtime", "size"), long = FALSE, ...)
#' ```
#'
#' Relative paths start at the working directory, `~` is the home directory. Links are followed by `read`, `write` and
#' `edit`, not by `grep` and `find`.
#'
#' At the console a call runs directly. In code of the model it passes the hooks and policies of a tool call: reading is
#' level 0 inside the project (the nearest directory upwards with `.git`, `DESCRIPTION`, `.gptr`, an `.Rproj` file or
#' `_quarto.yml`; else the working directory) and in [tempdir()], 1 elsewhere, 2 for files that hold secrets, such as
#' `.env`. Writing is level 2 inside, 3 elsewhere and for files that hold secrets or instructions, 4 for settings and
#' extensions of gptr, `.Rprofile`, and what git runs by itself.
#'
#' @section read:
#' The lines of a text file: a character vector of class `gptr_lines`, with the attributes `path`, `offset`, `limit`,
#' `total` (lines of the file), `truncated` and `encoding`. Without `limit` at most 2000 lines and 50 KB; with one, that
#' many lines (`Inf`: all). `offset` is the first line, from 1. The encoding is that of a byte order mark, else UTF-8,
#' else CP1252 where that fits better; any end of line will do. A binary file or an image gives a note of class
#' `gptr_text`; a model gets the image.
#'
#' @section write:
#' Writes `content`, a string, or a character vector whose elements become lines. Missing folders are made. The file is
#' replaced in one step: whoever reads it meanwhile sees the old or the new one, whole. Its mode is kept. Returns the
#' absolute path, invisibly.
#'
#' @section edit:
#' `edits` is a list of lists with the strings `oldText` and `newText` (also `old_text`, `new_text`), or one such list.
#' Each `oldText` must stand in the file exactly once, unless `replace_all` is `TRUE` (for one edit: `replaceAll`). All
#' are matched against the file as it is, and all are applied or none. Line ends, byte order mark and encoding stay.
#' Only an `oldText` that is found nowhere is looked for once more with curly quotes, dashes, blanks and compatible
#' characters taken for plain ones. The value, of class `gptr_patch`, is a list of `path`, `message`, `diff`, `n_edits`
#' (places that were replaced) and `fuzzy`.
#'
#' @section grep:
#' Lines that match `pattern`, a regular expression without look-around and back-references, so that no pattern takes
#' more than linear time. `path` is a directory or a file, `glob` restricts the files (`"*.R"`; `"!*.log"` for all
#' others). `.gitignore` files count, hidden files are searched; left out are `.git`, binary files, files over 20 MB,
#' and, but for you at the console, files that hold secrets. The value depends on `output`: `"content"` gives a data
#' frame of class `gptr_matches` (`file`, `line`, `text`; printed with `context` lines around), `"files"` a
#' `gptr_files`, `"count"` a data frame (`file`, `n`), the latter two in the order of `sort`. When there are more than
#' `limit` rows (`Inf`: all), the attribute `truncated` is `TRUE`. `ignoreCase` and `literal` are other names of
#' `ignore_case` and `fixed`.
#'
#' @section find:
#' Files by name: `pattern` is a glob for the base name, or, with a slash in it, for the path (`"R/**/*.R"`). Without a
#' capital letter it ignores case. `type` is `"file"`, `"dir"`, `"link"` or `"any"`. With `sort = "relevance"` a pattern
#' that is no glob is a name, or letters of one, and the best hits come first. The value, of class `gptr_files`, is a
#' data frame of `path` (relative to the argument `path`), `size` (bytes), `mtime` and `type`.
#'
#' @section ls:
#' The entries of a directory, dot files too, as a `gptr_files`. `long` prints sizes and times.
#'
#' @section Conditions:
#' `gptr_error_invalid_argument` (field `arg`) for a wrong argument; for what the system says of a path the message
#' begins with its code, such as `ENOENT`. `gptr_error_tool` (fields `tool`, `status`) when a hook or a policy refuses.
#'
#' @name peter_files
#' @seealso [peter()], [gptr_tool()].
#' @examples
#' file <- tempfile(fileext = ".R")
#' peter$write(file, c("f <- function(x) {", "  x + 1", "}"))
#' peter$read(file)
#' peter$edit(file, list(oldText = "x + 1", newText = "x + 2"))
#' peter$grep("x \\+", dirname(file), glob = basename(file))
#' peter$find(basename(file), dirname(file))$size
#' unlink(file)
NULL

file_tool_specs <- function() list(read_tool(), write_tool(), edit_tool(), grep_tool(), find_tool(), ls_tool())

# The bodies keep to limits of their own, of bytes, lines and tokens.
file_tokens <- 30000L

file_tool <- function(name, description, parameters, fun, reads, ...) {
  gptr_tool(name, description, parameters = parameters, fun = fun, execute = native_handler(name),
    execution = if (reads) "concurrent" else "sequential", output_tokens = file_tokens,
    annotations = list(read_only = reads, destructive = !reads, idempotent = reads, open_world = FALSE), ...)
}

object_of <- function(required, ...) {
  schema <- list(type = "object", properties = list(...))
  if (length(required)) schema$required <- I(required)
  schema
}

text_property <- function(description) list(type = "string", description = description)

count_property <- function(description) list(type = "integer", minimum = 1, description = description)

flag_property <- function(description) list(type = "boolean", description = description)

read_tool <- function() {
  file_tool("read", paste(
    "Read a text file, or look at an image (jpg, png, gif, webp). At most 2000 lines or 50 KB a call: use offset and",
    "limit for more. Data files (rds, parquet, xlsx) are loaded with R code instead."
  ), object_of("path", path = text_property("Path, relative to the working directory or absolute."),
    offset = count_property("The first line, from 1."), limit = count_property("At most so many lines.")),
  member_read, reads = TRUE, snippet = "read a text file or an image",
  guidelines = "Look at a file with read before you change it.")
}

write_tool <- function() {
  file_tool("write", "Write a file: it is made with its folders, or replaced as a whole.",
    object_of(c("path", "content"), path = text_property("Path, relative to the working directory or absolute."),
      content = text_property("All of the new content.")),
    member_write, reads = FALSE, snippet = "make a file, or replace all of it",
    guidelines = "Change a file that exists with edit; write is for new files and whole rewrites.")
}

edit_tool <- function() {
  edit <- object_of(c("oldText", "newText"),
    oldText = text_property("Text that stands in the file exactly once."),
    newText = text_property("What comes in its place."),
    replaceAll = flag_property("Replace it wherever it stands."))
  file_tool("edit", paste(
    "Replace text in a file. Each oldText must match exactly, blanks and line breaks too, and be unique; all edits are",
    "matched against the file as it is, must not overlap, and are applied together or not at all."
  ), object_of(c("path", "edits"), path = text_property("Path, relative to the working directory or absolute."),
    edits = list(type = "array", items = edit, minItems = 1, description = "The replacements.")),
  member_edit, reads = FALSE, snippet = "replace exact pieces of text in a file",
  guidelines = "Give edit several changes of one file in one call; keep oldText short but unique.")
}

grep_tool <- function() {
  file_tool("grep", paste(
    "Search the contents of files for a regular expression (no look-around, no back-references). Respects .gitignore."
  ), object_of("pattern", pattern = text_property("The regular expression."),
    path = text_property("A directory or a file; default: the working directory."),
    glob = text_property("Only files like this, e.g. *.R."), ignoreCase = flag_property("Ignore case."),
    literal = flag_property("The pattern is plain text."),
    context = list(type = "integer", minimum = 0, description = "Lines to show around each match."),
    limit = count_property("At most so many matches; default 100.")),
  member_grep, reads = TRUE, exposure = "r")
}

find_tool <- function() {
  file_tool("find", "Find files by name. Respects .gitignore.",
    object_of("pattern", pattern = text_property("A glob: *.R for names, R/**/*.R for paths."),
      path = text_property("Where; default: the working directory."),
      limit = count_property("At most so many files; default 1000.")),
    member_find, reads = TRUE, exposure = "r")
}

ls_tool <- function() {
  file_tool("ls", "List a directory: dot files too, directories with a slash.",
    object_of(NULL, path = text_property("The directory; default: the working directory."),
      limit = count_property("At most so many entries; default 500.")),
    member_ls, reads = TRUE, exposure = "r")
}

# ---- members ---------------------------------------------------------------------------------------------------------

member_read <- function(path, offset = NULL, limit = NULL) {
  check_path(path)
  check_count(offset, "offset", min = 1, null = TRUE)
  found <- native_value("read", list(path = enc2utf8(path), offset = offset, limit = check_limit(limit)))
  if (!is.null(found$image)) attach_image(found$image, basename(path))
  if (!is.null(found$note)) return(structure(found$note, class = c("gptr_text", "character")))
  structure(as.character(found$lines), class = c("gptr_lines", "character"), path = found$path,
    offset = as.integer(found$offset), limit = limit, total = found$total, truncated = found$truncated,
    encoding = found$encoding)
}

member_write <- function(path, content) {
  check_path(path)
  check_characters(content, "content")
  text <- paste0(utf8_text(content, "content"), if (length(content) != 1L) "\n", collapse = "")
  invisible(native_value("write", list(path = enc2utf8(path), content = text))$path)
}

member_edit <- function(path, edits, replace_all = FALSE) {
  check_path(path)
  check_flag(replace_all, "replace_all")
  input <- list(path = enc2utf8(path), edits = edit_list(edits), replaceAll = replace_all)
  structure(native_value("edit", input), class = "gptr_patch")
}

# list(list(oldText, newText), ...), or one edit, in either spelling.
edit_list <- function(edits) {
  if (!is_plain_list(edits)) abort_argument("edits", "a list of edits", edits)
  one <- !is.null(names(edits)) && any(edit_names %in% names(edits))
  unname(lapply(if (one) list(edits) else edits, function(edit) {
    if (!is_plain_list(edit) && !is.character(edit)) abort_argument("edits", "a list of edits", edit)
    edit <- as.list(edit)
    wrong <- setdiff(names(edit), edit_names)
    if (length(wrong)) {
      gptr_abort("invalid_argument", c("An edit has no `", wrong[[1L]], "`: it has oldText and newText."),
        arg = "edits")
    }
    usual <- c(old_text = "oldText", new_text = "newText", replace_all = "replaceAll")
    other <- names(edit) %in% names(usual)
    names(edit)[other] <- usual[names(edit)[other]]
    lapply(edit, function(x) if (is.character(x)) utf8_text(x, "edits") else x)
  }))
}

edit_names <- c("oldText", "newText", "replaceAll", "old_text", "new_text", "replace_all")

member_grep <- function(pattern, path = ".", glob = NULL, ignore_case = FALSE, fixed = FALSE, context = 0L,
                        limit = 100L, output = c("content", "files", "count"), sort = c("path", "count", "mtime"),
                        ...) {
  dots <- member_dots("grep", list(...), c("ignoreCase", "literal"))
  check_string(pattern, "pattern")
  check_path(path)
  check_string(glob, "glob", null = TRUE)
  ignore_case <- check_flag(dots$ignoreCase %||% ignore_case, "ignore_case")
  fixed <- check_flag(dots$literal %||% fixed, "fixed")
  context <- check_count(context, "context")
  output <- check_choice(output, c("content", "files", "count"), "output")
  sort <- check_choice(sort, c("path", "count", "mtime"), "sort")
  found <- native_value("grep", list(
    pattern = enc2utf8(pattern), path = enc2utf8(path), glob = if (!is.null(glob)) enc2utf8(glob),
    ignoreCase = ignore_case, literal = fixed, context = context, limit = check_limit(limit), output = output,
    sort = sort
  ))
  if (output == "files") return(files_frame(found))
  class <- if (output == "content") "gptr_matches"
  frame_of(found$columns, class, truncated = found$truncated, limit = found$limit, display = found$display,
    notes = found$notes)
}

member_find <- function(pattern, path = ".", sort = c("path", "mtime", "size", "relevance"), type = "file",
                        limit = 1000L) {
  check_string(pattern, "pattern")
  check_path(path)
  sort <- check_choice(sort, c("path", "mtime", "size", "relevance"), "sort")
  type <- check_choice(type, c("file", "dir", "link", "any"), "type")
  files_frame(native_value("find", list(
    pattern = enc2utf8(pattern), path = enc2utf8(path), sort = sort, type = type, limit = check_limit(limit)
  )))
}

member_ls <- function(path = ".", sort = c("name", "mtime", "size"), long = FALSE, ...) {
  dots <- member_dots("ls", list(...), "limit")
  check_path(path)
  sort <- check_choice(sort, c("name", "mtime", "size"), "sort")
  check_flag(long, "long")
  found <- native_value("ls", list(path = enc2utf8(path), sort = sort, limit = check_limit(dots$limit)))
  found$limit <- dots$limit
  files_frame(found, long = long, empty = "(empty directory)")
}

check_path <- function(path) check_string(path, "path")

# What goes into a file must be what the caller sees: text that is not valid is refused, not repaired.
utf8_text <- function(x, arg) {
  latin1 <- Encoding(x) == "latin1"
  x[latin1] <- enc2utf8(x[latin1])
  Encoding(x[!latin1]) <- "UTF-8"
  if (!all(validUTF8(x))) {
    gptr_abort("invalid_argument", c("`", arg, "` must be valid text: it has bytes that are no UTF-8."), arg = arg,
      expected = "valid text")
  }
  x
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

# A number of rows or lines: NULL stays, Inf becomes a number that JSON has.
check_limit <- function(limit, arg = "limit") {
  if (is.null(limit)) return(NULL)
  if (is.numeric(limit) && length(limit) == 1L && identical(as.double(limit), Inf)) return(1e15)
  check_count(limit, arg, min = 1)
}

# ---- values ----------------------------------------------------------------------------------------------------------

frame_of <- function(columns, class, ...) {
  structure(columns, row.names = .set_row_names(length(columns[[1L]])), class = c(class, "data.frame"), ...)
}

files_frame <- function(found, ...) {
  columns <- found$columns
  columns$mtime <- .POSIXct(columns$mtime)
  frame_of(columns, "gptr_files", path = found$path, truncated = found$truncated, limit = found$limit, ...)
}

#' @export
print.gptr_files <- function(x, ...) {
  whole <- all(c("path", "size", "mtime", "type") %in% names(x))
  if (!whole) return(print_plain_frame(x))
  name <- paste0(x$path, ifelse(x$type %in% "dir", "/", ""))
  if (isTRUE(attr(x, "long"))) {
    name <- sprintf("%8s  %s  %s", vapply(x$size, file_size_text, ""), format(x$mtime, "%Y-%m-%d %H:%M"), name)
  }
  print_listing(name, x, attr(x, "empty") %||% "(no files)")
}

#' @export
print.gptr_matches <- function(x, ...) {
  whole <- all(c("file", "line", "text") %in% names(x))
  if (!whole) return(print_plain_frame(x))
  lines <- attr(x, "display")
  if (is.null(lines) || sum(startsWith(lines, paste0(x$file[1L], ":"))) == 0L) {
    lines <- if (nrow(x)) paste0(x$file, ":", x$line, ": ", x$text) else character()
  }
  print_listing(lines, x, "No matches found")
}

# A part of a frame has no limit that was reached, and no lines around its rows.
#' @export
`[.gptr_matches` <- function(x, ...) part_of_frame(x, NextMethod())

#' @export
`[.gptr_files` <- function(x, ...) part_of_frame(x, NextMethod())

part_of_frame <- function(x, part) {
  if (!is.data.frame(part) || identical(dim(part), dim(x))) return(part)
  for (name in c("truncated", "limit", "display", "notes")) attr(part, name) <- NULL
  part
}

print_plain_frame <- function(x) {
  print(structure(as.list(x), row.names = attr(x, "row.names"), class = "data.frame"))
  invisible(x)
}

# Prints lines within the budget, then one bracket: what is not printed, the limit that was reached.
print_listing <- function(lines, x, none) {
  if (!length(lines)) {
    writeLines(none)
  } else {
    lines <- printable_lines(lines)
    shown <- lines_in_budget(lines, print_budget())
    writeLines(first_lines(lines, shown))
    limit <- attr(x, "limit")
    notice <- c(
      lines_left(length(lines) - shown),
      if (isTRUE(attr(x, "truncated")) && !is.null(limit)) {
        paste0(plain_count(limit), " limit reached. Use limit=", plain_count(2 * limit), " for more")
      },
      attr(x, "notes")
    )
    if (length(notice)) cat("[", paste(notice, collapse = ". "), "]\n", sep = "")
  }
  invisible(x)
}

# Names of files and lines of text may hold what steers a terminal.
printable_lines <- function(lines) {
  odd <- grepl("[^\t -~]", lines, useBytes = TRUE)
  lines[odd] <- vapply(lines[odd], function(line) gsub("\n", "<U+000A>", printable(line), fixed = TRUE), "")
  lines
}

#' @export
print.gptr_patch <- function(x, ...) {
  cat(x$message, "\n", sep = "")
  cat(printable(x$diff), "\n", sep = "")
  invisible(x)
}

# 512B, 50.0KB, 3.0MB: as the engine writes sizes.
file_size_text <- function(bytes) {
  if (is.na(bytes)) return("")
  if (bytes < 1024) return(paste0(bytes, "B"))
  power <- min(floor(log(bytes, 1024)), 4)
  sprintf("%.1f%s", bytes / 1024^power, c("KB", "MB", "GB", "TB")[power])
}
