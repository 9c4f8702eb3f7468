# gptr_register(), gptr_registry() and gptr_reload(): precedence, ties, removers, states, and who may change what.

section <- function(name, text = "Text.", ...) gptr_prompt_section(name, text, ...)

rows_of <- function(name, kind = NULL) {
  rows <- gptr_registry(kind)
  rows[rows$name == name, ]
}

test_that("case_1_1: the API has a version and its features in order", {
  api <- gptr_api()
  expect_s3_class(api, "gptr_api")
  expect_identical(api$version, package_version("1.0"))
  expect_identical(length(api$features), 93L)
  kinds <- sub("^kind[.]", "", grep("^kind[.]", api$features, value = TRUE))
  expect_identical(kinds, sort(kinds, method = "radix"))
  expect_identical(api$features[seq_along(kinds)], paste0("kind.", kinds))
  expect_length(grep("^event[.]", api$features), 49L)
  expect_identical(utils::tail(api$features, 6),
    c("lazy_activation", "declarations", "ctx.decide", "ctx.secret", "route", "services"))
  expect_identical(utils::capture.output(print(api)), "<gptr_api 1.0> 93 features")
})

test_that("registering returns a remover, invisibly, that works once", {
  got <- withVisible(gptr_register(section("reg_one")))
  expect_false(got$visible)
  row <- rows_of("reg_one")
  expect_identical(row$kind, "prompt_section")
  expect_identical(row$source, "user")
  expect_identical(row$rank, 3L)
  expect_identical(row$state, "active")
  first <- withVisible(got$value())
  expect_identical(first, list(value = TRUE, visible = FALSE))
  expect_identical(withVisible(got$value()), list(value = FALSE, visible = FALSE))
  expect_identical(nrow(rows_of("reg_one")), 0L)
})

test_that("case_44: only specs are registered, and an altered one is checked again", {
  for (x in list(list(kind = "command"), NULL, "x", mtcars, function(gptr) NULL)) {
    cond <- caught(gptr_register(x))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "spec")
  }
  spec <- gptr_command("reg_cmd", function(args, ctx) NULL)
  spec$handler <- "a string"
  cond <- caught(gptr_register(spec))
  expect_s3_class(cond, "gptr_error_invalid_spec")
  expect_identical(cond$field, "handler")
  expect_identical(conditionMessage(cond),
    "Invalid command spec 'reg_cmd': field 'handler' must be a function accepting (args, ctx).")
  spec <- section("reg_other")
  spec$kind <- "widget"
  expect_s3_class(caught(gptr_register(spec)), "gptr_error_unknown_kind")
  spec$kind <- NULL
  expect_s3_class(caught(gptr_register(spec)), "gptr_error")
  expect_identical(nrow(rows_of("reg_other")), 0L)
})

test_that("a spec that is changed after registration changes nothing", {
  said <- "first"
  spec <- plain_tool("reg_value", function(input, ctx) said)
  registered(spec)
  spec$description <- "changed"
  spec$execute <- function(input, ctx) "changed"
  session <- run(fake(call_of("reg_value"), "end"))
  expect_identical(result_text(session), "first")
})

test_that("case_37 and H05: of two records of one name and rank the first wins, the tie is reported, each remover removes its own", {
  before <- nrow(gptr_registry(diagnostics = TRUE))
  tool <- function(text) plain_tool("reg_tie", function(input, ctx) text)
  off1 <- gptr_register(tool("one"))
  off2 <- gptr_register(tool("two"))
  withr::defer({
    off1()
    off2()
  })
  say <- function() result_text(run(fake(call_of("reg_tie"), "end")))
  expect_identical(rows_of("reg_tie")$state, c("active", "overridden"))
  log <- diagnostics_since(before)
  expect_identical(log$class, "collision")
  expect_identical(log$event, "register")
  expect_match(log$message, "reg_tie")
  expect_identical(say(), "one")
  expect_true(off1())
  expect_identical(say(), "two")
  expect_false(off1())
  expect_identical(rows_of("reg_tie")$state, "active")
  expect_true(off2())
  expect_identical(say(), "Tool reg_tie not found")
})

