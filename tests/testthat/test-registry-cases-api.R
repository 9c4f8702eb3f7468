test_that("case 80: members of the API object", {
  kept <- NULL
  local_load(function(gptr) {
    kept <<- gptr
    gptr$state$n <- 1L
  })
  cond <- caught_error(kept$register <- NULL)
  expect_s3_class(cond, "gptr_error_readonly")
  expect_identical(unclass(cond)[c("object", "field")], list(object = "gptr_extension_api", field = "register"))
  kept$state$n <- kept$state$n + 1L
  expect_identical(kept$state$n, 2L)
  expect_error(kept$state <- new.env(), class = "gptr_error_readonly")
  cond <- caught_error(kept$nope)
  expect_s3_class(cond, "gptr_error_unknown_member")
  expect_true(all(c("name", "dir", "state", "register", "register_tool", "on", "require", "has") %in% cond$available))
  expect_match(utils::capture.output(print(kept))[[1L]], "<gptr_extension_api 1.0> plugin:demo", fixed = TRUE)
})

test_that("case 81: requirements on the API", {
  kept <- NULL
  local_load(function(gptr) kept <<- gptr)
  for (met in c("1.0", ">= 1.0, < 2", "1")) {
    expect_identical(withVisible(kept$require(met)), list(value = TRUE, visible = FALSE))
  }
  for (unmet in c("1.9", ">= 2.0", "one", "1.0,", "1.0, < 2", "99999999999.0", ">= 99999999999")) {
    cond <- caught_error(kept$require(unmet))
    expect_s3_class(cond, "gptr_error_api_version")
    expect_identical(cond$required, unmet)
    expect_identical(cond$available, "1.0")
    expect_identical(cond$plugin, "plugin:demo")
  }
})

test_that("case 82: features of the API", {
  kept <- NULL
  local_load(function(gptr) kept <<- gptr)
  expect_true(kept$has("kind.router"))
  expect_false(kept$has("kind.widget"))
})

test_that("case 83: built-ins load once, in the order of what they need", {
  loaded <- character()
  one <- function(name) function(gptr) loaded <<- c(loaded, name)
  names <- c("c83-tools", "c83-prompt", "c83-core", "c83-console")
  withr::defer(for (name in names) unload_source(paste0("builtin:", name)))
  declare_builtin("c83-tools", one("tools"), after = "c83-prompt")
  declare_builtin("c83-prompt", one("prompt"), after = c("c83-core", "c83-unknown"))
  declare_builtin("c83-bad", function(gptr) stop("no"))
  declare_builtin("c83-core", one("core"))
  declare_builtin("c83-console", one("console"))
  rows <- logged(suppressWarnings(load_builtins()))
  expect_identical(loaded, c("core", "console", "prompt", "tools"))
  expect_identical(rows$source, "builtin:c83-bad")
  load_builtins()
  expect_length(loaded, 4L)
  for (bad in c("Bad Name", "demo\n", "")) {
    cond <- caught_error(declare_builtin(bad, function(gptr) NULL))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "name")
  }
})

test_that("built-ins are records like all others", {
  rows <- gptr_registry()
  expect_identical(unique(rows$rank[startsWith(rows$source, "builtin:")]), 6L)
  expect_true(all(c("builtin:permissions", "builtin:plan", "builtin:tools") %in% rows$source))
  expect_identical(rows$source[rows$kind == "policy" & rows$name == "plan"], "builtin:plan")
})

test_that("a stale API object signals so, its name can still be read", {
  kept <- NULL
  off <- NULL
  run <- local_load(function(gptr) {
    kept <<- gptr
    off <<- gptr$register(a_command("stale"))
  })
  expect_identical(winner_of("stale"), "stale")
  engine(.Call(wrap__ext_rollback, run$load))
  uses <- list(
    function() kept$register(a_command("x")), function() kept$require("1.0"), function() kept$has("route"), off
  )
  for (use in uses) {
    cond <- caught_error(use())
    expect_s3_class(cond, "gptr_error_stale_api")
    expect_identical(cond$plugin, "plugin:demo")
  }
  expect_identical(kept$name, "plugin:demo")
  expect_null(kept$dir)
  expect_true(is.environment(kept$state))
})

test_that("a remover of an extension says TRUE every time", {
  off <- NULL
  local_load(function(gptr) off <<- gptr$register(a_command("often")))
  expect_identical(withVisible(off()), list(value = TRUE, visible = FALSE))
  expect_identical(withVisible(off()), list(value = TRUE, visible = FALSE))
  expect_null(winner_of("often"))
})

test_that("case 66: a kind that a factory defines can be used in it, and goes with it", {
  run <- local_load(function(gptr) {
    gptr$register_kind("grader", validate = function(spec) {
      if (is.null(spec$scale)) stop("a grader needs a scale")
      spec$seen <- TRUE
      spec
    })
    gptr$register_grader("strict", scale = 5L)
    gptr$register(gptr_spec("grader", "mild", scale = 3L))
  })
  expect_null(run$failure)
  expect_identical(gptr_registry("grader")$name, c("strict", "mild"))
  ctx <- new_ctx()
  expect_true(ctx$get("grader", "strict")$seen)
  failed <- local_load(function(gptr) {
    gptr$register_kind("ghost", validate = function(spec) spec)
    gptr$register_ghost("x")
    stop("late")
  }, "plugin:ghost")
  expect_identical(conditionMessage(failed$failure), "late")
  expect_error(gptr_spec("ghost", "x"), class = "gptr_error_unknown_kind")
  refused <- local_load(function(gptr) {
    gptr$register_kind("fussy", validate = function(spec) stop("never"))
    gptr$register_fussy("x")
  }, "plugin:fussy")
  expect_s3_class(refused$failure, "gptr_error_invalid_spec")
})

test_that("case 78: a load that fails leaves an earlier one, and its state, as they were", {
  kept <- NULL
  local_load(function(gptr) {
    kept <<- gptr
    gptr$state$count <- 1L
    gptr$register(a_command("case78"))
  }, "plugin:case78")
  failed <- local_load(function(gptr) {
    gptr$state$count <- 2L
    gptr$state$new <- TRUE
    gptr$register(a_command("case78b"))
    stop("second")
  }, "plugin:case78")
  expect_identical(conditionMessage(failed$failure), "second")
  expect_identical(as.list(kept$state), list(count = 1L))
  expect_identical(winner_of("case78"), "case78")
  expect_null(winner_of("case78b"))
  unload_source("plugin:case78")
})
