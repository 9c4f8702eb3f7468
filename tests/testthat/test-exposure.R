# Names, namespaces and exposure: what the model's tool array, peter$, search, help and the catalog have of a tool.

exposed <- function(name, exposure, ..., namespace = NULL) {
  gptr_tool(name, paste("Tool", name, "for zebras."), exposure = exposure, namespace = namespace, ...)
}

declared <- function(...) {
  model <- fake("hello")
  run(model, ...)
  list(tools = model$log$requests[[1L]]$tools, t1 = model$log$requests[[1L]]$system$t1)
}

found <- function(words = "zebras") {
  hits <- peter$search(words, limit = 50L)
  stats::setNames(hits$kind, hits$name)
}

test_that("exposure decides where a tool is seen", {
  fun <- function(x = 1) x
  execute <- function(input, ctx) "ran"
  registered(exposed("zz_direct", "direct", fun = fun))
  registered(exposed("zz_only_execute", "direct", execute = execute))
  registered(exposed("zz_r", "r", fun = fun))
  registered(exposed("zz_deferred", "deferred", execute = execute))
  registered(exposed("zz_hidden", "hidden", fun = fun, execute = execute))
  for (exposure in c("direct", "r", "deferred", "hidden")) {
    registered(exposed(exposure, exposure, fun = fun, execute = execute, namespace = "zz"))
  }
  seen <- declared()
  expect_identical(sort(grep("^zz", seen$tools, value = TRUE)), c("zz__direct", "zz_direct", "zz_only_execute"))
  expect_identical(grep("^zz", names(peter), value = TRUE), c("zz", "zz_deferred", "zz_direct", "zz_r"))
  expect_identical(names(peter$zz), c("deferred", "direct", "r"))
  expect_setequal(grep("^zz", names(found()), value = TRUE),
    c("zz/deferred", "zz/direct", "zz/r", "zz_deferred", "zz_direct", "zz_r"))
  expect_identical(unname(found()[c("zz_deferred", "zz/deferred", "zz_r", "zz/r")]), c("deferred", "deferred", "member", "member"))
  catalog <- grep("peter\\$zz\\$", strsplit(seen$t1, "\n")[[1L]], value = TRUE)
  expect_identical(catalog, "peter$zz$r(x?: string)  # Tool r for zebras.")
})

test_that("a deferred tool can be called by the model and by code", {
  registered(exposed("zz_later", "deferred", execute = function(input, ctx) "ran"))
  s <- run(fake(call_of("zz_later"), r_call("peter$zz_later()"), "end"))
  expect_identical(result_text(s), "ran")
  expect_match(result_text(s, 2L), "ran")
  expect_identical(peter$zz_later(), "ran")
})

test_that("a hidden tool can't be reached by any name", {
  registered(exposed("zz_secret", "hidden", execute = function(input, ctx) "ran"))
  s <- run(fake(call_of("zz_secret"), r_call("peter$zz_secret()"), "end"))
  expect_identical(result_text(s), "Tool zz_secret not found")
  expect_match(result_text(s, 2L), "is not a peter member")
  expect_s3_class(caught(peter$zz_secret), "gptr_error_unknown_member")
  expect_match(peter$help("zz_secret"), "No help found", all = FALSE)
})

test_that("built-ins come in the fixed order, others by name", {
  registered(exposed("aa_tool", "direct", execute = function(input, ctx) "x"))
  tools <- declared(mode = "manual")$tools
  builtin <- intersect(c("read", "r", "edit", "write", "ask_user", "grep", "find", "ls"), tools)
  expect_identical(tools[seq_along(builtin)], builtin)
  expect_true(match("aa_tool", tools) > length(builtin))
})

test_that("`available` decides at the start of a session", {
  there <- FALSE
  registered(exposed("zz_maybe", "direct", execute = function(input, ctx) "x", available = function(ctx) there))
  expect_false("zz_maybe" %in% declared()$tools)
  there <- TRUE
  expect_true("zz_maybe" %in% declared()$tools)
})

test_that("reserved names are no namespaces, nor are those of members", {
  reserved <- c("read", "write", "edit", "grep", "find", "ls", "help", "search", "describe", "plot", "out", "sh", "script",
    "bg", "jobs", "py", "sql", "knit", "app", "mcp", "web_fetch", "ask_user")
  for (name in reserved) {
    cond <- caught(gptr_register(exposed("x", "r", fun = function() 1, namespace = name)))
    expect_identical(cond$field, "namespace", info = name)
  }
})

test_that("case_114: a missing argument is named, and a member prints as its signature", {
  registered(gptr_tool("double_it", "Double a number. Really.", fun = function(x, times = 2) x * times, exposure = "r"))
  cond <- caught(peter$double_it())
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(conditionMessage(cond), "peter$double_it(): argument `x` is missing.")
  expect_identical(cond$arg, "x")
  expect_output(print(peter$double_it), "^peter\\$double_it\\(x, times = 2\\)  # Double a number\\.$")
  expect_identical(peter$double_it(3), 6)
  expect_s3_class(peter$double_it, c("gptr_member", "function"), exact = TRUE)
  expect_identical(attr(peter$double_it, "tool"), "double_it")
  expect_s3_class(attr(peter$double_it, "spec"), "gptr_tool")
})