test_that("H07: a remover does not remove what was registered under its name later", {
  off1 <- gptr_register(section("reg_again"))
  off1()
  off2 <- gptr_register(section("reg_again"))
  expect_false(off1())
  expect_identical(nrow(rows_of("reg_again")), 1L)
  expect_true(off2())
})

test_that("case_38: a user's tool goes before the built-in of its name alone, until it is removed", {
  off <- gptr_register(plain_tool("r", function(input, ctx) "mine"))
  states <- rows_of("r", "tool")
  expect_setequal(paste(states$source, states$state), c("builtin:tools overridden", "user active"))
  expect_identical(rows_of("help", "tool")$state, "active")
  session <- run(fake(call_of("r"), "end"))
  expect_identical(result_text(session), "mine")
  off()
  expect_identical(rows_of("r", "tool")$state, "active")
  expect_match(result_text(run(fake(r_call("1 + 1"), "end"))), "[1] 2", fixed = TRUE)
})

test_that("a tool that takes the name of the built-in r has none of its privileges", {
  registered(plain_tool("r", function(input, ctx) {
    tryCatch({
      gptr_register(section("from_impostor"))()
      "registered"
    }, error = function(e) class(e)[[1]])
  }))
  session <- run(fake(call_of("r"), "end"))
  expect_identical(result_text(session), "registered")
})

test_that("H74: kinds do not share names", {
  registered(section("reg_shared"))
  registered(gptr_command("reg_shared", function(args, ctx) NULL))
  registered(plain_tool("reg_shared", function(input, ctx) "x"))
  expect_setequal(rows_of("reg_shared")$kind, c("prompt_section", "command", "tool"))
  expect_setequal(rows_of("reg_shared")$state, "active")
})

test_that("additive kinds never override and never collide", {
  before <- nrow(gptr_registry(diagnostics = TRUE))
  registered(section("reg_many"))
  registered(section("reg_many"))
  expect_identical(rows_of("reg_many")$state, c("active", "active"))
  expect_identical(nrow(diagnostics_since(before)), 0L)
})

test_that("case_39: policies are asked in the order of their numbers, then as registered", {
  asked <- character()
  policy <- function(name, order) {
    gptr_policy(name, function(call, ctx) {
      asked <<- c(asked, name)
      NULL
    }, order = order)
  }
  for (p in list(policy("late", 900L), policy("middle1", 500L), policy("early", 50L), policy("middle2", 500L))) registered(p)
  run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) "x"))
  expect_identical(asked, c("early", "middle1", "middle2", "late"))
})

test_that("the listing has its columns, types and classes", {
  registered(section("reg_listed"))
  rows <- gptr_registry()
  expect_identical(class(rows), c("gptr_registry", "data.frame"))
  expect_identical(vapply(rows, typeof, ""), c(kind = "character", name = "character", source = "character", rank = "integer",
    state = "character", tokens = "double", experimental = "logical"))
  kinds <- unique(rows$kind)
  expect_identical(kinds, sort(kinds, method = "radix"))
  expect_identical(unique(gptr_registry(c("tool", "policy"))$kind), c("tool", "policy"))
  expect_s3_class(rows[1:2, ], "gptr_registry")
  expect_gt(rows_of("reg_listed")$tokens, 0)
})

test_that("case_46: only experimental kinds are marked, and tools cost tokens", {
  registered(gptr_spec("service", "reg.service", fun = function() 1))
  registered(plain_tool("reg_tool", function(input, ctx) "x"))
  expect_true(rows_of("reg.service")$experimental)
  expect_false(rows_of("reg_tool")$experimental)
  expect_gt(rows_of("reg_tool")$tokens, 0)
  expect_identical(rows_of("reg.service")$tokens, 0)
  lines <- utils::capture.output(print(gptr_registry("service")))
  expect_identical(lines[[1]], "<gptr_registry> 1 record(s)")
  expect_match(lines[[2]], "kind +name +source")
  expect_match(lines[[3]], "service +reg.service +user")
})

