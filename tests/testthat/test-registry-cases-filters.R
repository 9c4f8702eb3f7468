# Filters of a scope, lifted at the end of the calling test.
local_filters <- function(filters, scope = "session", env = parent.frame()) {
  withr::defer(set_filters(NULL, scope), envir = env)
  set_filters(filters, scope)
}

state_of <- function(name, kind = "command") gptr_registry(kind)$state[gptr_registry(kind)$name == name]

test_that("case 52: a filter hides a record until it is lifted", {
  registered(a_command("case52"))
  keys <- local_filters("-command:case52")
  expect_identical(as.character(keys), "command:case52")
  expect_null(winner_of("case52"))
  expect_identical(state_of("case52"), "disabled")
  local_filters("+command:case52")
  expect_identical(state_of("case52"), "active")
  expect_identical(winner_of("case52"), "case52")
})

test_that("case 53: a later scope takes a filter back", {
  registered(a_command("case53"))
  local_filters("-command:case53", "user")
  expect_null(winner_of("case53"))
  keys <- local_filters("+command:case53", "session")
  expect_identical(as.character(keys), character())
  expect_identical(winner_of("case53"), "case53")
})

test_that("case 54: a filter on a source hides all that it brought", {
  for (name in c("case54a", "case54b")) local_record(a_command(name), "builtin:case54")
  local_record(a_command("case54c"), "plugin:panel")
  local_filters(c("-builtin:case54", "-plugin:panel"))
  expect_identical(c(state_of("case54a"), state_of("case54b"), state_of("case54c")), rep("disabled", 3L))
  set_filters(NULL, "session")
  expect_identical(c(state_of("case54a"), state_of("case54b"), state_of("case54c")), rep("active", 3L))
})

test_that("case 55: what guards can't be filtered", {
  guards <- c(
    "-builtin:permissions", "-builtin:plan", "-policy:critical_guard", "-policy:secret_guard", "-builtin:secrets"
  )
  for (filter in guards) {
    for (scope in c("user", "project", "session")) {
      keys <- local_filters(filter, scope)
      expect_identical(as.character(keys), character())
      expect_identical(attr(keys, "refused"), filter)
    }
  }
  local_filters("-policy:mode")
  expect_identical(state_of("mode", "policy"), "active")
})

test_that("case 56: a project's filter leaves the user's policies alone", {
  policy <- function(name) gptr_policy(name, function(call, ctx) NULL)
  registered(policy("case56_mine"))
  local_record(policy("case56_theirs"), "plugin:p")
  rows <- logged(local_filters(c("-policy:case56_mine", "-policy:case56_theirs"), "project"))
  expect_identical(state_of("case56_mine", "policy"), "active")
  expect_identical(state_of("case56_theirs", "policy"), "disabled")
  expect_true("filter_limited" %in% rows$class)
})

test_that("cases 57 and 58: during a run no policy or hook is turned off", {
  registered(gptr_policy("case57", function(call, ctx) NULL))
  registered(a_command("case57"))
  seen <- NULL
  registered(gptr_hook("tool_result", function(event, ctx) {
    seen <<- set_filters(c("-policy:case57", "-command:case57"), "session")
    NULL
  }))
  withr::defer(set_filters(NULL, "session"))
  run(fake(r_call("1 + 1"), "done"))
  expect_identical(attr(seen, "refused"), "-policy:case57")
  expect_identical(as.character(seen), "command:case57")
  expect_identical(state_of("case57"), "disabled")
  keys <- local_filters("-policy:case57")
  expect_identical(as.character(keys), "policy:case57")
  expect_identical(state_of("case57", "policy"), "disabled")
})

test_that("case 59: malformed filters change nothing", {
  registered(a_command("case59"))
  local_filters("-command:case59")
  wrong <- list(
    "builtin:mcp", "-Tool:x", "-tool:x\n", NA_character_, 1, "-tool:", "-tool:a b", "", c("-command:x", "?")
  )
  for (bad in wrong) {
    cond <- caught_error(set_filters(bad, "session"))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "filters")
  }
  for (scope in list("global", NA_character_, 1)) {
    cond <- caught_error(set_filters("-command:x", scope))
    expect_identical(cond$arg, "scope")
  }
  expect_identical(state_of("case59"), "disabled")
})

test_that("case 60: a filter may come before its kind", {
  rows <- logged(keys <- local_filters("-case60:stats"))
  expect_identical(as.character(keys), "case60:stats")
  expect_identical(rows$class, "filter_unknown_kind")
  local_record(gptr_spec("kind", "case60", validate = function(spec) spec), "plugin:p")
  registered(gptr_spec("case60", "stats"))
  registered(gptr_spec("case60", "other"))
  expect_identical(gptr_registry("case60")[c("name", "state")]$state, c("disabled", "active"))
})

test_that("case 61: a built-in that can't be replaced can't be filtered as a whole", {
  declare_builtin("case61", function(gptr) gptr$register(a_command("case61")), replaceable = FALSE)
  withr::defer(unload_source("builtin:case61"))
  load_builtins()
  keys <- local_filters("-builtin:case61")
  expect_identical(attr(keys, "refused"), "-builtin:case61")
  expect_identical(state_of("case61"), "active")
  # Its single records can still be hidden.
  local_filters("-command:case61")
  expect_identical(state_of("case61"), "disabled")
})

test_that("a source that is filtered is not loaded", {
  local_filters("-plugin:blocked")
  ran <- FALSE
  rows <- logged(run <- local_load(function(gptr) ran <<- TRUE, "plugin:blocked"))
  expect_null(run$failure)
  expect_false(ran)
  expect_identical(rows$class, "filtered")
})