test_that("case_115: an unknown member says what there is", {
  cond <- caught(peter$nothing_here)
  expect_s3_class(cond, "gptr_error_unknown_member")
  expect_identical(cond$name, "nothing_here")
  expect_true(all(c("help", "sh") %in% cond$available))
  expect_match(conditionMessage(cond), "^peter\\$nothing_here is not a peter member\\. Members: ")
})

test_that("formals are those of the function, of a primitive, or of the schema", {
  registered(gptr_tool("zz_prim", "d", fun = sum, exposure = "r", parameters = list(type = "object")))
  expect_named(formals(peter$zz_prim), c("...", "na.rm"))
  schema <- list(type = "object", required = I("b"), properties = list(a = list(type = "string"), b = list(type = "string")))
  registered(gptr_tool("zz_schema", "d", execute = function(input, ctx) input$b, parameters = schema, exposure = "r"))
  expect_named(formals(peter$zz_schema), c("b", "a"))
  expect_null(formals(peter$zz_schema)$a)
})

test_that("case_116: a namespace", {
  registered(gptr_tool("summarise", "Summarise a thing", fun = function(x) length(x), exposure = "r", namespace = "zdemo"))
  expect_identical(names(peter$zdemo), "summarise")
  expect_identical(peter$zdemo$summarise(1:3), 3L)
  expect_identical(capture.output(print(peter$zdemo)),
    c("<peter namespace peter$zdemo: 1 members>", "peter$zdemo$summarise(x: string)  # Summarise a thing"))
  for (change in expression(peter$zdemo$x <- 1, peter$zdemo[["x"]] <- 1, peter$sh$x <- 1, peter$x <- 1, peter[["x"]] <- 1)) {
    expect_s3_class(caught(eval(change)), "gptr_error_readonly")
  }
  cond <- caught(peter$zdemo$nope)
  expect_identical(cond[c("name", "available")], list(name = "zdemo$nope", available = "summarise"))
  expect_identical(unclass(peter$zdemo)[c("path", "kind")], list(path = "zdemo", kind = "plugin"))
})

test_that("a long namespace is printed within the budget", {
  for (i in 1:60) registered(exposed(sprintf("f%02d", i), "r", fun = function(x) x, namespace = "zlong"))
  withr::local_options(gptr.helper_output_tokens = 300L)
  lines <- capture.output(print(peter$zlong))
  more <- 60L - (length(lines) - 2L)
  expect_identical(lines[[length(lines)]], paste0("(+ ", more, " more: names(x))"))
  expect_gt(more, 20L)
})

test_that("case_117: a member goes before a namespace of its name; that is said once", {
  registered(gptr_tool("summarise", "Summarise", fun = function(x) 1, exposure = "r", namespace = "ztaken"))
  expect_identical(peter$ztaken$summarise(1), 1)
  n <- nrow(gptr_registry(diagnostics = TRUE))
  registered(gptr_tool("ztaken", "The member", fun = function(x) 2, exposure = "r"))
  expect_identical(peter$ztaken(1), 2)
  expect_s3_class(caught(peter$ztaken$summarise), "gptr_error_unknown_member")
  expect_identical(grep("^ztaken", names(peter), value = TRUE), "ztaken")
  expect_false("ztaken/summarise" %in% peter$search("summarise")$name)
  expect_match(peter$help("ztaken/summarise"), "No help found", all = FALSE)
  expect_no_match(declared()$t1, "peter$ztaken$", fixed = TRUE)
  rows <- diagnostics_since(n)
  rows <- rows[rows$event == "member_refused", ]
  expect_identical(rows[c("source", "class")], data.frame(source = "builtin:tools", class = "invalid_spec"), ignore_attr = TRUE)
})

test_that("completion takes a pattern, or a beginning where that is none", {
  registered(gptr_tool("zz_one", "d", fun = function() 1, exposure = "r"))
  expect_identical(.DollarNames(peter, "^zz_o"), "zz_one")
  expect_identical(.DollarNames(peter, "^zz(")[0], character())
  expect_no_warning(expect_identical(.DollarNames(peter, "^("), character()))
  expect_false(is.unsorted(charToRaw(paste(substr(names(peter), 1, 1), collapse = ""))))
})

test_that("print(peter)", {
  expect_identical(capture.output(print(peter)), c(
    "<peter gateway> peter(\"prompt\", objects..., model =, mode =) runs an agent in this session",
    "members: peter$<tab> (read, edit, write, grep, find, ls, ... when the tools are loaded)"
  ))
})