test_that("a listing without records is its header alone", {
  expect_identical(utils::capture.output(print(gptr_registry("artifact_type"))), "<gptr_registry> 0 record(s)")
})

test_that("case_47: unknown kinds and wrong arguments are errors", {
  cond <- caught(gptr_registry("widget"))
  expect_s3_class(cond, "gptr_error_unknown_kind")
  expect_s3_class(cond, "gptr_error_invalid_spec")
  expect_identical(cond$kind, "widget")
  expect_identical(cond$field, "kind")
  rows <- list(kind = quote(gptr_registry(1)), kind = quote(gptr_registry(NA_character_)),
    diagnostics = quote(gptr_registry(diagnostics = "yes")), diagnostics = quote(gptr_registry("tool", diagnostics = TRUE)))
  for (i in seq_along(rows)) expect_identical(caught(eval(rows[[i]]))$arg, names(rows)[[i]])
})

test_that("case_48: the listing is the identical object until something changes", {
  one <- gptr_registry()
  expect_identical(rlang::obj_address(gptr_registry()), rlang::obj_address(one))
  run(fake("hello"), tools = plain_tool("reg_private", function(input, ctx) "x"))
  off <- gptr_register(section("reg_cached"))
  two <- gptr_registry()
  expect_identical(nrow(two), nrow(one) + 1L)
  off()
  expect_identical(gptr_registry(), one)
})

test_that("case_49: the log is a data frame of the last 1,000 rows", {
  for (i in seq_len(1005)) gptr:::engine(.Call(gptr:::wrap__registry_diagnose, "user", "test", "kind_of", paste("row", i)))
  log <- gptr_registry(diagnostics = TRUE)
  expect_identical(class(log), c("gptr_diagnostics", "data.frame"))
  expect_identical(names(log), c("time", "source", "event", "class", "message"))
  expect_s3_class(log$time, "POSIXct")
  expect_identical(nrow(log), 1000L)
  expect_identical(utils::tail(log$message, 1), "row 1005")
  expect_identical(utils::capture.output(print(log))[[1]], "<gptr_diagnostics> 1000 row(s)")
})

test_that("listings print the same in UTF-8 and in the C locale", {
  code <- c(
    "library(gptr)",
    "invisible(gptr_register(gptr_prompt_section('b_sec', 'x')))", "invisible(gptr_register(gptr_prompt_section('A_sec', 'x')))",
    "invisible(gptr_register(gptr_prompt_section('_sec', 'x')))",
    "print(gptr_registry('prompt_section')$name)", "print(unique(gptr_registry()$kind))", "print(gptr_registry())",
    "print(gptr_api()$features)", "print(names(peter))",
    "s <- peter('caf\\u00e9', model = gptr_fake_provider(list('na\\u00efve')), envir = new.env())",
    "cat(utf8ToInt(s$text), '\\n')"
  )
  utf8 <- in_own_process(code, c(LC_ALL = "C.UTF-8"))
  plain <- in_own_process(code, c(LC_ALL = "C"))
  expect_identical(utf8$status, 0L, info = utf8$err)
  expect_identical(plain$status, 0L, info = plain$err)
  expect_identical(plain$out, utf8$out)
  expect_true(paste(c(utf8ToInt("na\u00efve"), ""), collapse = " ") %in% utf8$out)
})

test_that("a session prints in the C locale", {
  done <- in_own_process(c(
    "library(gptr)", "print(peter('x', model = gptr_fake_provider(list('done \\u2713')), envir = new.env()))"
  ), c(LC_ALL = "C"))
  expect_identical(done$status, 0L, info = done$err)
  expect_match(done$out[[1]], "^done ")
  expect_match(done$out[[2]], "^idle \\. fake/fake-1 \\. 1 turn \\. ")
})

