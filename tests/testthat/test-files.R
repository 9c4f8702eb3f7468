# The file tools as members of peter$ and as tools of a model. What the bodies do is tested with the engine.

local_folder <- function(env = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = env)
  withr::local_dir(folder, .local_envir = env)
  normalizePath(folder)
}

put <- function(name, text) {
  dir.create(dirname(name), showWarnings = FALSE, recursive = TRUE)
  writeBin(if (is.raw(text)) text else charToRaw(enc2utf8(text)), name)
}

bytes_of <- function(name) readBin(name, "raw", file.size(name))

printed <- function(x) utils::capture.output(print(x))

# Runs calls of tools in one reply, and returns the session.
calls <- function(..., mode = "auto", envir = new.env(parent = globalenv())) {
  run(fake(list(tools = list(...)), "done"), mode = mode, envir = envir)
}

call_reply <- function(name, ...) list(name = name, input = list(...))

details_of <- function(session, i = 1L) results_of(session)[[i]]$details

# ---- read ------------------------------------------------------------------------------------------------------------

test_that("read gives lines with what is known of the file", {
  folder <- local_folder()
  put("a b/é.txt", "one\r\ntwo\n")
  x <- peter$read("a b/é.txt")
  expect_s3_class(x, c("gptr_lines", "character"), exact = TRUE)
  expect_identical(as.character(x), c("one", "two"))
  expect_identical(attr(x, "path"), enc2utf8(file.path(folder, "a b/é.txt")))
  expect_identical(attr(x, "offset"), 1L)
  expect_identical(attr(x, "total"), 2)
  expect_identical(attr(x, "truncated"), FALSE)
  expect_identical(attr(x, "encoding"), "UTF-8")
})

test_that("read keeps to 2000 lines without a limit, and to the limit with one", {
  local_folder()
  put("f.txt", paste0(1:3000, collapse = "\n"))
  x <- peter$read("f.txt")
  expect_length(x, 2000L)
  expect_true(attr(x, "truncated"))
  expect_match(utils::tail(printed(x), 1L), " not printed.* Lines 1-2000 of 3000, offset=2001 to go on\\]$")
  expect_length(peter$read("f.txt", limit = Inf), 3000L)
  expect_identical(as.character(peter$read("f.txt", offset = 2999, limit = 5)), c("2999", "3000"))
  expect_length(peter$read("f.txt", offset = 4000), 0L)
})

test_that("case 54: texts of read for a model", {
  folder <- local_folder()
  put("f.txt", paste0(1:3000, "\n", collapse = ""))
  put("empty", "")
  saveRDS(mtcars, "x.rds", compress = FALSE)
  dir.create("sub")
  s <- calls(call_reply("read", path = "f.txt"), call_reply("read", path = "empty"),
    call_reply("read", path = "f.txt", offset = 3001L), call_reply("read", path = "x.rds"),
    call_reply("read", path = "sub"))
  expect_match(result_text(s, 1), "\n2000\n\n[Lines 1-2000 of 3000. Use offset=2001 to go on]", fixed = TRUE)
  expect_identical(details_of(s, 1)[c("lines_total", "truncated", "encoding", "eol")],
    list(lines_total = 3000L, truncated = TRUE, encoding = "UTF-8", eol = "LF"))
  expect_identical(result_text(s, 2), "[The file empty is empty]")
  expect_identical(result_text(s, 3), "[Offset 3001 is past the end: f.txt has 3000 line(s)]")
  expect_match(result_text(s, 4),
    "^\\[Binary file x.rds \\(.*\\) is not shown. Load it in `r`, e.g. with readRDS\\(\\)\\]$")
  expect_identical(vapply(1:5, function(i) result_failed(s, i), NA), c(FALSE, FALSE, FALSE, FALSE, TRUE))
  expect_match(result_text(s, 5), paste0("EISDIR: is a directory: ", folder, "/sub"), fixed = TRUE)
  expect_balanced(s)
})

