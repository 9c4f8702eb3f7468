# Extensions of one session: what a factory may do, that it comes whole or not at all, and when its API object is stale.

load <- function(..., model = fake("ok")) run(model, extensions = list(...))

prompt_of <- function(session) paste(unlist(gptr_prompt(session)$system), collapse = "\n")

keep_api <- function(body = function(gptr) NULL) {
  kept <- NULL
  session <- load(function(gptr) {
    kept <<- gptr
    body(gptr)
  })
  list(api = kept, session = session)
}

test_that("case_62: what a factory registers is staged, and committed as a whole when it returned", {
  inside <- NULL
  session <- load(function(gptr) {
    gptr$register(gptr_prompt_section("ext_a", "From a."))
    gptr$register(gptr_prompt_section("ext_b", "From b."))
    inside <<- .Call(gptr:::wrap__registry_winner, "prompt_section", "ext_a", NULL)
  })
  expect_null(inside)
  expect_match(prompt_of(session), "From a.", fixed = TRUE)
  expect_match(prompt_of(session), "From b.", fixed = TRUE)
  expect_no_match(prompt_of(run(fake("ok"))), "From a.", fixed = TRUE)
})

test_that("case_63: a factory that fails leaves nothing, and the call fails with its cause", {
  before <- gptr_registry()
  heard <- FALSE
  model <- fake("never")
  cond <- caught(run(model, extensions = function(gptr) {
    gptr$register(plain_tool("ext_half", function(input, ctx) "x"))
    gptr$on("turn_start", function(event, ctx) heard <<- TRUE)
    stop("half way")
  }))
  expect_s3_class(cond, "gptr_error_extension")
  expect_identical(cond$extension, "session:1")
  expect_s3_class(cond$parent, "simpleError")
  expect_identical(conditionMessage(cond$parent), "half way")
  expect_match(conditionMessage(cond), "half way")
  expect_identical(model$log$n, 0L)
  run(fake("ok"))
  expect_false(heard)
  expect_identical(gptr_registry(), before)
})

test_that("a failing extension leaves a continued session as it was", {
  session <- run(fake("one", "two"), tools = plain_tool("t", function(input, ctx) "x"))
  cond <- caught(peter(session, "again", extensions = function(gptr) {
    gptr$register(gptr_prompt_section("ext_bad", "x"))
    stop("no")
  }))
  expect_s3_class(cond, "gptr_error_extension")
  expect_identical(session$turns, 1L)
  expect_goes_on(session, "two")
})

test_that("a spec that is not admitted fails the load, wherever it stands", {
  operator <- gptr_context_block("ext_op", function(ctx, budget) "x", authority = "operator")
  cond <- caught(load(function(gptr) {
    gptr$register(gptr_prompt_section("ext_before", "Before."))
    gptr$register(operator)
    gptr$register(gptr_prompt_section("ext_after", "After."))
  }))
  expect_s3_class(cond, "gptr_error_extension")
  expect_s3_class(cond$parent, "gptr_error_invalid_spec")
  expect_identical(cond$parent$field, "authority")
})

test_that("case_64: a version that is not there fails the load", {
  cond <- caught(load(function(gptr) gptr$require(">= 2.0")))
  expect_s3_class(cond, "gptr_error_extension")
  expect_s3_class(cond$parent, "gptr_error_api_version")
  expect_identical(cond$parent$required, ">= 2.0")
})

test_that("case_81: requirements are read as ranges", {
  answers <- NULL
  asked <- c("1.0", ">= 1.0, < 2", "1", "== 1.0", "1.9", ">= 2.0", "one", "1.0,", "1.0, < 2", "> 1.0", "99999999999999999999.0", "")
  load(function(gptr) {
    answers <<- lapply(asked, function(x) tryCatch(gptr$require(x), error = identity))
  })
  fine <- vapply(answers, isTRUE, NA)
  expect_identical(fine, c(rep(TRUE, 4), rep(FALSE, 8)))
  for (i in which(!fine)) {
    expect_s3_class(answers[[i]], "gptr_error_api_version")
    expect_identical(answers[[i]]$required, asked[[i]])
  }
})

