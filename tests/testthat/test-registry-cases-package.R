# Installs a small package and puts its library first for the calling test. `files` are lines by path.
local_package <- function(name, files, description = character(), env = parent.frame()) {
  source <- withr::local_tempdir(.local_envir = env)
  library <- withr::local_tempdir(.local_envir = env)
  root <- file.path(source, name)
  files[["DESCRIPTION"]] <- c(
    paste("Package:", name), "Version: 0.1", "Title: T", "Description: D.", "License: MIT", description
  )
  for (path in names(files)) {
    dir.create(file.path(root, dirname(path)), recursive = TRUE, showWarnings = FALSE)
    writeLines(files[[path]], file.path(root, path))
  }
  utils::install.packages(root, lib = library, repos = NULL, type = "source", quiet = TRUE)
  withr::local_libpaths(library, action = "prefix", .local_envir = env)
  withr::defer(if (isNamespaceLoaded(name)) unloadNamespace(name), envir = env)
}

row_of <- function(rows, check) rows[rows$check == check, ]

code <- c(
  "extension <- function(gptr) {",
  "  gptr$register_tool('search', description = 'd', fun = function(words) words, exposure = 'r',",
  "    namespace = 'gptrtrial')",
  "  gptr$on('message_end', function(event, ctx) NULL)",
  "}",
  "hidden <- function(gptr) NULL",
  "known <- 'fake/one'",
  "bare <- function(x) gptr::peter('go', x, model = opus)",
  "fine <- function(mode, ...) {",
  "  local <- 'a/b'",
  "  for (tools in list()) NULL",
  "  inner <- function(skills) gptr::peter('go', skills = skills, mode = mode, preset = local)",
  "  gptr::peter('go', model = known, tools = tools, extensions = identity, plugins = NULL)",
  "  inner(letters)",
  "}",
  "quoted <- function(model) gptr::gptr_agent('rev', 'd', model)",
  "nested <- function() lapply(1:2, function(i) gptr_parallel(i, backend = cluster))"
)

manifest <- function(entry = "gptrtrial::extension", tool = "gptrtrial/search") {
  sprintf(paste0('{"name": "gptrtrial", "gptr": {"api": ">= 1.0, < 2"}, "extension": {"entry": "%s", "provides": ',
    '{"tool": ["%s"], "hook": ["message_end"], "command": ["missing"]}, "declarations": {"%s": {"signature": "s"}}}}'),
    entry, tool, tool)
}

test_that("case 105: a package is checked from its manifest to its code", {
  skip_on_cran()
  local_package("gptrtrial", list(
    NAMESPACE = "export(extension)", "R/code.R" = code, "inst/gptr/plugin.json" = manifest()
  ))
  rows <- gptr_check("gptrtrial", tokens = TRUE)
  package <- rows[rows$target == "package:gptrtrial", ]
  expect_identical(package$check, c(
    "package.installed", "manifest.present", "manifest.valid", "api.declared", "api.satisfied", "factory.exported",
    "tokens.declarations", "code.identifiers"
  ))
  expect_identical(package$check[!package$ok], "code.identifiers")
  expect_identical(row_of(rows, "code.identifiers")$message,
    "bare: model = opus; nested: backend = cluster; quoted: model = model")
  expect_true(row_of(rows, "provides.tool:gptrtrial/search")$ok)
  expect_true(row_of(rows, "provides.hook:message_end")$ok)
  missing <- row_of(rows, "provides.command:missing")
  expect_false(missing$ok)
  expect_identical(missing$target, "factory")
  expect_true(row_of(rows, "factory.load")$ok)
  expect_true("tool:search" %in% rows$target)
  expect_identical(nrow(gptr_why("gptrtrial/search")), 0L)
})

test_that("case 105: a package that is not there is one row", {
  rows <- gptr_check("no.such.package")
  expect_identical(unclass(rows)[c("target", "check", "ok")],
    list(target = "package:no.such.package", check = "package.installed", ok = FALSE))
})

test_that("a broken manifest, a version that is not met, an entry that is not exported", {
  skip_on_cran()
  local_package("gptrtrial", list(
    NAMESPACE = "export(extension)", "R/code.R" = code, "inst/gptr/plugin.json" = manifest("gptrtrial::hidden")
  ))
  rows <- gptr_check("gptrtrial")
  expect_match(row_of(rows, "factory.exported")$message, "not exported", fixed = TRUE)
  expect_false("factory.load" %in% rows$check)
  unloadNamespace("gptrtrial")
  local_package("gptrtrial", list(
    NAMESPACE = "export(extension)", "R/code.R" = code[1:5], "inst/gptr/plugin.json" = "[1]"
  ), description = "Config/gptr/api: >= 2.0")
  rows <- gptr_check("gptrtrial")
  expect_identical(rows$check[!rows$ok], c("manifest.valid", "api.satisfied"))
  expect_true(row_of(rows, "code.identifiers")$ok)
  unloadNamespace("gptrtrial")
  local_package("gptrtrial", list(NAMESPACE = "export(extension)", "R/code.R" = code[1:5]),
    description = c("Config/gptr/api: 1.0", "Config/gptr/plugin: true"))
  rows <- gptr_check("gptrtrial")
  expect_identical(rows$check,
    c("package.installed", "manifest.present", "api.declared", "api.satisfied", "code.identifiers"))
  expect_true(all(rows$ok))
})

test_that("what a package registers while it loads is its own, and leaves with it", {
  skip_on_cran()
  local_package("gptrtrial", list(NAMESPACE = "", "R/code.R" = c(
    ".onLoad <- function(libname, pkgname) {",
    "  gptr::gptr_register(gptr::gptr_command('on_load', function(args, ctx) 1))", "}"
  )))
  # Whoever loads it: here, code that the model wrote.
  as_model_code(loadNamespace("gptrtrial"))
  rows <- listed("on_load")
  expect_identical(unclass(rows)[c("source", "rank")], list(source = "plugin:gptrtrial", rank = 5L))
  rows <- logged(unloadNamespace("gptrtrial"))
  expect_identical(rows$class, "unloaded")
  expect_identical(nrow(listed("on_load")), 0L)
  loadNamespace("gptrtrial")
  expect_identical(nrow(listed("on_load")), 1L)
  expect_length(getHook(packageEvent("gptrtrial", "onUnload")), 1L)
  unloadNamespace("gptrtrial")
  expect_identical(nrow(listed("on_load")), 0L)
})

test_that("a package that loads another while it loads does not get the other's records", {
  skip_on_cran()
  local_package("gptrinner", list(NAMESPACE = "", "R/code.R" = c(
    ".onLoad <- function(libname, pkgname) {",
    "  gptr::gptr_register(gptr::gptr_command('inner_load', function(args, ctx) 1))", "}"
  )))
  local_package("gptrouter", list(NAMESPACE = "", "R/code.R" = c(
    ".onLoad <- function(libname, pkgname) {", "  requireNamespace('gptrinner')",
    "  gptr::gptr_register(gptr::gptr_command('outer_load', function(args, ctx) 1))", "}"
  )))
  loadNamespace("gptrouter")
  expect_identical(listed("inner_load")$source, "plugin:gptrinner")
  expect_identical(listed("outer_load")$source, "plugin:gptrouter")
})
