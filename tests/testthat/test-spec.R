spec_error <- function(expr, field, problem = NULL) {
  cond <- tryCatch({
    expr
    NULL
  }, gptr_error_invalid_spec = identity)
  expect_s3_class(cond, "gptr_error_invalid_spec")
  expect_identical(cond$field, field)
  if (!is.null(problem)) expect_match(cond$problem, problem, fixed = TRUE)
  invisible(cond)
}

handler <- function(args, ctx) NULL

test_that("case 1: a spec has its two classes and the API version", {
  spec <- gptr_spec("env_alias", "SLACK_BOT_TOKEN", aliases = "slack-token")
  expect_identical(class(spec), c("gptr_env_alias", "gptr_spec"))
  expect_identical(spec$api_version, "1.0")
  expect_identical(spec$kind, "env_alias")
  expect_identical(spec$name, "SLACK_BOT_TOKEN")
})

test_that("case 2: an unknown kind is also an invalid spec", {
  cond <- spec_error(gptr_spec("widget", "w"), "kind", "is not a registered kind")
  expect_s3_class(cond, "gptr_error_unknown_kind")
  expect_identical(cond$kind, "widget")
})

test_that("case 3: a kind that is no string is an invalid argument", {
  cond <- tryCatch(gptr_spec(1, "w"), error = identity)
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "kind")
  expect_error(gptr_spec(), class = "gptr_error_invalid_argument")
})

test_that("cases 5 to 7: a wrong field names itself and the problem", {
  cond <- spec_error(gptr_spec("router", "r1", route = "x"), "route")
  expect_identical(unclass(cond)[c("kind", "name")], list(kind = "router", name = "r1"))
  spec_error(gptr_spec("router", "r1"), "route", "is required")
  spec_error(gptr_spec("policy", "p", check = function(call) NULL), "check", "accepting (call, ctx)")
})

test_that("case 8: unknown fields are kept, NULL ones are not there", {
  spec <- gptr_spec("command", "x", handler = handler, colour = "b", shape = NULL)
  expect_identical(spec$colour, "b")
  expect_false("shape" %in% names(spec))
  expect_identical(spec$handler, handler)
})

test_that("cases 9 and 10: unnamed, repeated and nameless are refused", {
  spec_error(gptr_spec("command", "x", handler), "(unnamed)", "is not allowed")
  spec_error(gptr_spec("command", "x", handler = handler, a = 1, a = 2), "a", "is given twice")
  spec_error(gptr_spec("command", "", handler = handler), "name")
  spec_error(gptr_spec("command"), "name")
})

test_that("case 11: defaults and whole numbers come from the kind", {
  provide <- function(ctx, budget) NULL
  spec <- gptr_spec("context_block", "lab", provide = provide, order = 700)
  expect_identical(spec$order, 700L)
  expect_identical(unclass(spec)[c("placement", "authority", "budget")],
                   list(placement = "turn", authority = "data", budget = 300L))
  for (order in list(7.5, Inf, NaN, 2^31)) {
    spec_error(gptr_spec("context_block", "lab", provide = provide, order = order), "order")
  }
})

test_that("case 15: a model takes its fields from its name", {
  spec <- gptr_spec("model", "corp/corp-large")
  expect_identical(unclass(spec)[c("provider", "id", "ref")],
                   list(provider = "corp", id = "corp-large", ref = "corp/corp-large"))
  expect_error(gptr_spec("model", "corp-large"), class = "gptr_error_invalid_spec")
  spec_error(gptr_spec("model", "corp/a", id = "b"), "id")
})

