# gptr_check(): conformance rows of specs, factories and extension files.

row_of <- function(checked, name, target = NULL) {
  rows <- checked[checked$check == name & (if (is.null(target)) TRUE else checked$target == target), ]
  expect_identical(nrow(rows), 1L, info = name)
  rows
}

add <- function(...) {
  number <- list(type = "number")
  gptr_tool("chk_add", "Add two numbers", parameters = list(type = "object", required = I(c("a", "b")),
    properties = list(a = number, b = number)), ...)
}

test_that("case_99: a valid tool has four rows, all fine", {
  checked <- gptr_check(add(execute = function(input, ctx) as.character(input$a + input$b)))
  expect_identical(class(checked), c("gptr_check", "data.frame"))
  expect_identical(names(checked), c("target", "check", "ok", "message"))
  expect_identical(unique(checked$target), "tool:chk_add")
  expect_setequal(setdiff(checked$check, "tool.description_tokens"),
    c("spec.class", "spec.fields", "tool.schema", "tool.empty_input"))
  expect_true(all(checked$ok))
})

test_that("case_99: a valid spec of every kind with a constructor passes", {
  specs <- list(
    gptr_tool("chk", "d", fun = function() 1, exposure = "r", namespace = "chk"),
    gptr_provider("chk", api = "openai-completions", base_url = "http://localhost/v1"),
    gptr_adapter("chk", "http_sse", build = function(model, context, opts) NULL, parse = function(model, opts) NULL),
    gptr_router("chk", function(request, ctx) NULL), gptr_hook("turn_start", function(event, ctx) NULL),
    gptr_policy("chk", function(call, ctx) NULL), gptr_agent("chk", "d"), gptr_command("chk", function(args, ctx) NULL),
    gptr_prompt_section("chk", "Text."), gptr_context_block("chk", function(ctx, budget) NULL)
  )
  for (spec in specs) {
    checked <- gptr_check(spec)
    checked <- checked[checked$check != "policy.speed", ]
    expect_true(all(checked$ok), info = paste(spec$kind, checked$message[!checked$ok]))
    expect_true("spec.fields" %in% checked$check, info = spec$kind)
  }
})

test_that("case_100: a bad field fails its row and ends the check", {
  bad <- gptr_command("chk", function(args, ctx) NULL)
  bad$handler <- function() NULL
  checked <- gptr_check(bad)
  expect_identical(checked$ok, c(TRUE, FALSE))
  expect_identical(checked$message[[2]], "field 'handler' must be a function accepting (args, ctx)")
  cond <- caught(gptr_check(bad, error = TRUE))
  expect_s3_class(cond, "gptr_error_conformance")
  expect_identical(cond$results, checked)
  expect_match(conditionMessage(cond), "1 .*spec.fields")
  lines <- utils::capture.output(shown <- withVisible(print(checked)))
  expect_identical(lines, c("<gptr_check> 2 check(s), 1 failed", "  ok    command:chk  spec.class",
    "  FAIL  command:chk  spec.fields: field 'handler' must be a function accepting (args, ctx)"))
  expect_false(shown$visible)
})

test_that("case_100: a plain list is one failing row; anything else an argument error", {
  checked <- gptr_check(list(kind = "command", name = "chk"))
  expect_identical(checked$check, "spec.class")
  expect_identical(checked$target, "command:chk")
  expect_false(checked$ok)
  expect_identical(gptr_check(list())$target, "?:?")
  expect_identical(gptr_check(list(kind = 1, name = NA))$ok, FALSE)
  for (x in list(42, NULL, NA, TRUE, mtcars, c("a.R", "b.R"))) {
    cond <- caught(gptr_check(x))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "x")
  }
  expect_identical(caught(gptr_check(add(fun = function(a, b) 1), error = NA))$arg, "error")
  expect_identical(caught(gptr_check(add(fun = function(a, b) 1), tokens = 1))$arg, "tokens")
})