test_that("case_65 and 80: an unknown member fails the load; the message lists the members", {
  cond <- caught(load(function(gptr) gptr$register_widget(1)))
  expect_s3_class(cond, "gptr_error_extension")
  expect_s3_class(cond$parent, "gptr_error_unknown_member")
  expect_true(all(c("name", "state", "register", "register_tool", "on", "require", "has") %in% cond$parent$available))
})

test_that("case_16: an unknown event fails the load with a hint", {
  cond <- caught(load(function(gptr) gptr$on("PreToolUse", function(event, ctx) NULL)))
  expect_s3_class(cond$parent, "gptr_error_invalid_spec")
  expect_identical(cond$parent$field, "event")
  expect_match(conditionMessage(cond), "tool_call")
})

test_that("case_67: a registration that is taken back in the factory never comes", {
  session <- load(function(gptr) {
    off <- gptr$register(gptr_prompt_section("ext_gone", "Gone again."))
    gptr$register(gptr_prompt_section("ext_stays", "Stays here."))
    off()
    off()
  })
  expect_no_match(prompt_of(session), "Gone again.", fixed = TRUE)
  expect_match(prompt_of(session), "Stays here.", fixed = TRUE)
})

test_that("after the load the API object registers at once, and its removers return TRUE each time", {
  kept <- keep_api()
  off <- kept$api$register(plain_tool("ext_late", function(input, ctx) "late"))
  session <- peter(kept$session, "again", model = fake(call_of("ext_late"), "end"), mode = "auto")
  expect_identical(result_text(session), "late")
  expect_identical(withVisible(off()), list(value = TRUE, visible = FALSE))
  expect_identical(withVisible(off()), list(value = TRUE, visible = FALSE))
  peter(session, "once more", model = gptr_fake_provider(list(call_of("ext_late"), "end"), name = "third"))
  expect_identical(result_text(session, 2), "Tool ext_late not found")
})

test_that("case_73: a stale API object says so, and still shows who it was", {
  kept <- keep_api(function(gptr) gptr$state$n <- 1L)
  off <- kept$api$register(gptr_prompt_section("ext_stale", "x"))
  gptr_reload()
  for (call in expression(
    kept$api$register(gptr_prompt_section("ext_new", "x")), kept$api$on("turn_start", function(event, ctx) NULL),
    kept$api$require("1.0"), kept$api$has("kind.tool"), off()
  )) {
    cond <- caught(eval(call))
    expect_s3_class(cond, "gptr_error_stale_api")
    expect_identical(cond$plugin, "session:1")
    expect_type(cond$generation, "integer")
  }
  expect_identical(kept$api$name, "session:1")
  expect_identical(kept$api$state$n, 1L)
})

test_that("the API object of a failed load is stale", {
  kept <- NULL
  caught(load(function(gptr) {
    kept <<- gptr
    stop("no")
  }))
  expect_s3_class(caught(kept$register(gptr_prompt_section("x", "x"))), "gptr_error_stale_api")
})

test_that("case_75: what a session loaded goes with the session, and its API object is stale then", {
  kept <- NULL
  heard <- character()
  # The handler must not hold the session by way of its environment.
  factory <- function(gptr) {
    kept <<- gptr
    gptr$on("agent_start", function(event, ctx) heard <<- c(heard, event$session))
  }
  id <- (function(factory) load(factory)$id)(factory)
  expect_identical(heard, id)
  the$last <- NULL
  for (i in 1:3) gc(full = TRUE)
  run(fake("other"))
  expect_identical(heard, id)
  expect_s3_class(caught(kept$register(gptr_prompt_section("x", "x"))), "gptr_error_stale_api")
})

