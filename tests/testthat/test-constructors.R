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

f2 <- function(a, b) NULL

test_that("what a constructor requires is reported by name when it is left out", {
  spec_error(gptr_tool("t"), "description", "is required")
  spec_error(gptr_provider("p"), "api", "is required")
  spec_error(gptr_router("r"), "route", "is required")
  spec_error(gptr_hook("message_end"), "handler", "is required")
  spec_error(gptr_policy("p"), "check", "is required")
  spec_error(gptr_command("c"), "handler", "is required")
  spec_error(gptr_prompt_section("s"), "text", "is required")
  spec_error(gptr_context_block("b"), "provide", "is required")
  spec_error(gptr_backend("b", cancel = identity), "start", "is required")
  spec_error(gptr_backend("b", start = f2), "cancel", "is required")
})

test_that("a constructor without any argument is an invalid spec, not another error", {
  for (f in list(gptr_tool, gptr_provider, gptr_adapter, gptr_router, gptr_hook, gptr_policy, gptr_command,
                 gptr_prompt_section, gptr_context_block, gptr_backend)) {
    expect_error(f(), class = "gptr_error_invalid_spec")
  }
})

test_that("constructors have no dots", {
  expect_error(gptr_command("c", f2, colour = "b"), "unused argument")
})

test_that("choices take the first, and a wrong one is reported by the kind", {
  expect_identical(gptr_context_block("b", f2)$placement, "turn")
  expect_identical(gptr_context_block("b", f2)$authority, "data")
  expect_identical(gptr_prompt_section("s", "text")$tier, "T0")
  expect_identical(gptr_tool("t", "d", fun = f2)$execution, "sequential")
  spec_error(gptr_tool("t", "d", fun = f2, exposure = "public"), "exposure")
  spec_error(gptr_tool("t", "d", fun = f2, exposure = c("r", "direct")), "exposure")
  spec_error(gptr_prompt_section("s", "text", tier = "T2"), "tier")
})

test_that("names of specs come from id, api and event", {
  expect_identical(gptr_provider("my_cloud", api = "x")$name, "my_cloud")
  adapter <- gptr_adapter("wire", transport = "inprocess", stream = function(model, context, opts) NULL)
  expect_identical(adapter$name, "wire")
  expect_identical(gptr_hook("message_end", f2)$name, "message_end")
  expect_identical(tryCatch(gptr_hook(1, f2), error = identity)$name, "hook")
})

test_that("case 12: a provider's name has lower-case letters", {
  spec_error(gptr_provider("Bad Name", api = "x"), "id")
  spec_error(gptr_provider("BadName", api = "x"), "id")
})

test_that("case 14: an adapter needs the functions of its transport", {
  expect_error(gptr_adapter("a", build = function(model, context, opts) NULL), class = "gptr_error_invalid_spec")
  spec_error(gptr_adapter("a", transport = "inprocess"), "stream")
})

test_that("case 16: a hook's event is in the catalogue or a channel", {
  spec_error(gptr_hook("PreToolUse", f2), "event", "tool_call")
  expect_s3_class(gptr_hook("x:y", f2), "gptr_hook")
})

test_that("cases 17 and 19: rules of tools", {
  spec_error(gptr_tool("bad name", "d", fun = f2), "name")
  spec_error(gptr_tool("t", "d"), "execute")
  schema <- function(...) list(type = "object", properties = list(...))
  string <- list(type = "string")
  spec_error(gptr_tool("t", "d", schema(z = string), fun = function(a = 1) 1), "fun")
  spec_error(gptr_tool("t", "d", schema(a = string), fun = function(a, b) 1), "fun")
  spec_error(gptr_tool("t", "d", list(type = "array"), fun = f2), "parameters")
  spec_error(gptr_tool("t", "d", fun = f2, namespace = "1bad"), "namespace")
})

test_that("case 18: without a schema it is derived from the function", {
  spec <- gptr_tool("t", "d", fun = function(a, b = "x") 1, exposure = "r")
  expect_identical(spec$parameters$type, "object")
  expect_identical(names(spec$parameters$properties), c("a", "b"))
  expect_identical(spec$parameters$properties$b$type, "string")
  expect_identical(as.character(unlist(spec$parameters$required)), "a")
  expect_null(spec$execute)
})