test_that("a model that reads an image gets it", {
  local_folder()
  grDevices::png("plot.bin", 60, 40)
  graphics::par(mar = rep(0, 4))
  graphics::plot.new()
  invisible(grDevices::dev.off())
  s <- calls(call_reply("read", path = "plot.bin"))
  blocks <- results_of(s)[[1L]]$content
  expect_identical(blocks[[1L]]$text, "Read image file [image/png]")
  expect_identical(blocks[[2L]][c("type", "mime", "width", "height")],
    list(type = "image", mime = "image/png", width = 60L, height = 40L))
  expect_s3_class(peter$read("plot.bin"), "gptr_text")
  s <- run(fake(r_call("x <- peter$read('plot.bin')"), "done"))
  expect_identical(vapply(results_of(s)[[1L]]$content, function(b) b$type, ""), c("text", "image"))
  expect_match(result_text(s), "[plot.bin attached]", fixed = TRUE)
})

test_that("reading bytes of other encodings", {
  local_folder()
  put("latin1", as.raw(c(0x63, 0x61, 0x66, 0xe9, 0x0a)))
  put("broken", as.raw(c(0xc3, 0xa9, 0xc3, 0xa8, 0xff, 0x0a)))
  x <- peter$read("latin1")
  expect_identical(as.character(x), "caf\u00e9")
  expect_identical(attr(x, "encoding"), "CP1252")
  expect_identical(as.character(peter$read("broken")), "\u00e9\u00e8\ufffd")
})

# ---- write and edit --------------------------------------------------------------------------------------------------

test_that("write makes folders, keeps line ends and returns the path invisibly", {
  folder <- local_folder()
  expect_invisible(peter$write("new/dir/f.txt", "a\r\nb"))
  expect_identical(peter$write("new/dir/f.txt", "a\r\nb"), file.path(folder, "new/dir/f.txt"))
  expect_identical(bytes_of("new/dir/f.txt"), charToRaw("a\r\nb"))
  peter$write("lines.txt", c("a", "é"))
  expect_identical(bytes_of("lines.txt"), charToRaw("a\n\u00e9\n"))
  peter$write("empty.txt", "")
  expect_identical(file.size("empty.txt"), 0)
  expect_setequal(list.files(all.files = TRUE, no.. = TRUE), c("new", "lines.txt", "empty.txt"))
})

test_that("write keeps mode and links", {
  skip_on_os("windows")
  local_folder()
  put("run.sh", "old")
  Sys.chmod("run.sh", "0750", use_umask = FALSE)
  file.symlink("run.sh", "link")
  peter$write("link", "new")
  expect_identical(format(file.mode("run.sh")), "750")
  expect_identical(Sys.readlink("link"), "run.sh")
  expect_identical(readLines("run.sh", warn = FALSE), "new")
})

test_that("case 55: edits are all or nothing, and keep what they don't touch", {
  local_folder()
  put("f", "one\r\ntwo\r\n")
  e <- caught(peter$edit("f", list(list(oldText = "one", newText = "1"), list(oldText = "no", newText = "2"))))
  expect_s3_class(e, "gptr_error_invalid_argument")
  expect_identical(e$arg, "edits[2]")
  expect_identical(bytes_of("f"), charToRaw("one\r\ntwo\r\n"))
  x <- peter$edit("f", list(old_text = "one\ntwo", new_text = "1\n2"))
  expect_s3_class(x, "gptr_patch")
  expect_identical(names(x), c("path", "message", "diff", "n_edits", "fuzzy"))
  expect_false(x$fuzzy)
  expect_identical(bytes_of("f"), charToRaw("1\r\n2\r\n"))
  put("q", "say \u201chi\u201d\n")
  expect_true(peter$edit("q", list(oldText = "\"hi\"", newText = "bye"))$fuzzy)
  expect_identical(bytes_of("q"), charToRaw("say bye\n"))
  put("r", "a a")
  expect_identical(peter$edit("r", list(oldText = "a", newText = "b"), replace_all = TRUE)$n_edits, 2)
  expect_identical(readLines("r", warn = FALSE), "b b")
})