test_that("case_80: the API object is read-only but for its state, and prints", {
  kept <- keep_api()
  api <- kept$api
  cond <- caught(api$register <- NULL)
  expect_s3_class(cond, "gptr_error_readonly")
  expect_identical(c(cond$object, cond$field), c("gptr_extension_api", "register"))
  expect_s3_class(caught(api[["x"]] <- 1), "gptr_error_readonly")
  api$state$n <- 3L
  expect_identical(api$state$n, 3L)
  expect_s3_class(caught(api$state <- new.env()), "gptr_error_readonly")
  cond <- caught(api$nope)
  expect_s3_class(cond, "gptr_error_unknown_member")
  expect_identical(cond$name, "nope")
  lines <- utils::capture.output(print(api))
  expect_identical(lines[[1]], "<gptr_extension_api 1.0> session:1")
  expect_match(lines[[2]], "^members: name, dir, state, register, register_adapter, .*on, require, has")
})

test_that("case_82: $has() knows kinds and events", {
  found <- NULL
  load(function(gptr) found <<- c(gptr$has("kind.router"), gptr$has("kind.widget"), gptr$has("event.tool_call"), gptr$has("route")))
  expect_identical(found, c(TRUE, FALSE, TRUE, TRUE))
})

test_that("$register_<kind>() builds and registers; $register() takes specs alone", {
  session <- load(function(gptr) {
    gptr$register_prompt_section("ext_short", text = "By the short way.")
    gptr$register_hook("turn_start", event = "turn_start", handler = function(event, ctx) NULL)
  })
  expect_match(prompt_of(session), "By the short way.", fixed = TRUE)
  for (x in list(list(kind = "tool"), NULL, 1)) {
    cond <- caught(load(function(gptr) gptr$register(x)))
    expect_s3_class(cond$parent, "gptr_error_invalid_spec")
    expect_identical(cond$parent$field, "spec")
  }
})

test_that("one line of standing guidance, and a second one fails the load", {
  session <- load(function(gptr) gptr$guidance("Prefer tidy tables in reports."))
  expect_match(prompt_of(session), "Prefer tidy tables in reports.", fixed = TRUE)
  cond <- caught(load(function(gptr) {
    gptr$guidance("One.")
    gptr$guidance("Two.")
  }))
  expect_s3_class(cond, "gptr_error_extension")
  expect_s3_class(cond$parent, "gptr_error_invalid_spec")
  expect_identical(cond$parent$kind, "guidance")
  cond <- caught(load(function(gptr) {
    try(gptr$guidance(42), silent = TRUE)
    gptr$guidance("Two.")
  }))
  expect_s3_class(cond, "gptr_error_extension")
})

test_that("gptr_register() and gptr_reload() are not for factories", {
  for (call in expression(gptr_register(gptr_prompt_section("ext_direct", "x")))) {
    cond <- caught(load(function(gptr) eval(call)))
    expect_s3_class(cond, "gptr_error_extension")
    expect_s3_class(cond$parent, "gptr_error_permission")
    expect_identical(cond$parent$action, "gptr_register")
  }
  expect_false("ext_direct" %in% gptr_registry("prompt_section")$name)
})

test_that("a factory that reloads makes itself stale and fails", {
  cond <- caught(load(function(gptr) {
    gptr$register(gptr_prompt_section("ext_reloaded", "x"))
    gptr_reload()
  }))
  expect_s3_class(cond, "gptr_error_extension")
  expect_no_match(prompt_of(run(fake("x"))), "ext_reloaded")
})

test_that("H62: what a factory returns is ignored; what is no factory is an argument error", {
  for (value in list(FALSE, "x", mtcars, NULL)) expect_identical(load(function(gptr) value)$status, "idle")
  for (x in list(1, "no/such.R", list(1), mtcars, NA)) {
    cond <- caught(run(fake("never"), extensions = x))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "extensions")
  }
})