test_that("case_101: a long description costs a direct tool its row, an r member not", {
  long <- paste(rep("word", 600), collapse = " ")
  direct <- gptr_check(gptr_tool("chk", long, execute = function(input, ctx) "x"))
  expect_false(row_of(direct, "tool.description_tokens")$ok)
  expect_match(row_of(direct, "tool.description_tokens")$message, "[0-9]+")
  member <- gptr_check(gptr_tool("chk", long, fun = function() 1, exposure = "r", namespace = "chk"))
  expect_false("tool.description_tokens" %in% member$check)
})

test_that("case_102: empty input is refused by the schema, or the body copes with it", {
  empty <- function(body, ...) row_of(gptr_check(gptr_tool("chk", "d", execute = body, ...)), "tool.empty_input")
  expect_true(empty(function(input, ctx) "fine")$ok)
  failed <- empty(function(input, ctx) stop("what input?"))
  expect_false(failed$ok)
  expect_match(failed$message, "what input?", fixed = TRUE)
  expect_true(empty(function(input, ctx) gptr_fake_provider(1))$ok)
  expect_false(empty(function(input, ctx) 42)$ok)
  called <- FALSE
  refused <- row_of(gptr_check(add(execute = function(input, ctx) {
    called <<- TRUE
    "x"
  })), "tool.empty_input")
  expect_true(refused$ok)
  expect_match(refused$message, "before execute")
  expect_false(called)
  lazy <- gptr_tool("chk", "d", fun = function(a = stop("no default")) a, exposure = "r")
  expect_false(row_of(gptr_check(lazy), "tool.empty_input")$ok)
})

test_that("a body that leaves by a jump or an interrupt fails its row, or reaches the caller", {
  left <- gptr_check(gptr_tool("chk", "d", execute = function(input, ctx) invokeRestart("abort")))
  expect_false(row_of(left, "tool.empty_input")$ok)
  expect_length(the$frames, 0L)
})

test_that("case_103: a section over its budget fails", {
  text <- paste(rep("word", 500), collapse = " ")
  expect_false(row_of(gptr_check(gptr_prompt_section("chk", text, budget = 50L)), "section.budget")$ok)
  expect_true(row_of(gptr_check(gptr_prompt_section("chk", text, budget = 5000L)), "section.budget")$ok)
  made <- row_of(gptr_check(gptr_prompt_section("chk", function(ctx) text, budget = 1L)), "section.budget")
  expect_true(made$ok)
  expect_true(nzchar(made$message))
})

test_that("policies are asked 40 questions in four modes, and answers are checked", {
  calls <- 0L
  modes <- character()
  good <- gptr_check(gptr_policy("chk", function(call, ctx) {
    calls <<- calls + 1L
    modes <<- unique(c(modes, ctx$mode()))
    if (call$name == "r") list(decision = "ask", reason = "why not") else NULL
  }))
  expect_gte(calls, 40L)
  expect_setequal(modes, c("plan", "manual", "edits", "auto"))
  matrix <- row_of(good, "policy.matrix")
  expect_true(matrix$ok)
  expect_identical(matrix$message, "40 calls")
  expect_match(row_of(good, "policy.speed")$message, "^median [0-9.]+ ms$")
  answers <- list(
    list(decision = "Deny"), list(decision = "allow", reason = 1), list(decision = "modify"), "deny",
    list(decision = c("allow", "deny")), list(decision = NA_character_), list(decision = "modify", input = list(1)), TRUE
  )
  for (answer in answers) {
    expect_false(row_of(gptr_check(gptr_policy("chk", function(call, ctx) answer)), "policy.matrix")$ok,
      info = deparse(answer))
  }
  thrown <- row_of(gptr_check(gptr_policy("chk", function(call, ctx) stop("policy bug"))), "policy.matrix")
  expect_false(thrown$ok)
  expect_match(thrown$message, "policy bug")
  expect_match(thrown$message, "^(plan|manual|edits|auto)/")
})

test_that("a slow policy fails its speed", {
  slow <- gptr_check(gptr_policy("chk", function(call, ctx) {
    until <- proc.time()[["elapsed"]] + 0.02
    while (proc.time()[["elapsed"]] < until) NULL
  }))
  expect_false(row_of(slow, "policy.speed")$ok)
})