test_that("a model edits in the forms that models use", {
  local_folder()
  put("f", "a b c\n")
  s <- calls(call_reply("edit", path = "f", oldText = "a", newText = "A"),
    call_reply("edit", path = "f",
      edits = list(list(oldText = "b", newText = "B"), list(oldText = "c", newText = "C"))),
    call_reply("edit", path = "f", edits = list(list(oldText = "z", newText = "Z"))))
  expect_match(result_text(s, 1), "^Successfully replaced 1 block\\(s\\) in .*\\.\n@@ -1 \\+1 @@\n-a b c\n\\+A b c$")
  expect_identical(details_of(s, 1)$input$edits[[1L]]$newText, "A")
  expect_identical(details_of(s, 2)$n_edits, 2L)
  expect_true(result_failed(s, 3))
  expect_identical(readLines("f"), "A B C")
})

test_that("arguments of write and edit are checked", {
  local_folder()
  arg <- function(expr) caught(expr)$arg
  expect_identical(arg(peter$write("f", 1)), "content")
  expect_identical(arg(peter$write("f", NA_character_)), "content")
  expect_identical(arg(peter$write(c("a", "b"), "x")), "path")
  expect_identical(arg(peter$write("f", "\xff\xfe")), "content")
  expect_identical(arg(peter$write(".", "x")), "path")
  put("f", "x")
  expect_identical(arg(peter$edit("f", list())), "edits")
  expect_identical(arg(peter$edit("f", "x")), "edits")
  expect_identical(arg(peter$edit("f", list(oldText = "x", new = "y"))), "edits")
  expect_identical(arg(peter$edit("f", list(oldText = "x", newText = 1))), "edits")
  expect_match(conditionMessage(caught(peter$edit("f"))), "peter\\$edit\\(\\): argument `edits` is missing")
})

# ---- grep, find, ls --------------------------------------------------------------------------------------------------

test_that("case 56: limits, no match, unknown arguments", {
  local_folder()
  put("f", strrep("hit\n", 101))
  put("README.md", "x")
  s <- calls(call_reply("grep", pattern = "hit"), call_reply("grep", pattern = "nothing"),
    call_reply("find", pattern = "readme*"))
  expect_match(result_text(s, 1), "f:100: hit\n\n[100 matches limit reached. Use limit=200 for more]", fixed = TRUE)
  expect_identical(result_text(s, 2), "No matches found")
  expect_identical(result_text(s, 3), "README.md")
  e <- caught(peter$grep("a", foo = 1))
  expect_identical(conditionMessage(e), "peter$grep(): unused argument(s): foo")
  expect_identical(e$arg, "...")
  expect_match(conditionMessage(caught(peter$ls(foo = 1))), "peter$ls(): unused argument(s): foo", fixed = TRUE)
})

test_that("grep gives matches, files or numbers", {
  local_folder()
  put("b.R", "x <- 1\ny\nX\n")
  put("sub/A.R", "x\n")
  x <- peter$grep("x")
  expect_s3_class(x, c("gptr_matches", "data.frame"), exact = TRUE)
  expect_identical(names(x), c("file", "line", "text"))
  expect_identical(x$file, c("b.R", "sub/A.R"))
  expect_identical(x$line, c(1L, 1L))
  expect_identical(printed(x), c("b.R:1: x <- 1", "sub/A.R:1: x"))
  expect_identical(nrow(peter$grep("x", ignoreCase = TRUE)), 3L)
  expect_identical(nrow(peter$grep("x", ignore_case = TRUE, glob = "b*")), 2L)
  expect_identical(nrow(peter$grep("x <-", literal = TRUE)), 1L)
  expect_identical(printed(peter$grep("y", context = 1)), c("b.R-1- x <- 1", "b.R:2: y", "b.R-3- X"))
  one <- peter$grep("x", limit = 1)
  expect_true(attr(one, "truncated"))
  expect_identical(printed(one), c("b.R:1: x <- 1", "[1 limit reached. Use limit=2 for more]"))
  expect_s3_class(peter$grep("x", output = "files"), "gptr_files")
  expect_identical(peter$grep("x", output = "files")$path, c("b.R", "sub/A.R"))
  n <- peter$grep("x|y", output = "count", sort = "count", ignore_case = TRUE)
  expect_identical(as.list(n), list(file = c("b.R", "sub/A.R"), n = c(3L, 1L)), ignore_attr = TRUE)
  expect_identical(printed(peter$grep("nothing")), "No matches found")
  expect_identical(caught(peter$grep("("))$arg, "pattern")
  expect_identical(caught(peter$grep("x", context = -1))$arg, "context")
  expect_match(conditionMessage(caught(peter$grep("x", "nope"))), "^Path not found: /")
})

