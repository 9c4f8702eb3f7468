# sh(), script(), bg() and jobs() of peter$.

skip_if_not_installed("processx")
skip_on_os("windows")

test_that("a text is for a shell, several words are a program and its arguments", {
  x <- peter$sh("echo one; echo two >&2; exit 3")
  expect_s3_class(x, "gptr_cmd")
  expect_named(x, c("cmd", "status", "ok", "stdout", "stderr", "elapsed", "timed_out", "id"))
  expect_identical(x[c("status", "ok", "stdout", "stderr", "timed_out")],
    structure(list(status = 3L, ok = FALSE, stdout = "one", stderr = "two", timed_out = FALSE)))
  expect_identical(peter$sh(c("echo", "$HOME; rm -rf /"))$stdout, "$HOME; rm -rf /")
  expect_identical(peter$sh("echo out; echo err >&2", merge = TRUE)[c("stdout", "stderr")], list(stdout = "out\nerr", stderr = ""))
})

test_that("a final newline of the output is dropped, and no other", {
  expect_identical(peter$sh("printf 'a\\n\\n'")$stdout, "a\n")
  expect_identical(peter$sh("printf a")$stdout, "a")
})

test_that("a command reads what it is given, else nothing: it never waits for the terminal", {
  expect_identical(peter$sh("cat")$stdout, "")
  expect_identical(peter$sh("cat", input = c("a", "\u00e9"))$stdout, "a\n\u00e9")
  expect_identical(peter$sh("wc -c", input = as.raw(1:3))$stdout |> trimws(), "3")
  big <- strrep("x", 3e5)
  expect_identical(nchar(peter$sh("cat", input = big)$stdout), 300000L)
})

test_that("directory and environment", {
  dir <- withr::local_tempdir()
  expect_identical(normalizePath(peter$sh("pwd", wd = dir)$stdout), normalizePath(dir))
  withr::local_envvar(GPTR_TEST_A = "a", GPTR_TEST_B = "b")
  shown <- peter$sh("echo $GPTR_TEST_A $GPTR_TEST_B $GPTR_TEST_C", env = c(GPTR_TEST_B = NA, GPTR_TEST_C = "c"))
  expect_identical(shown$stdout, "a c")
})

test_that("secrets are not in the environment of a command", {
  key <- paste0("sk-", strrep("a1B2", 10))
  withr::local_envvar(CORP_CMD_KEY = "plain word", GPTR_TEST_TOKEN = key, GPTR_TEST_PLAIN = "plain word")
  registered(gptr_provider("corpcmd", api = "openai-completions", base_url = "https://llm.corp.example/v1",
    auth = "CORP_CMD_KEY", models = "m"))
  print_all <- "echo \"$CORP_CMD_KEY|$GPTR_TEST_TOKEN|$GPTR_TEST_PLAIN\""
  expect_identical(peter$sh(print_all)$stdout, "||plain word")
  job <- peter$bg(print_all)
  job$wait()
  expect_identical(as.character(job$read()), "||plain word")
  expect_identical(peter$sh(print_all, env = c(CORP_CMD_KEY = "given"))$stdout, "given||plain word")
})

# Processes with this argument.
running <- function(mark) sum(grepl(mark, system("ps -eo args", intern = TRUE), fixed = TRUE))

test_that("a command that takes too long is ended with all that it started", {
  x <- peter$sh("sleep 87651 & (sleep 87651; echo no) & sleep 87651", timeout = 0.3)
  expect_true(x$timed_out)
  expect_false(x$ok)
  expect_identical(x$status, NA_integer_)
  expect_match(format(x), "took longer than 0.3 s", all = FALSE)
  expect_identical(running("sleep 87651"), 0L)
})

test_that("what a command leaves running holds up nobody", {
  x <- peter$sh("sleep 87652 & echo $!", timeout = 60)
  withr::defer(tools::pskill(as.integer(x$stdout)))
  expect_false(x$timed_out)
  expect_identical(running("sleep 87652"), 1L)
})

test_that("a program that is not there", {
  cond <- caught(peter$sh(c("gptr-no-such-program", "x")))
  expect_s3_class(cond, "gptr_error_spawn")
  expect_identical(cond$command, c("gptr-no-such-program", "x"))
  x <- peter$sh("gptr-no-such-program")
  expect_identical(x$status, 127L)
})