test_that("a file is a factory by its last expression, evaluated over the global environment", {
  dir <- withr::local_tempdir()
  file <- file.path(dir, "house.R")
  writeLines(c("text <- 'From the caf\u00e9 file.'", "function(gptr) {",
    "  gptr$register(gptr::gptr_prompt_section('ext_file', paste(text, gptr$name)))", "}"), file, useBytes = TRUE)
  session <- run(fake("ok"), extensions = file)
  expect_match(prompt_of(session), "From the caf\u00e9 file. house", fixed = TRUE)
  expect_false(exists("text", envir = globalenv(), inherits = FALSE))
  nested <- file.path(dir, "folder")
  dir.create(nested)
  file.copy(file, file.path(nested, "main.R"))
  expect_match(prompt_of(run(fake("ok"), extensions = file.path(nested, "main.R"))), "file. folder", fixed = TRUE)
})

test_that("a bad file is an error of the call that names it", {
  bad <- withr::local_tempfile(fileext = ".R")
  for (lines in list("function(gptr) {", "42", character(), "stop('while reading')")) {
    writeLines(lines, bad)
    cond <- caught(run(fake("never"), extensions = bad))
    expect_s3_class(cond, "error")
    named <- if (identical(lines, "stop('while reading')")) "while reading" else basename(bad)
    expect_match(conditionMessage(cond), named, fixed = TRUE)
  }
})

test_that("several extensions of one call have names of their own, and hooks run in their order", {
  heard <- character()
  ext <- function(label) function(gptr) gptr$on("turn_start", function(event, ctx) heard <<- c(heard, paste(label, gptr$name)))
  load(ext("a"), ext("b"))
  expect_identical(heard, c("a session:1", "b session:2"))
})

test_that("case_79: an interrupt in a factory rolls back and reaches the caller", {
  heard <- FALSE
  cond <- caught(load(function(gptr) {
    gptr$on("turn_start", function(event, ctx) heard <<- TRUE)
    signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  }))
  expect_s3_class(cond, "interrupt")
  expect_length(the$frames, 0L)
  run(fake("x"))
  expect_false(heard)
})

test_that("a factory that jumps to the top level, or out of the call, leaves nothing", {
  cond <- caught(load(function(gptr) invokeRestart("abort")))
  expect_s3_class(cond, "gptr_error_extension")
  expect_length(the$frames, 0L)
  value <- withRestarts(load(function(gptr) {
    gptr$register(gptr_prompt_section("ext_jumped", "Jumped."))
    invokeRestart("out_of_it")
  }), out_of_it = function() "left")
  expect_identical(value, "left")
  expect_length(the$frames, 0L)
  expect_no_match(prompt_of(run(fake("x"))), "Jumped.", fixed = TRUE)
})

test_that("a factory runs a session and calls members, and still registers", {
  session <- load(function(gptr) {
    kid <- peter("help", model = fake("from a child"), envir = new.env())
    gptr$register(gptr_prompt_section("ext_kid", paste("The child said", kid$text)))
  })
  expect_match(prompt_of(session), "The child said from a child", fixed = TRUE)
})

test_that("hooks of an extension see its events alone, in its session alone", {
  heard <- character()
  listen <- function(gptr) {
    gptr$on("message_end", function(event, ctx) heard <<- c(heard, event$role))
  }
  session <- load(listen, model = fake("one", "two"))
  run(fake("other"))
  expect_identical(heard, c("user", "assistant"))
  session |> peter("again")
  expect_length(heard, 4L)
})

test_that("a hook that fails is reported under the extension's name", {
  before <- nrow(gptr_registry(diagnostics = TRUE))
  session <- load(function(gptr) gptr$on("turn_start", function(event, ctx) stop("hook bug")))
  log <- diagnostics_since(before)
  expect_true(any(log$source == "session:1" & log$event == "turn_start" & grepl("hook bug", log$message)))
  expect_identical(session$text, "ok")
})

test_that("the time bound of a load holds for interpreted code", {
  withr::local_options(gptr.load_timeout = 0.2)
  cond <- caught(load(function(gptr) repeat Sys.sleep(0.01)))
  expect_s3_class(cond, "gptr_error_extension")
  expect_length(the$frames, 0L)
})