test_that("find and ls give files that can be sorted, printed and subset", {
  local_folder()
  put("b.txt", "12345")
  put("A.R", "1")
  put(".hidden", "")
  put("sub/c.R", "123")
  x <- peter$find("*.r", sort = "size")
  expect_s3_class(x, c("gptr_files", "data.frame"), exact = TRUE)
  expect_identical(x$path, c("sub/c.R", "A.R"))
  expect_identical(x$size, c(3, 1))
  expect_s3_class(x$mtime, "POSIXct")
  expect_identical(x$type, c("file", "file"))
  expect_identical(printed(peter$find("*", type = "dir")), "sub/")
  expect_identical(printed(peter$find("zzz")), "(no files)")
  expect_identical(peter$ls()$path, c(".hidden", "A.R", "b.txt", "sub"))
  expect_identical(printed(peter$ls()), c(".hidden", "A.R", "b.txt", "sub/"))
  expect_match(printed(peter$ls(long = TRUE))[3L], "^      5B  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  b.txt$")
  expect_identical(printed(peter$ls(limit = 1))[2L], "[1 limit reached. Use limit=2 for more]")
  dir.create("empty")
  expect_identical(printed(peter$ls("empty")), "(empty directory)")
  expect_identical(printed(x[2, ]), "A.R")
  expect_identical(nrow(x[x$size > 100, ]), 0L)
  expect_identical(caught(peter$ls("A.R"))$arg, "path")
  expect_identical(caught(peter$find("*", type = "nope"))$arg, "type")
})

test_that("names that would steer a terminal are printed harmlessly", {
  skip_on_os("windows")
  local_folder()
  put("a\033[31m\nb", "x")
  expect_identical(printed(peter$ls()), "a<U+001B>[31m<U+000A>b")
})

# ---- in runs ---------------------------------------------------------------------------------------------------------

test_that("case 18: two read calls start both before the first ends, with results in call order", {
  local_folder()
  put("a", "first")
  put("b", "second")
  seen <- character()
  note <- function(event, ctx) {
    seen <<- c(seen, paste(sub("tool_execution_", "", event$type), event$tool_call_id))
    NULL
  }
  registered(gptr_hook("tool_execution_start", note))
  registered(gptr_hook("tool_execution_end", note))
  s <- calls(call_reply("read", path = "a"), call_reply("read", path = "b"))
  expect_identical(seen, c("start fake_1_1", "start fake_1_2", "end fake_1_1", "end fake_1_2"))
  expect_identical(c(result_text(s, 1), result_text(s, 2)), c("first", "second"))
  expect_balanced(s)
})

test_that("case 18: a write parts the reads around it", {
  local_folder()
  put("f", "old")
  s <- calls(call_reply("read", path = "f"), call_reply("write", path = "f", content = "new"),
    call_reply("read", path = "f"))
  expect_identical(c(result_text(s, 1), result_text(s, 3)), c("old", "new"))
  expect_match(result_text(s, 2), "^Successfully wrote to ")
})