test_that("a failure is an error when that is asked for", {
  cond <- caught(peter$sh("echo why >&2; exit 2", check = TRUE))
  expect_s3_class(cond, "gptr_error_process")
  expect_identical(cond[c("command", "status", "stderr")], list(command = "echo why >&2; exit 2", status = 2L, stderr = "why"))
  expect_match(conditionMessage(cond), "exit status 2.*why")
  expect_s3_class(caught(peter$sh("sleep 10", timeout = 0.1, check = TRUE)), "gptr_error_process")
  expect_true(peter$sh("true", check = TRUE)$ok)
})

test_that("a death by signal is named", {
  x <- peter$sh(c("sh", "-c", "kill -9 $$"))
  expect_identical(x$status, -9L)
  expect_match(format(x), "signal 9", all = FALSE)
})

test_that("bad arguments", {
  bad <- list(
    cmd = quote(peter$sh(character())), cmd = quote(peter$sh(1)), cmd = quote(peter$sh(NA_character_)), cmd = quote(peter$sh("  ")),
    cmd = quote(peter$sh("a\xff")), input = quote(peter$sh("ls", input = 1)), wd = quote(peter$sh("ls", wd = "/no/such/folder")),
    timeout = quote(peter$sh("ls", timeout = -1)), timeout = quote(peter$sh("ls", timeout = "1")), env = quote(peter$sh("ls", env = "A=1")),
    env = quote(peter$sh("ls", env = list(A = 1))), max_tokens = quote(peter$sh("ls", max_tokens = 1)),
    name = quote(peter$bg("ls", name = 1)), path = quote(peter$script("/no/such/file.R"))
  )
  for (i in seq_along(bad)) {
    cond <- caught(eval(bad[[i]]))
    expect_true(inherits(cond, c("gptr_error_invalid_argument", "gptr_error_tool")), info = deparse(bad[[i]]))
    if (inherits(cond, "gptr_error_invalid_argument")) expect_identical(cond$arg, names(bad)[[i]])
  }
})

test_that("100 MB of output stay on the disk; head and tail are in the value, all of it is kept", {
  x <- peter$sh("head -c 100000000 /dev/zero | tr '\\0' x | fold -w 99; echo end")
  expect_lt(object.size(x), 2e6)
  bytes <- 100000000 + 1010101 + 4
  expect_true(grepl("^x{99}\n", x$stdout) && endsWith(x$stdout, "\nxend"))
  expect_true(grepl(paste0("\n[... ", bytes - 1048575, " bytes not shown"), x$stdout, fixed = TRUE))
  shown <- format(x)
  expect_lt(nchar(paste(shown, collapse = "\n")), 6000)
  expect_true(any(grepl("most of 96.3 MB not shown; peter$out(\"", shown, fixed = TRUE)))
  expect_identical(as.character(peter$out(x$id, lines = c(3, 1))), rep(strrep("x", 99), 2))
  expect_identical(as.character(peter$out(x$id, lines = 1e9)), character())
})

test_that("a command that never stops writing is ended", {
  local_function("output_limit", 2e6)
  x <- peter$sh("yes")
  expect_false(x$ok)
  expect_false(x$timed_out)
  expect_match(format(x), "wrote more than", all = FALSE)
})

test_that("output that is no text, or not valid text", {
  expect_identical(peter$sh("printf 'a\\377b'")$stdout, "a\ufffdb")
  expect_true(validUTF8(peter$sh("head -c 5000 /dev/urandom | tr -d '\\0'")$stdout))
  expect_match(peter$sh("printf 'a\\0b'")$stdout, "^\\[binary output, 3 bytes")
  expect_identical(peter$sh("printf 'a\\r\\nb\\r\\n'")$stdout, "a\nb")
})

test_that("what is printed: head, tail, at most a quarter for errors, the end", {
  x <- peter$sh("seq 1001 6000; seq 1001 6000 >&2; exit 1", max_tokens = 400)
  lines <- unlist(strsplit(format(x), "\n"))
  err <- which(lines == "[stderr]")
  cut <- grep("lines not shown; peter\\$out\\(", lines)
  expect_length(cut, 2L)
  expect_match(lines[cut[[2L]]], "\"stderr\")", fixed = TRUE)
  expect_identical(lines[c(1L, err - 1L, err + 1L, length(lines))], c("1001", "6000", "1001", "[exit status 1]"))
  expect_lt(length(lines) - err, err / 2)
  expect_lt(cut[[1L]], err - cut[[1L]])
  expect_identical(format(peter$sh("true")), "(no output)")
  expect_output(print(peter$sh("echo hi")), "^hi$")
})