test_that("case_120: search finds by words, best first, and help explains", {
  registered(gptr_tool("trial_lookup", "Look up a clinical trial.", exposure = "deferred", namespace = "ztrials",
    parameters = list(type = "object", required = I("nct_id"), properties = list(
      nct_id = list(type = "string", description = "The id of the trial"), phase = list(type = "string", enum = list("I", "II")))),
    execute = function(input, ctx) input$nct_id))
  hits <- peter$search("clinical trials")
  expect_identical(hits$name[[1L]], "ztrials/trial_lookup")
  expect_named(hits, c("name", "kind", "signature", "score"))
  expect_identical(hits$signature[[1L]], "peter$ztrials$trial_lookup(nct_id: string, phase?: \"I\"|\"II\")  # Look up a clinical trial.")
  expect_identical(hits$score, round(hits$score, 3))
  expect_identical(nrow(peter$search("qqqq")), 0L)
  expect_identical(nrow(peter$search("clinical trial look up file", limit = 2L)), 2L)
  expect_identical(as.character(peter$help("ztrials/trial_lookup")), c(
    "peter$ztrials$trial_lookup(nct_id: string, phase?: \"I\"|\"II\")  # Look up a clinical trial.", "", "Look up a clinical trial.", "",
    "Arguments:", "  nct_id (string, required): The id of the trial", "  phase (string) [I, II]"))
  expect_s3_class(peter$help("sh"), c("gptr_text", "character"), exact = TRUE)
})

test_that("help reads R's pages, within its budget", {
  lines <- peter$help("median", budget = 5000L)
  expect_identical(lines[[1L]], "[help: stats::median]")
  expect_match(peter$help("median", package = "stats")[[1L]], "stats::median")
  cut <- peter$help("median", budget = 50L)
  expect_match(cut[[length(cut)]], "^\\[\\.\\.\\. [0-9]+ more lines of help not shown\\]$")
  expect_identical(as.character(peter$help("no_such_topic_zz")), "No help found for 'no_such_topic_zz'.")
  expect_identical(as.character(peter$help("no_such_topic_zz", package = "stats")),
    "No help found for 'no_such_topic_zz' in package 'stats'.")
  expect_true(inherits(caught(peter$help("median", budget = 5L)), c("gptr_error_invalid_argument", "gptr_error_tool")))
})

test_that("help activates the code that promised a member", {
  runs <- 0L
  factory <- function(gptr) {
    runs <<- runs + 1L
    gptr$register(gptr_tool("search", "Search all zlazy things.", fun = function(q) q, exposure = "r", namespace = "zlazy"))
  }
  local_lazy(factory, list(tool = "zlazy/search"), source = "plugin:zlazy",
    declarations = list("zlazy/search" = list(signature = "search(q: string)", description = "Promised.")))
  expect_identical(peter$search("promised")$name[[1L]], "zlazy/search")
  expect_identical(runs, 0L)
  expect_match(peter$help("zlazy/search"), "Search all zlazy things.", fixed = TRUE, all = FALSE)
  expect_identical(runs, 1L)
})

test_that("search sources add documents; one that fails is left out with a diagnostic", {
  docs <- function(ctx) data.frame(id = c("doc1", "read"), text = c("All about quaggas", "quagga too"), kind = "note")
  registered(gptr_spec("search_source", "zz_source", docs = function(ctx) docs(ctx)))
  hits <- peter$search("quagga")
  expect_setequal(hits$name, c("doc1", "read"))
  expect_identical(unique(hits$kind), "note")
  for (broken in list(function(ctx) stop("no docs"), function(ctx) list(), function(ctx) invokeRestart("abort"),
    function(ctx) data.frame(id = NA, text = "quagga", kind = "x"))) {
    n <- nrow(gptr_registry(diagnostics = TRUE))
    docs <- broken
    expect_identical(nrow(peter$search("quagga")), 0L)
    rows <- diagnostics_since(n)
    expect_identical(rows[c("source", "event", "class")],
      data.frame(source = "builtin:tools", event = "search_source", class = "internal"), ignore_attr = TRUE)
  }
})

test_that("in code of the model a printed value takes a part of what its result has left", {
  withr::local_options(gptr.r_output_tokens = 1000L)
  registered(gptr_tool("zz_lines", "d", fun = function() structure(as.character(1001:3000), class = c("gptr_text", "character")),
    exposure = "r"))
  s <- run(fake(r_call("peter$zz_lines()\npeter$zz_lines()"), "end"))
  text <- strsplit(result_text(s), "\n")[[1L]]
  shown <- diff(c(0L, grep("more line(s) not printed", text, fixed = TRUE))) - 1L
  # A line takes 5 characters, at 2.13 a token: 0.6 of 1000 tokens are 255 lines, and 0.6 of the rest.
  expect_length(shown, 2L)
  expect_true(shown[[1L]] > 230L && shown[[1L]] < 270L, info = shown)
  expect_true(shown[[2L]] > 80L && shown[[2L]] < 110L, info = shown)
  expect_false(isTRUE(results_of(s)[[1L]]$details$truncated))
})