test_that("case 20: annotations get the names of this house", {
  expect_true(gptr_tool("t", "d", fun = f2, annotations = list(readOnlyHint = TRUE))$annotations$read_only)
})

test_that("a schema may be JSON text, and a broken one fails at once", {
  body <- function(input, ctx) "x"
  spec <- gptr_tool("t", "d", "{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"}}}", execute = body)
  expect_identical(spec$parameters$properties$q$type, "string")
  spec_error(gptr_tool("t", "d", "{\"type\":", execute = body), "parameters")
  spec_error(gptr_tool("t", "d", "[1]", execute = body), "parameters")
})

test_that("case 27: an agent keeps model and skills as written", {
  spec <- gptr_agent("rev", description = "d", model = opus, skills = c(stats, plots))
  expect_identical(spec$model, quote(opus))
  expect_identical(spec$skills, quote(c(stats, plots)))
  expect_identical(gptr_agent("rev", model = "corp/large")$model, "corp/large")
  expect_identical(spec$backend, "auto")
  spec_error(gptr_agent("rev", mode = "yolo"), "mode")
  spec_error(gptr_agent("text", description = "d"), "name")
  expect_error(gptr_agent(description = "x"), class = "gptr_error_invalid_spec")
})

test_that("a saved agent needs a name or a file, and the service that reads it", {
  cond <- tryCatch(gptr_agent(), error = identity)
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "name")
  cond <- tryCatch(gptr_agent("reviewer"), error = identity)
  expect_s3_class(cond, "gptr_error_not_available")
  expect_identical(unclass(cond)[c("member", "provided_by")], list(member = "agent_def.get", provided_by = "skills"))
  expect_error(gptr_agent(file = "reviewer.md"), class = "gptr_error_not_available")
})

test_that("the added arguments come last", {
  last <- function(f, n) utils::tail(names(formals(f)), n)
  expect_identical(last(gptr_tool, 1), "timeout")
  expect_identical(last(gptr_provider, 3), c("context", "quota", "thinking"))
  expect_identical(last(gptr_policy, 2), c("order", "required"))
  expect_identical(gptr_policy("p", f2)$order, 500L)
  expect_identical(gptr_policy("p", f2, required = TRUE)$required, TRUE)
})

test_that("a printed provider shows no header's value", {
  spec <- gptr_provider("my_cloud", api = "openai-completions", base_url = "https://api.example.com",
                        headers = list(Authorization = "Bearer sk-very-secret-value"))
  expect_false(any(grepl("very-secret", utils::capture.output(print(spec)))))
  expect_true("  headers: <list of 1>" %in% format(spec))
})

test_that("case 34: a direct tool with only fun gets an execute", {
  spec <- gptr_tool("t", "d", fun = function(a, b) paste(a, b), exposure = "direct")
  result <- spec$execute(list(a = "hello", b = "world"), NULL)
  expect_s3_class(result, "gptr_tool_result")
  expect_identical(result$value, "hello world")
  expect_identical(result$truncated, FALSE)
  expect_identical(format(result), "[1] \"hello world\"")
  expect_null(gptr_tool("t", "d", fun = f2, exposure = "hidden")$execute)
})

test_that("a plain function gets arrays of scalars as atomic vectors", {
  schema <- list(type = "object", properties = list(
    x = list(type = "array", items = list(type = "number")),
    y = list(type = "array", items = list(type = c("string", "null"))),
    z = list(type = "array", items = list(type = "object"))
  ))
  spec <- gptr_tool("t", "d", schema, fun = function(x, y = NULL, z = NULL) list(x, y, z))
  input <- list(x = list(1, NULL, 3L), y = list(), z = list(list(a = 1)))
  expect_identical(spec$execute(input, NULL)$value, list(c(1, NA, 3), character(), list(list(a = 1))))
})

test_that("what a function asks to be sent is sent as it is", {
  spec <- gptr_tool("t", "d", fun = function(a) gptr_tool_result("text", gloss = "short"))
  expect_identical(spec$execute(list(a = "x"), NULL)$gloss, "short")
})

