builtin_kinds <- c(
  "adapter", "agent", "artifact_type", "backend", "cache_policy", "checkpointer", "child_env", "command", "compactor",
  "context_block", "doc_format", "env_alias", "estimator", "evaluator", "frontend", "guidance", "hook", "kind",
  "mcp_server", "model", "policy", "preset", "prompt_section", "prompt_template", "provider", "redaction_rule",
  "renderer", "risk_rule", "route", "router", "search_source", "secret_source", "service", "setting", "skill", "store",
  "tool", "ui"
)

test_that("case 4: the built-in kinds, which are experimental, which are additive", {
  features <- gptr_api()$features
  expect_identical(sub("^kind[.]", "", grep("^kind[.]", features, value = TRUE)), builtin_kinds)
  expect_length(grep("^event[.]", features), 49L)
  expect_identical(utils::tail(features, 6L),
    c("lazy_activation", "declarations", "ctx.decide", "ctx.secret", "route", "services"))
  kinds <- kind_table()
  expect_identical(kinds$name, builtin_kinds)
  expect_identical(kinds$name[kinds$experimental], c(
    "artifact_type", "checkpointer", "evaluator", "frontend", "guidance", "renderer", "route", "search_source",
    "service", "store"
  ))
  expect_identical(kinds$name[kinds$all], c(
    "checkpointer", "context_block", "env_alias", "guidance", "hook", "policy", "prompt_section", "redaction_rule",
    "risk_rule", "route", "search_source", "secret_source"
  ))
})

test_that("case 13: models of a provider and its rates", {
  invalid_spec(gptr_spec("provider", "corp", api = "x", models = list(list(context = 1))), "models[[1]]")
  invalid_spec(gptr_spec("provider", "corp", api = "x", rate = list(rpm = 1)), "rate")
})

test_that("case 30: what a tool lacks, and an exposure that there is not", {
  invalid_spec(gptr_tool("t"), "description")
  invalid_spec(gptr_tool("t", "d", fun = function() 1, exposure = "public"), "exposure")
})

test_that("case 28: the validator of a kind that a record defines", {
  local_record(gptr_spec("kind", "vlad", validate = function(spec) {
    if (identical(spec$mood, "text")) return("text")
    if (identical(spec$mood, "own")) {
      gptr_abort("invalid_spec", "its own words", kind = "vlad", name = spec$name, field = "mood", problem = "is own")
    }
    if (identical(spec$mood, "bad")) stop("no moods today")
    spec$checked <- TRUE
    spec
  }), "plugin:vlad")
  expect_match(invalid_spec(gptr_spec("vlad", "v", mood = "bad"), "(validate)")$problem, "no moods today", fixed = TRUE)
  invalid_spec(gptr_spec("vlad", "v", mood = "text"), "(validate)")
  cond <- invalid_spec(gptr_spec("vlad", "v", mood = "own"), "mood", "is own")
  expect_identical(cond$kind, "vlad")
  good <- gptr_spec("vlad", "v", mood = "fine", hook = function() 1)
  expect_identical(class(good), c("gptr_vlad", "gptr_spec"))
  expect_true(good$checked)
  expect_identical(good$hook(), 1)
  expect_identical(good$kind, "vlad")
})

test_that("however a validator is left, the spec is refused", {
  local_record(gptr_spec("kind", "jumpy", validate = function(spec) {
    switch(spec$how, jump = invokeRestart("abort"), warn = {
      old <- options(warn = 2)
      on.exit(options(old))
      warning("too warm")
    }, nameless = stop(structure(class = c("odd", "error", "condition"), list(message = character(), call = NULL))))
    spec
  }), "user")
  for (how in c("jump", "warn", "nameless")) invalid_spec(gptr_spec("jumpy", "x", how = how), "(validate)")
  expect_length(the$frames, 0L)
  # The kind keeps the spec that comes back, whatever that says of its kind.
  local_record(gptr_spec("kind", "shifty", validate = function(spec) {
    list(kind = "tool", name = spec$name, x = 2)
  }), "user")
  expect_identical(gptr_spec("shifty", "s", x = 1)[c("kind", "name", "x")], list(kind = "shifty", name = "s", x = 2))
})

test_that("an interrupt in a validator reaches the caller", {
  local_record(gptr_spec("kind", "slow", validate = function(spec) {
    signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
    spec
  }), "user")
  left <- tryCatch(gptr_spec("slow", "s"), interrupt = function(e) "interrupt")
  expect_identical(left, "interrupt")
  expect_length(the$frames, 0L)
})
