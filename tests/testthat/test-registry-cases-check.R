# Specs that satisfy everything, by kind.
good_specs <- function() {
  fn <- function(...) NULL
  list(
    gptr_provider("good", api = "openai-completions", base_url = "https://llm.example/v1"),
    gptr_adapter("good", transport = "inprocess", stream = function(model, context, opts) NULL),
    gptr_spec("model", "good/one"), gptr_router("good", function(request, ctx) NULL),
    gptr_tool("good", "A tool", fun = function(a) a), gptr_spec("mcp_server", "good", command = "srv"),
    gptr_spec("skill", "good", description = "d"), gptr_spec("prompt_template", "good", text = "t"), a_command("good"),
    gptr_hook("message_end", function(event, ctx) NULL), gptr_policy("good", function(call, ctx) NULL),
    gptr_context_block("good", function(ctx, budget) "x"), gptr_prompt_section("good", "text"),
    gptr_spec("compactor", "good", should = fn, compact = fn), gptr_spec("cache_policy", "good", plan = fn),
    gptr_spec("estimator", "good", estimate = fn),
    gptr_spec("doc_format", "good", ext = "md", locate = fn, render = fn, upsert = fn, inert = fn),
    gptr_spec("artifact_type", "good", build = fn, check = fn, launch = fn, stop = fn),
    gptr_backend("good", start = function(spec, ctx) spec$prompt, cancel = function(handle) NULL),
    gptr_agent("good", description = "d"), gptr_spec("ui", "good", has_ui = fn, select = fn),
    gptr_spec("frontend", "good", run = fn), gptr_spec("setting", "good.one", default = 1),
    gptr_spec("secret_source", "good", resolve = fn, list = fn),
    gptr_spec("redaction_rule", "good", pattern = "tok-[0-9]+", marker = "good"),
    gptr_spec("env_alias", "GOOD", aliases = "good"), gptr_spec("child_env", "good"),
    gptr_spec("checkpointer", "good", scope = "files", before = fn, after = fn, undo = fn, redo = fn),
    gptr_spec("kind", "good_kind", validate = function(spec) spec),
    gptr_spec("route", "good", order = 1, match = fn, run = fn), gptr_spec("preset", "good", tools = "read"),
    gptr_spec("risk_rule", "good", rows = data.frame(
      package = "base", `function` = "f", level = 1L, check.names = FALSE
    )),
    gptr_spec("service", "good", fun = fn), gptr_spec("renderer", "good", render = fn),
    gptr_spec("search_source", "good", docs = fn),
    gptr_spec("store", "good", open = fn, append = fn, read = fn, fork = fn), gptr_spec("evaluator", "good", eval = fn),
    gptr_spec("guidance", "good", text = "A line.")
  )
}

test_that("case 99: a valid spec of each kind passes", {
  specs <- good_specs()
  kinds <- vapply(specs, function(spec) spec$kind, "")
  expect_setequal(kinds, kind_table()$name)
  for (spec in specs) {
    rows <- gptr_check(spec)
    rows <- rows[rows$check != "policy.speed", ]
    expect_identical(rows$check[!rows$ok], character(), info = spec$kind)
    expect_identical(unique(rows$target), paste0(spec$kind, ":", spec$name))
  }
  add <- gptr_tool("add", "Add two numbers", fun = function(a, b) a + b, exposure = "r", namespace = "demo")
  rows <- gptr_check(add)
  expect_identical(rows$check, c("spec.class", "spec.fields", "tool.schema", "tool.empty_input"))
  expect_true(all(rows$ok))
})

test_that("case 100: what can't be checked, and what fails", {
  bad <- a_command("hello")
  bad$handler <- "x"
  rows <- gptr_check(bad)
  expect_identical(rows$check, c("spec.class", "spec.fields"))
  expect_identical(rows$ok, c(TRUE, FALSE))
  expect_match(rows$message[[2L]], "field 'handler'", fixed = TRUE)
  cond <- caught_error(gptr_check(bad, error = TRUE))
  expect_s3_class(cond, "gptr_error_conformance")
  expect_s3_class(cond$results, "gptr_check")
  expect_match(conditionMessage(cond), "1 check(s) failed: spec.fields", fixed = TRUE)
  rows <- gptr_check(list(kind = "command"))
  expect_identical(unclass(rows)[c("target", "check", "ok")],
    list(target = "command:?", check = "spec.class", ok = FALSE))
  for (x in list(42, NULL, NA_character_, "", c("a", "b"), mtcars, TRUE)) {
    cond <- caught_error(gptr_check(x))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "x")
  }
})

test_that("case 101: a long description is for members only", {
  long <- paste(rep("word", 600), collapse = " ")
  rows <- gptr_check(gptr_tool("t", long, fun = function(a) a))
  expect_false(rows$ok[rows$check == "tool.description_tokens"])
  rows <- gptr_check(gptr_tool("t", long, fun = function(a) a, exposure = "r"))
  expect_false("tool.description_tokens" %in% rows$check)
})