test_that("case 35: an r tool with only execute gets a fun with the schema's arguments", {
  schema <- list(type = "object", required = I("x"), properties = list(
    note = list(type = "string"), x = list(type = "number")
  ))
  spec <- gptr_tool("double", "d", schema, exposure = "r", execute = function(input, ctx) {
    if (input$x < 0) gptr_tool_result("negative", is_error = TRUE) else gptr_tool_result("text", value = input$x * 2)
  })
  expect_identical(names(formals(spec$fun)), c("x", "note"))
  expect_null(formals(spec$fun)$note)
  expect_identical(spec$fun(4), 8)
  cond <- tryCatch(spec$fun(-1), error = identity)
  expect_s3_class(cond, "gptr_error_tool")
  expect_identical(unclass(cond)[c("message", "tool", "status")],
                   list(message = "negative", tool = "double", status = "error"))
  cond <- tryCatch(spec$fun(), error = identity)
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(conditionMessage(cond), "peter$double(): argument `x` is missing.")
})

test_that("NULL arguments are dropped, and the text is the value where there is no other", {
  seen <- NULL
  schema <- list(type = "object", properties = list(a = list(type = "string"), b = list(type = "number")))
  spec <- gptr_tool("t", "d", schema, exposure = "r", execute = function(input, ctx) {
    seen <<- input
    "done"
  })
  expect_identical(spec$fun(b = 1, a = NULL), "done")
  expect_identical(seen, list(b = 1))
  spec$fun()
  expect_identical(seen, structure(list(), names = character()))
})

test_that("properties may have the names of functions that the generated one could need", {
  names <- c("input", "res", "execute", "as.list", "environment", "missing", "list", "get", "names", "c", "ctx",
             "function", "parent.frame", "frame", "T")
  properties <- stats::setNames(rep(list(list(type = "string")), length(names)), names)
  spec <- gptr_tool("t", "d", list(type = "object", required = I(names), properties = properties), exposure = "r",
                    execute = function(input, ctx) gptr_tool_result("ok", value = input))
  expect_identical(names(formals(spec$fun)), names)
  values <- stats::setNames(as.list(rep("v", length(names))), names)
  expect_identical(do.call(spec$fun, values), values)
  values$missing <- function(...) stop("called")
  values$list <- function(...) stop("called")
  expect_identical(do.call(spec$fun, values), values)
})

test_that("with a schema that is a function, the generated fun takes dots", {
  spec <- gptr_tool("t", "d", function() list(type = "object"), exposure = "r",
                    execute = function(input, ctx) gptr_tool_result("ok", value = input))
  expect_identical(names(formals(spec$fun)), "...")
  expect_identical(spec$fun(a = 1, b = NULL), list(a = 1))
})

test_that("a fake provider is an offline provider with one model", {
  fake <- gptr_fake_provider(c("one", "two"))
  expect_identical(class(fake), c("gptr_provider", "gptr_spec"))
  expect_identical(unclass(fake)[c("id", "api", "local", "offline")],
                   list(id = "fake", api = "fake", local = TRUE, offline = TRUE))
  expect_identical(fake$models[[1]]$id, "fake-1")
  expect_identical(fake$models[[1]]$context, 200000)
  expect_identical(fake$script, c("one", "two"))
  expect_identical(fake$log$n, 0L)
  expect_identical(fake$log$requests, list())
  small <- gptr_fake_provider(list("x"), name = "small", type = "classifier")
  expect_identical(small$api, "fake-classifier")
  expect_identical(small$models[[1]]$id, "small-s1")
})

test_that("case 58: arguments of the fake provider are checked", {
  arg <- function(expr) tryCatch(expr, gptr_error_invalid_argument = function(e) e$arg)
  expect_identical(arg(gptr_fake_provider("a", name = "Bad Name")), "name")
  expect_identical(arg(gptr_fake_provider("a", name = "a\n")), "name")
  expect_identical(arg(gptr_fake_provider(42)), "script")
  expect_identical(arg(gptr_fake_provider()), "script")
  expect_identical(arg(gptr_fake_provider("a", type = "cli")), "type")
})

test_that("the log of a fake provider prints harmlessly and can't be written", {
  fake <- gptr_fake_provider("one")
  expect_identical(utils::capture.output(print(fake$log)), "<gptr_fake_log> 0 request(s)")
  expect_true("  log: <env>" %in% format(fake))
  expect_error(fake$log$n <- 5L)
})