# ---- models, kinds, admission ---------------------------------------------------------------------------------------

test_that("case_42: an operator's context block needs the rank of a user", {
  block <- gptr_context_block("reg_block", function(ctx, budget) "x", authority = "operator")
  registered(block)
  expect_identical(nrow(rows_of("reg_block")), 1L)
  cond <- caught(run(fake("x"), extensions = function(gptr) gptr$register(block)))
  expect_s3_class(cond, "gptr_error_extension")
  expect_identical(cond$parent$field, "authority")
})

test_that("case_43: namespaces are checked against reserved names and members", {
  tool <- function(ns) gptr_tool("x", "d", fun = function() 1, exposure = "r", namespace = ns)
  for (ns in c("mcp", "help", "read")) {
    cond <- caught(gptr_register(tool(ns)))
    expect_s3_class(cond, "gptr_error_invalid_spec")
    expect_identical(cond$field, "namespace")
  }
  registered(gptr_tool("reg_member", "d", fun = function() 1, exposure = "r"))
  expect_match(conditionMessage(caught(gptr_register(tool("reg_member")))), "existing peter\\$ member")
})

test_that("registered models are listed", {
  registered(gptr_provider("corp", api = "openai-completions", base_url = "https://llm.corp.example/v1",
    auth = "CORP_LLM_KEY", models = list(list(id = "corp-large", context = 128000))))
  rows <- gptr_models(provider = "corp")
  expect_identical(rows$ref, "corp/corp-large")
  expect_identical(rows$context, 128000)
  expect_true(is.na(rows$input_price))
  expect_identical(nrow(gptr_models("no such model at all")), 0L)
  expect_identical(gptr_models("LARGE", "corp")$ref, "corp/corp-large")
})

test_that("case_36: session before user before built-in; another session does not see it", {
  registered(plain_tool("reg_which", function(input, ctx) "user"))
  mine <- run(fake(call_of("reg_which"), "end"), tools = plain_tool("reg_which", function(input, ctx) "session"))
  other <- run(fake(call_of("reg_which"), "end"))
  expect_identical(c(result_text(mine), result_text(other)), c("session", "user"))
})

test_that("gptr_reload() counts generations and keeps what the user registered", {
  registered(section("reg_kept"))
  first <- withVisible(gptr_reload())
  expect_false(first$visible)
  expect_type(first$value, "integer")
  expect_identical(gptr_reload(), first$value + 1L)
  expect_identical(nrow(rows_of("reg_kept")), 1L)
})

# ---- packages that register when they are loaded --------------------------------------------------------------------

# Makes and installs a package whose .onLoad registers `calls`, lines of R code.
install_package <- function(name, calls, library) {
  dir <- file.path(withr::local_tempdir(), name)
  dir.create(file.path(dir, "R"), recursive = TRUE)
  writeLines(c(paste("Package:", name), "Version: 0.1.0", "Title: Registers", "Description: Registers when loaded.",
    "Author: Nobody", "Maintainer: Nobody <nobody@example.org>", "License: MIT"), file.path(dir, "DESCRIPTION"))
  writeLines("export(hello)", file.path(dir, "NAMESPACE"))
  writeLines(c("hello <- function() 'hello'", ".onLoad <- function(libname, pkgname) {", calls, "}"), file.path(dir, "R", "all.R"))
  args <- c("CMD", "INSTALL", "--no-docs", "--no-test-load", paste0("--library=", shQuote(library)), shQuote(dir))
  out <- system2(file.path(R.home("bin"), "R"), args, stdout = TRUE, stderr = TRUE,
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep)))
  if (!is.null(attr(out, "status"))) testthat::skip(paste("R CMD INSTALL failed:", paste(out, collapse = "\n")))
}