test_that("members in code of the model go through the gates and give R values", {
  local_folder()
  put("f", "one\ntwo\n")
  home <- new.env(parent = globalenv())
  code <- "x <- peter$read('f')\nn <- nrow(peter$grep('o'))\np <- peter$write('g', x)"
  s <- run(fake(r_call(code), "done"), envir = home)
  expect_identical(as.character(home$x), c("one", "two"))
  expect_s3_class(home$x, "gptr_lines")
  expect_identical(home$n, 2L)
  expect_identical(readLines("g"), c("one", "two"))
  no_write <- function(call, ctx) if (call$name == "write") list(decision = "deny", reason = "no")
  registered(gptr_policy("no_write", no_write))
  s <- run(fake(r_call("peter$write('h', 'x')"), "done"))
  expect_false(file.exists("h"))
  expect_match(result_text(s), "Permission denied: no")
})

test_that("case 42: reading and writing by place, in every mode", {
  # Everything below tempdir() would count as inside.
  outside <- withr::local_tempfile(tmpdir = dirname(tempdir()))
  project <- file.path(outside, "project")
  dir.create(project, recursive = TRUE)
  withr::local_dir(project)
  put("DESCRIPTION", "")
  put("in.txt", "x")
  put(".env", "KEY=1")
  put("../out.txt", "x")
  withr::local_options(gptr.noninteractive_ask = "deny")
  runs <- function(mode, name, path) {
    input <- list(path = path)
    if (name == "write") input$content <- "x"
    s <- run(fake(list(tool = name, input = input), "done"), mode = mode)
    !grepl("^Permission denied", result_text(s))
  }
  expected <- list(
    list("read", "in.txt", c(TRUE, TRUE, TRUE, TRUE)), list("read", "../out.txt", c(FALSE, FALSE, FALSE, TRUE)),
    list("read", ".env", c(FALSE, FALSE, FALSE, TRUE)), list("ls", "..", c(FALSE, FALSE, FALSE, TRUE)),
    list("write", "new.txt", c(FALSE, FALSE, TRUE, TRUE)), list("write", "../new.txt", c(FALSE, FALSE, FALSE, TRUE)),
    list("write", "AGENTS.md", c(FALSE, FALSE, FALSE, TRUE)), list("write", ".Rprofile", c(FALSE, FALSE, FALSE, FALSE))
  )
  for (row in expected) {
    got <- vapply(c("plan", "manual", "edits", "auto"), runs, NA, name = row[[1L]], path = row[[2L]])
    expect_identical(unname(got), row[[3L]], info = paste(row[[1L]], row[[2L]]))
  }
  expect_false(file.exists(".Rprofile"))
})

test_that("the built-in tools are records like any other", {
  expect_match(utils::capture.output(print(gptr_why("read")))[2L], "^tool read$")
  expect_identical(utils::capture.output(print(peter$read)),
    "peter$read(path, offset = NULL, limit = NULL)  # Read a text file, or look at an image (jpg, png, gif, webp).")
  local_folder()
  put("f", "theirs")
  registered(plain_tool("read", function(input, ctx) "mine"))
  s <- run(fake(list(tool = "read", input = list()), "done"))
  expect_identical(result_text(s), "mine")
})

test_that("the execute of a native record can be called as a function", {
  local_folder()
  put("f", "x")
  result <- native_handler("read")(list(path = "f"), NULL)
  expect_s3_class(result, "gptr_tool_result")
  expect_identical(format(result), "x")
  expect_error(native_handler("read")(list(path = "nope"), NULL), class = "gptr_error_invalid_argument")
})

test_that("a directory that is gone is an error that says so", {
  skip_on_os("windows")
  gone <- withr::local_tempdir()
  withr::local_dir(gone)
  unlink(gone, recursive = TRUE)
  expect_error(peter$ls(), "the working directory is not known")
})

test_that("case 67: the preset extended declares the searching tools, too", {
  tools <- function(preset) attr(gptr_prompt(preset = preset), "tool_names")
  expect_identical(setdiff(tools("extended"), "ask_user"), c("read", "r", "edit", "write", "grep", "find", "ls"))
  expect_identical(tools("minimal"), c("read", "r", "edit", "write"))
  expect_identical(setdiff(tools("readonly"), "ask_user"), c("read", "r"))
  local_folder()
  put("f", "x")
  s <- run(fake(list(tool = "ls", input = list()), "done"), .opts = list(preset = "extended"))
  expect_identical(result_text(s), "f")
})