test_that("case: peter$out() reads what was kept, by stream and line", {
  x <- peter$sh("seq 1 10; echo err >&2")
  expect_identical(as.character(peter$out(x$id)), as.character(1:10))
  expect_s3_class(peter$out(x$id), "gptr_text")
  expect_identical(as.character(peter$out(x$id, lines = c(2, 9, 20))), c("2", "9"))
  expect_identical(as.character(peter$out(x$id, "stderr")), "err")
  expect_identical(caught(peter$out("o00000000"))$arg, "id")
  expect_s3_class(caught(peter$out(x$id, lines = "a")), "gptr_error")
  expect_identical(as.character(peter$out(peter$sh("true")$id)), character())
})

test_that("the newest outputs are kept", {
  withr::local_options(gptr.out_keep = 3L)
  ids <- vapply(1:5, function(i) peter$sh(paste("echo", i))$id, "")
  expect_s3_class(caught(peter$out(ids[[1L]])), "gptr_error_invalid_argument")
  expect_identical(as.character(peter$out(ids[[5L]])), "5")
  expect_length(list.files(file.path(tempdir(), "gptr-out"), pattern = ids[[1L]]), 0L)
})

# ---- scripts --------------------------------------------------------------------------------------------------------

test_that("a script runs by its first line, its suffix, or what is named", {
  dir <- withr::local_tempdir()
  file <- function(name, ...) {
    path <- file.path(dir, name)
    writeLines(c(...), path)
    path
  }
  expect_identical(peter$script(file("a.sh", "echo $1-$2"), c("x y", "z"))$stdout, "x y-z")
  expect_identical(peter$script(file("b", "#!/bin/sh", "echo shebang"))$stdout, "shebang")
  expect_identical(peter$script(file("c", "#!/usr/bin/env sh", "cat"), input = "in")$stdout, "in")
  expect_identical(peter$script(file("d.R", "cat(commandArgs(TRUE))"), "arg")$stdout, "arg")
  expect_identical(peter$script(file("e.txt", "echo named"), interpreter = "sh")$stdout, "named")
  expect_identical(caught(peter$script(file("f.txt", "echo")))$arg, "interpreter")
  expect_identical(caught(peter$script(file("g.sh", "echo"), nope = 1))$arg, "...")
  expect_match(conditionMessage(caught(peter$script(file("g.sh", "echo"), nope = 1))), "unused argument(s): nope", fixed = TRUE)
})

# ---- jobs -----------------------------------------------------------------------------------------------------------

test_that("a job is read while it runs and after", {
  job <- peter$bg("echo first; read x; echo second $x; exit 4", name = "talk", stdin = TRUE)
  withr::defer(job$kill())
  expect_s3_class(job, "gptr_job")
  expect_identical(job$status(), "running")
  seen <- character()
  expect_true(wait_until(function() length(seen <<- c(seen, job$read())) > 0L))
  expect_identical(seen, "first")
  job$write("word")
  expect_identical(job$wait(60), 4L)
  expect_identical(as.character(job$read()), "second word")
  expect_identical(as.character(job$read()), character())
  expect_identical(job$status(), "failed")
  expect_identical(as.character(peter$out(job$id)), c("first", "second word"))
  expect_output(print(job), "<gptr_job talk> .*failed \\(exit status 4\\)")
  expect_s3_class(caught(job$write("late")), "gptr_error_invalid_argument")
})

test_that("an input can be closed; one that was not asked for can't be written to", {
  job <- peter$bg(c("cat"), stdin = TRUE)
  job$write(c("a", "b"))
  job$write(NULL)
  expect_identical(job$wait(60), 0L)
  expect_identical(as.character(job$read()), c("a", "b"))
  expect_identical(job$status(), "done")
  expect_identical(caught(peter$bg("true")$write("x"))$arg, "text")
})

test_that("a job is ended with all that it started", {
  job <- peter$bg("sleep 87653 & sleep 87653")
  expect_true(wait_until(function() running("sleep 87653") >= 2L))
  expect_identical(job$wait(0.05), NA_integer_)
  expect_true(job$kill())
  expect_false(job$kill())
  expect_identical(job$status(), "killed")
  expect_identical(running("sleep 87653"), 0L)
})