test_that("a package that registers in .onLoad comes and goes as plugin:<package>", {
  library <- withr::local_tempdir()
  install_package("regplugin", c(
    "  gptr::gptr_register(gptr::gptr_tool('say', 'Say', fun = function() 'from the plugin', exposure = 'r',",
    "    namespace = 'regplugin'))",
    "  gptr::gptr_register(gptr::gptr_hook('turn_start', function(event, ctx) NULL))"
  ), library)
  withr::local_libpaths(library, action = "prefix")
  before <- gptr_registry()
  loadNamespace("regplugin")
  mine <- gptr_registry()[gptr_registry()$source == "plugin:regplugin", ]
  expect_setequal(mine$kind, c("tool", "hook"))
  expect_identical(unique(mine$rank), 5L)
  expect_identical(peter$regplugin$say(), "from the plugin")
  expect_error(peter$regplugin$nosuch, class = "gptr_error_unknown_member")
  log <- nrow(gptr_registry(diagnostics = TRUE))
  unloadNamespace("regplugin")
  expect_identical(gptr_registry(), before)
  expect_error(peter$regplugin, class = "gptr_error_unknown_member")
  expect_true("unloaded" %in% utils::tail(gptr_registry(diagnostics = TRUE), 1)$class)
  loadNamespace("regplugin")
  expect_identical(peter$regplugin$say(), "from the plugin")
  unloadNamespace("regplugin")
  expect_identical(gptr_registry(), before)
})

test_that("case_45 of the guard: model code that loads such a package is not refused, and the package gets the record", {
  library <- withr::local_tempdir()
  install_package("regbymodel", c(
    "  gptr::gptr_register(gptr::gptr_tool('say', 'Say', fun = function() 'here', exposure = 'r', namespace = 'regbymodel'))"
  ), library)
  withr::local_libpaths(library, action = "prefix")
  session <- run(fake(r_call("loadNamespace('regbymodel')\npeter$regbymodel$say()"), "end"))
  withr::defer(unloadNamespace("regbymodel"))
  expect_false(result_failed(session))
  expect_match(result_text(session), "here")
  expect_identical(rows_of("regbymodel/say")$source, "plugin:regbymodel")
})

test_that("a plugin's r tool needs a namespace, and a failing .onLoad leaves nothing", {
  library <- withr::local_tempdir()
  install_package("regbroken", c(
    "  gptr::gptr_register(gptr::gptr_prompt_section('from_broken', 'x'))",
    "  gptr::gptr_register(gptr::gptr_tool('say', 'Say', fun = function() 1, exposure = 'r'))"
  ), library)
  withr::local_libpaths(library, action = "prefix")
  expect_error(loadNamespace("regbroken"), "namespace")
  expect_false("regbroken" %in% loadedNamespaces())
  expect_identical(nrow(rows_of("from_broken")), 0L)
})
test_that("case_41: a registered kind is a kind until it is removed, with its records", {
  off <- gptr_register(gptr_spec("kind", "reg_reviewer", fields = "level", validate = function(spec) {
    if (is.null(spec$level)) stop("needs a level")
    spec
  }))
  expect_true("kind.reg_reviewer" %in% gptr_api()$features)
  registered(gptr_spec("reg_reviewer", "strict", level = 2))
  expect_true(rows_of("strict")$experimental)
  cond <- caught(gptr_spec("kind", "reg_reviewer", validate = function(spec) spec))
  cond <- caught(gptr_register(gptr_spec("kind", "reg_reviewer", validate = function(spec) spec)))
  expect_s3_class(cond, "gptr_error_invalid_spec")
  expect_identical(cond$field, "name")
  expect_true(off())
  expect_false("kind.reg_reviewer" %in% gptr_api()$features)
  expect_s3_class(caught(gptr_registry("reg_reviewer")), "gptr_error_unknown_kind")
})