test_that("cases 21 to 24: rules of single kinds", {
  spec_error(gptr_spec("skill", "Bad", description = "d"), "name")
  spec_error(gptr_spec("skill", "ok", description = strrep("a", 1025)), "description")
  spec_error(gptr_spec("command", "/rows", handler = handler), "name")
  expect_error(gptr_spec("redaction_rule", "r", pattern = ".*", marker = "m"), class = "gptr_error_invalid_spec")
  expect_error(gptr_spec("redaction_rule", "r", pattern = "(", marker = "m"), class = "gptr_error_invalid_spec")
  rows <- data.frame(package = "p", `function` = "f", level = 7, check.names = FALSE)
  spec_error(gptr_spec("risk_rule", "r", rows = rows), "rows")
  expect_error(gptr_spec("mcp_server", "m", url = "https://x.example", type = "sse"), class = "gptr_error_invalid_spec")
  expect_s3_class(gptr_spec("mcp_server", "m", enabled = FALSE), "gptr_mcp_server")
})

test_that("case 25: a ui without methods says nothing, and only a clear yes allows", {
  ui <- function(answer) gptr_spec("ui", "u", has_ui = function() TRUE, select = function(title, choices) answer)
  decision <- function(answer) ui(answer)$permission(list(tool = "r", summary = "x"))$decision
  expect_identical(decision(1L), "allow")
  expect_identical(decision(1), "allow")
  for (answer in list(1.9, TRUE, "1", NA, Inf, c(1, 2), list(1), NULL, 2L)) {
    expect_identical(decision(answer), "deny")
  }
  failing <- gptr_spec("ui", "u", has_ui = function() TRUE, select = function(title, choices) stop("no"))
  expect_identical(failing$permission(list(tool = "r"))$decision, "deny")
  expect_identical(failing$input("name?"), NA_character_)
  expect_identical(failing$questions(list()),
                   list(answers = structure(list(), names = character()), cancelled = TRUE))
  expect_null(failing$notify("text"))
})

test_that("case 26: a name with a trailing newline is refused", {
  for (kind in c("skill", "command", "setting", "env_alias", "kind")) {
    expect_error(gptr_spec(kind, "name\n", description = "d", handler = handler, aliases = "a",
                           validate = function(spec) TRUE),
                 class = "gptr_error_invalid_spec")
  }
})

test_that("case 29: format shows labels, never a function's body", {
  spec <- gptr_command("hello", function(args, ctx) "a secret body", "Say hi")
  expect_identical(format(spec), c(
    "<gptr_command hello>", "  handler: <fn>", "  description: Say hi", "  api_version: 1.0"
  ))
  expect_output(expect_identical(withVisible(print(spec))$visible, FALSE), "<gptr_command hello>", fixed = TRUE)
})

test_that("each type of field has its label", {
  spec <- structure(list(
    kind = "command", name = "x", seven = 1:7, long = strrep("a", 61), lines = "a\nb\tc", data = mtcars,
    list = list(1, 2), env = globalenv(), symbol = quote(opus), call = quote(f(x)), flag = NA,
    size = c(2e5, 0.5, NA)
  ), class = c("gptr_command", "gptr_spec"))
  expect_identical(format(spec), c(
    "<gptr_command x>", "  seven: 1, 2, 3, 4, 5, ...", paste0("  long: ", strrep("a", 57), "..."), "  lines: a b c",
    "  data: <data.frame 32 x 11>", "  list: <list of 2>", "  env: <env>", "  symbol: opus", "  call: <call>",
    "  flag: NA", "  size: 200000, 0.5, NA"
  ))
})

test_that("a printed spec shows no secret, also when it was altered after it was built", {
  secret <- "Bearer sk-very-secret"
  spec <- structure(list(
    kind = "provider", name = "p", headers = c(Authorization = secret), env = c(KEY = secret),
    auth = c("CORP_KEY", secret)
  ), class = c("gptr_provider", "gptr_spec"))
  expect_identical(format(spec), c(
    "<gptr_provider p>", "  headers: <list of 1>", "  env: <list of 1>", "  auth: CORP_KEY, <hidden>"
  ))
})

test_that("a built spec can be completed again and stays as it is", {
  spec <- gptr_tool("t", "d", fun = function(a, b = "x") 1, exposure = "r")
  expect_identical(complete_spec(spec), spec)
  expect_identical(utils::tail(names(spec), 1), "api_version")
})