test_that("case_104: a factory is loaded apart from the live registry, and what it registers is checked", {
  before <- gptr_registry()
  logged <- nrow(gptr_registry(diagnostics = TRUE))
  checked <- gptr_check(function(gptr) {
    gptr$register(gptr_command("chk_one", function(args, ctx) NULL))
    gptr$register(add(execute = function(input, ctx) "x"))
    gptr$on("message_end", function(event, ctx) NULL)
  })
  for (name in c("factory.load", "factory.registers", "factory.no_action")) expect_true(row_of(checked, name)$ok, info = name)
  expect_identical(row_of(checked, "factory.registers")$message, "3 record(s)")
  expect_setequal(unique(checked$target), c("factory", "command:chk_one", "tool:chk_add", "hook:message_end"))
  expect_identical(gptr_registry(), before)
  expect_identical(nrow(gptr_registry(diagnostics = TRUE)), logged)
  expect_length(the$frames, 0L)
})

test_that("case_104: what a factory changes is told and put back", {
  withr::local_envvar(GPTR_CHECK_TEST = NA)
  withr::local_seed(7)
  home <- getwd()
  seed <- get(".Random.seed", envir = globalenv())
  searched <- search()
  checked <- gptr_check(function(gptr) {
    Sys.setenv(GPTR_CHECK_TEST = "1")
    options(gptr.check.test = TRUE)
    setwd(tempdir())
    stats::runif(1)
    attach(list(chk_attached = 1), name = "chk_attached")
    gptr$register(gptr_command("chk", function(args, ctx) NULL))
  })
  row <- row_of(checked, "factory.no_action")
  expect_false(row$ok)
  for (part in c("env", "options", "wd", "seed", "search")) expect_match(row$message, part)
  expect_identical(Sys.getenv("GPTR_CHECK_TEST"), "")
  expect_null(getOption("gptr.check.test"))
  expect_identical(getwd(), home)
  expect_identical(get(".Random.seed", envir = globalenv()), seed)
  expect_identical(search(), searched)
})

test_that("case_104: a factory that registers nothing, fails or leaves is told", {
  expect_false(row_of(gptr_check(function(gptr) NULL), "factory.registers")$ok)
  failed <- gptr_check(function(gptr) stop("factory bug"))
  expect_false(row_of(failed, "factory.load")$ok)
  expect_match(row_of(failed, "factory.load")$message, "factory bug")
  expect_false(row_of(gptr_check(function(gptr) invokeRestart("abort")), "factory.load")$ok)
  expect_false(row_of(gptr_check(function(gptr) gptr_register(gptr_command("x", function(args, ctx) NULL))), "factory.load")$ok)
  expect_length(the$frames, 0L)
})

test_that("specs of a factory that fail their own checks are told", {
  checked <- gptr_check(function(gptr) {
    gptr$register(gptr_tool("chk", "d", execute = function(input, ctx) stop("empty!")))
  })
  expect_false(row_of(checked, "tool.empty_input", "tool:chk")$ok)
})

test_that("a file is checked like its factory", {
  file <- withr::local_tempfile(fileext = ".R")
  writeLines("function(gptr) gptr$on('turn_start', function(event, ctx) NULL)", file)
  expect_true(all(gptr_check(file)$ok))
  writeLines("function(gptr {", file)
  expect_false(row_of(gptr_check(file), "factory.load")$ok)
  writeLines("42", file)
  expect_false(row_of(gptr_check(file), "factory.load")$ok)
  expect_false(row_of(gptr_check("no/such/file.R"), "factory.load")$ok)
})

test_that("tokens = TRUE adds what a declaration costs", {
  checked <- gptr_check(add(execute = function(input, ctx) "x"), tokens = TRUE)
  row <- row_of(checked, "tokens.declaration")
  expect_true(row$ok)
  expect_match(row$message, "^[0-9]+ tokens$")
})

test_that("a checked policy or tool is not registered, and its session listeners are not called", {
  heard <- 0L
  registered(gptr_hook("tool_call", function(event, ctx) {
    heard <<- heard + 1L
    NULL
  }))
  gptr_check(gptr_tool("chk_unseen", "d", execute = function(input, ctx) "x"))
  expect_identical(heard, 0L)
  expect_false("chk_unseen" %in% gptr_registry("tool")$name)
})