test_that("case 102: what happens on empty input", {
  tool <- function(execute) gptr_tool("t", "d", parameters = list(type = "object"), execute = execute)
  row <- function(execute) {
    rows <- gptr_check(tool(execute))
    rows[rows$check == "tool.empty_input", ]
  }
  failed <- row(function(input, ctx) stop("boom"))
  expect_false(failed$ok)
  expect_match(failed$message, "boom", fixed = TRUE)
  expect_true(row(function(input, ctx) gptr_abort("tool", "no", tool = "t", status = "error"))$ok)
  expect_false(row(function(input, ctx) 42)$ok)
  expect_true(row(function(input, ctx) "fine")$ok)
  expect_false(row(function(input, ctx) invokeRestart("abort"))$ok)
  rows <- gptr_check(gptr_tool("t", "d", fun = function() stop("boom"), exposure = "r"))
  expect_false(rows$ok[rows$check == "tool.empty_input"])
})

test_that("case 103: a section over its budget", {
  rows <- gptr_check(gptr_prompt_section("s", paste(rep("word", 500), collapse = " "), budget = 50L))
  expect_identical(rows$check[!rows$ok], "section.budget")
  rows <- gptr_check(gptr_prompt_section("s", function(ctx) "x"))
  expect_true(all(rows$ok))
})

test_that("case 104: a factory", {
  before <- gptr_registry()
  rows <- gptr_check(function(gptr) {
    gptr$register(a_command("case104"))
    gptr$register_tool("case104", description = "d", fun = function(a) a)
  })
  expect_true(all(rows$ok))
  expect_identical(rows$check[1:3], c("factory.load", "factory.registers", "factory.no_action"))
  expect_identical(rows$message[[2L]], "2 record(s)")
  expect_true(all(c("command:case104", "tool:case104") %in% rows$target))
  action <- function(factory) {
    rows <- gptr_check(factory)
    rows[rows$check == "factory.no_action", ]
  }
  env <- action(function(gptr) Sys.setenv(CASE_104 = "set"))
  expect_false(env$ok)
  expect_match(env$message, "env", fixed = TRUE)
  expect_identical(Sys.getenv("CASE_104", NA), NA_character_)
  changed <- action(function(gptr) {
    options(case104 = 1)
    setwd(tempdir())
    set.seed(1)
  })
  expect_match(changed$message, "options", fixed = TRUE)
  expect_match(changed$message, "wd", fixed = TRUE)
  expect_match(changed$message, "seed", fixed = TRUE)
  expect_null(getOption("case104"))
  empty <- gptr_check(function(gptr) NULL)
  expect_false(empty$ok[empty$check == "factory.registers"])
  failing <- gptr_check(function(gptr) {
    gptr$register(a_command("case104"))
    stop("half-way")
  })
  expect_match(failing$message[failing$check == "factory.load"], "half-way", fixed = TRUE)
  expect_identical(failing$message[failing$check == "factory.registers"], "0 record(s)")
  expect_true(rlang::is_reference(before, gptr_registry()))
})

test_that("a check writes nothing into the log, and warns of nothing", {
  rows <- logged(expect_silent(gptr_check(function(gptr) {
    gptr$log("hello")
    gptr$register(a_command("twice"))
    gptr$register(a_command("twice"))
    gptr$register_store("s", open = function() 1, append = function() 1, read = function() 1, fork = function() 1)
    stop("no")
  })))
  expect_identical(nrow(rows), 0L)
})

test_that("a factory that leaves a process is found", {
  skip_on_os("windows")
  rows <- gptr_check(function(gptr) system("sleep 3", wait = FALSE))
  expect_match(rows$message[rows$check == "factory.no_action"], "processes", fixed = TRUE)
  expect_identical(Sys.getenv("GPTR_CHECK"), "")
})

test_that("a kind and its records are checked in one factory", {
  rows <- gptr_check(function(gptr) {
    gptr$register_kind("grade", validate = function(spec) if (is.null(spec$scale)) stop("no scale") else spec)
    gptr$register_grade("good", scale = 3)
    broken <- gptr_spec("grade", "broken", scale = 3)
    broken$scale <- NULL
    gptr$register(gptr_hook("message_end", function(event, ctx) NULL))
  })
  expect_true(all(rows$ok))
  expect_true("grade:good" %in% rows$target)
  expect_error(gptr_spec("grade", "x"), class = "gptr_error_unknown_kind")
  local_record(gptr_spec("kind", "grade", validate = function(spec) {
    if (is.null(spec$scale)) stop("no scale") else spec
  }), "user")
  spec <- gptr_spec("grade", "g", scale = 1)
  spec$scale <- NULL
  rows <- gptr_check(spec)
  expect_match(rows$message[rows$check == "spec.fields"], "no scale", fixed = TRUE)
})