test_that("jobs are listed, and ended together", {
  job <- peter$bg("sleep 87654", name = "sleeper", merge = FALSE)
  rows <- peter$jobs()
  expect_s3_class(rows, c("gptr_jobs", "gptr_listing"), exact = FALSE)
  mine <- rows[rows$id == job$id, ]
  expect_identical(c(mine$name, mine$cmd, mine$status), c("sleeper", "sleep 87654", "running"))
  expect_true(is.na(mine$exit))
  after <- peter$jobs(kill = TRUE)
  expect_false("running" %in% after$status)
  expect_identical(running("sleep 87654"), 0L)
})

test_that("characters that arrive in pieces are whole when they are read", {
  expect_identical(whole_characters(charToRaw("a\u00e9")), charToRaw("a\u00e9"))
  expect_identical(whole_characters(charToRaw("a\u00e9")[1:2]), charToRaw("a"))
  expect_identical(whole_characters(charToRaw("\U1F600")[1:3]), raw())
  expect_identical(whole_characters(charToRaw("abc")), charToRaw("abc"))
  expect_identical(whole_characters(as.raw(rep(0x80, 5))), as.raw(rep(0x80, 5)))
  expect_identical(whole_characters(raw()), raw())
})

test_that("jobs end with the R session", {
  done <- in_own_process(c("library(gptr)", "job <- peter$bg('sleep 87655')", "cat(job$status(), '\\n')"))
  expect_identical(trimws(done$out), "running")
  expect_true(wait_until(function() running("sleep 87655") == 0L))
})

test_that("without processx there is a classed error", {
  local_function("has_processx", function() FALSE)
  for (call in list(quote(peter$sh("ls")), quote(peter$bg("ls")))) {
    cond <- caught(eval(call))
    expect_s3_class(cond, "gptr_error_missing_package")
    expect_identical(cond$package, "processx")
  }
})

# ---- in a run -------------------------------------------------------------------------------------------------------

every_mode <- c("plan", "manual", "edits", "auto")

how_code_ends <- function(code, mode) {
  outcome <- caught(run(fake(r_call(code), "end"), mode = mode))
  if (inherits(outcome, "gptr_error_permission")) return("blocked")
  if (result_failed(outcome)) sub("[:.].*", "", result_text(outcome)) else "ran"
}

test_that("commands are judged by their words: what reads is free, the rest asks", {
  withr::local_dir(withr::local_tempdir())
  table <- list(
    list("peter$sh('ls')$ok", c("ran", "ran", "ran", "ran")),
    list("peter$sh(c('echo', 'a b'))$stdout", c("ran", "ran", "ran", "ran")),
    list("peter$jobs()", c("ran", "ran", "ran", "ran")),
    list("peter$sh('mkdir -p made && touch made/a')$ok", c("Permission denied", "blocked", "ran", "ran")),
    list("peter$sh('mkdir /tmp/gptr-no')$ok", c("Permission denied", "blocked", "blocked", "ran")),
    list("peter$sh('nosuchcommand')$ok", c("Permission denied", "blocked", "blocked", "ran")),
    list("peter$sh(paste('l', 's'))$ok", c("Permission denied", "blocked", "blocked", "ran")),
    list("peter$bg('ls')$wait()", c("Permission denied", "blocked", "blocked", "ran")),
    list("peter$sh('sudo ls')", c("Permission denied", "blocked", "blocked", "blocked")),
    list("peter$sh('echo x > .Rprofile')", c("Permission denied", "blocked", "blocked", "blocked"))
  )
  for (row in table) {
    expect_identical(unname(vapply(every_mode, function(mode) how_code_ends(row[[1]], mode), "")), row[[2]], info = row[[1]])
  }
  expect_false(file.exists(".Rprofile"))
})

test_that("a member of the name that somebody else registered is judged as what it is", {
  registered(gptr_tool("sh", "Mine", fun = function(cmd) "mine", exposure = "r"))
  expect_identical(how_code_ends("peter$sh('ls')", "manual"), "blocked")
})

test_that("a nested command goes through hooks and is printed within the result", {
  seen <- new.env()
  registered(gptr_hook("tool_call", function(event, ctx) {
    assign(event$tool_name, event$input, envir = seen)
    NULL
  }))
  s <- run(fake(r_call("x <- peter$sh('seq 1 9 | tail -1'); x"), "end"))
  expect_match(result_text(s), "^9\n")
  expect_identical(seen$sh$cmd, "seq 1 9 | tail -1")
})

test_that("members of commands are no tools of the model's", {
  s <- run(fake(call_of("sh", list(cmd = "ls")), "end"))
  expect_identical(result_text(s), "Tool sh not found")
})