test_that("a backend starts, is cancelled and leaves nothing", {
  skip_on_os("windows")
  checks <- function(start, cancel) {
    rows <- gptr_check(gptr_backend("b", start = start, cancel = cancel))
    stats::setNames(rows$ok, rows$check)[-(1:2)]
  }
  nothing <- function(handle) NULL
  expect_identical(checks(function(spec, ctx) 1, nothing),
    c(backend.start = TRUE, backend.cancel = TRUE, backend.processes = TRUE))
  expect_identical(checks(function(spec, ctx) stop("no"), nothing), c(backend.start = FALSE, backend.processes = TRUE))
  expect_identical(checks(function(spec, ctx) 1, function(handle) stop("no")),
    c(backend.start = TRUE, backend.cancel = FALSE, backend.processes = TRUE))
  pid <- NULL
  left <- function(spec, ctx) pid <<- system("sleep 30 > /dev/null & echo $!", intern = TRUE)
  expect_identical(checks(left, nothing), c(backend.start = TRUE, backend.cancel = TRUE, backend.processes = FALSE))
  expect_identical(checks(left, function(handle) tools::pskill(as.integer(handle))),
    c(backend.start = TRUE, backend.cancel = TRUE, backend.processes = TRUE))
  local_function("process_table", function() NULL)
  ran <- FALSE
  expect_identical(checks(function(spec, ctx) ran <<- TRUE, nothing), c(backend.processes = FALSE))
  expect_false(ran)
})

test_that("an adapter is checked by the service for it, where there is one", {
  adapter <- gptr_adapter("wire", transport = "inprocess", stream = function(model, context, opts) "stream")
  expect_identical(gptr_check(adapter)$check, c("spec.class", "spec.fields"))
  answer <- function(spec) {
    list(list(check = "adapter.text", ok = identical(spec$stream(1, 2, 3), "stream"), message = "seen"))
  }
  off <- gptr_register(gptr_spec("service", "check.adapter", fun = function(spec) answer(spec)))
  on.exit(off())
  rows <- gptr_check(adapter)
  expect_identical(rows$check[[3L]], "adapter.text")
  expect_true(rows$ok[[3L]])
  answer <- function(spec) data.frame(check = c("adapter.a", "adapter.b"), ok = c(TRUE, FALSE), message = "m")
  expect_identical(gptr_check(adapter)$ok[3:4], c(TRUE, FALSE))
  answer <- function(spec) stop("no replay")
  rows <- gptr_check(adapter)
  expect_identical(rows$check[[3L]], "adapter.replay")
  expect_match(rows$message[[3L]], "no replay", fixed = TRUE)
  answer <- function(spec) "what"
  expect_false(gptr_check(adapter)$ok[[3L]])
})

test_that("what declarations and examples cost", {
  texts <- function(n = 1L) if (is.character(n)) stop("no number") else rep("text", n)
  tool <- gptr_tool("t", "d", fun = texts, parameters = list(
    type = "object", properties = list(n = list(type = "integer"))
  ))
  tool$examples <- list(list(n = 1L), list(n = 9000L), list(n = "x"))
  rows <- gptr_check(tool, tokens = TRUE)
  rows <- rows[startsWith(rows$check, "tokens."), ]
  expect_identical(rows$check, c("tokens.declaration", paste0("tokens.example.", 1:3)))
  expect_identical(rows$ok, c(TRUE, TRUE, FALSE, FALSE))
  expect_match(rows$message[[2L]], "budget 1500", fixed = TRUE)
  tool$output_tokens <- 1e5
  expect_true(gptr_check(tool, tokens = TRUE)$ok[[8L]])
})

test_that("during a check a live API object registers nothing, and may still be asked", {
  kept <- NULL
  local_load(function(gptr) kept <<- gptr)
  rows <- gptr_check(function(gptr) {
    gptr$register(a_command("inner"))
    stopifnot(kept$has("route"), kept$require("1.0"))
    kept$register(a_command("leak"))
  })
  expect_match(rows$message[rows$check == "factory.load"], "plugin:demo", fixed = TRUE)
  expect_null(winner_of("leak"))
  kept$register(a_command("leak"))
  expect_identical(winner_of("leak"), "leak")
})

test_that("an extension file is checked by its path", {
  file <- withr::local_tempfile(
    fileext = ".R", lines = "function(gptr) gptr$register(gptr::gptr_prompt_section('s', 'text'))"
  )
  rows <- gptr_check(file)
  expect_true(all(rows$ok))
  expect_true("prompt_section:s" %in% rows$target)
  for (lines in list("function(gptr) {", "1 + 1", "stop('at load')")) {
    writeLines(lines, file)
    rows <- gptr_check(file)
    expect_identical(rows$check, "factory.load")
    expect_false(rows$ok)
  }
  rows <- gptr_check("no/such/file.R")
  expect_identical(rows$check, "factory.load")
  # A folder of the package's name beside one is not the package.
  withr::local_dir(withr::local_tempdir())
  dir.create("stats")
  expect_identical(gptr_check("stats")$target[[1L]], "package:stats")
})

test_that("an adapter and the service that checks it may come from one factory", {
  rows <- gptr_check(function(gptr) {
    gptr$register_service("check.adapter", fun = function(spec) list(list(check = "adapter.own", ok = TRUE)))
    gptr$register(gptr_adapter("wire", transport = "inprocess", stream = function(model, context, opts) NULL))
  })
  expect_true(all(rows$ok))
  expect_true("adapter.own" %in% rows$check)
})
