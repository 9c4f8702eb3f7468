# The border between R and Rust: panics, odd values, wrong arguments, forks, loading and unloading.

panic <- function(in_worker) gptr:::engine(.Call(gptr:::wrap__panic_for_test, in_worker))

test_that("a panic in either thread is gptr_error_internal, and the session lives", {
  session <- run(fake("before", "after", "and again"))
  for (in_worker in c(FALSE, TRUE)) {
    cond <- NULL
    utils::capture.output(cond <- caught(panic(in_worker)), type = "message")
    expect_s3_class(cond, "gptr_error_internal")
    expect_s3_class(cond, "gptr_error")
    expect_true("detail" %in% names(cond))
    expect_true(nzchar(conditionMessage(cond)))
    peter(session, "still there?")
    expect_identical(session$status, "idle")
  }
  expect_identical(session$text, "and again")
})

test_that("a panic prints no more than its condition", {
  done <- in_own_process(c(
    "cond <- tryCatch(gptr:::engine(.Call(gptr:::wrap__panic_for_test, FALSE)), error = identity)", "cat(class(cond)[[1]], '\\n')",
    "s <- gptr::peter('x', model = gptr::gptr_fake_provider(list('alive')), envir = new.env())", "cat(s$text, '\\n')"
  ))
  expect_identical(done$status, 0L, info = done$err)
  expect_identical(trimws(done$out), c("gptr_error_internal", "alive"))
})

# ---- values ---------------------------------------------------------------------------------------------------------

# What a tool body gets when the model sends this JSON text for its argument x, and what it says back.
echo_json <- function(json) {
  got <- NULL
  tool <- gptr_tool("echo", "d", parameters = list(type = "object", properties = list(x = structure(list(), names = character()))),
    execute = function(input, ctx) {
      got <<- input
      if (is.character(input$x)) input$x else "ok"
    })
  session <- run(fake(call_of("echo", json), "end"), tools = tool)
  list(x = got$x, text = result_text(session), failed = result_failed(session), session = session)
}

test_that("NUL, lone surrogates and odd characters of JSON reach R as text", {
  expect_identical(echo_json("{\"x\":\"a\\u0000b\"}")$x, "a\ufffdb")
  expect_identical(echo_json("{\"x\":\"a\\ud800b\"}")$x, "a\ufffdb")
  expect_identical(echo_json("{\"x\":\"\\udc00\\ud800\"}")$x, "\ufffd\ufffd")
  expect_identical(echo_json("{\"x\":\"\\ud83d\\ude00\"}")$x, "\U1F600")
  for (text in c("\u00e9", "\u202e", "\U10FFFF", "", " ", "\ufeff", strrep("x", 1e6))) {
    back <- echo_json(paste0("{\"x\":", jsonlite::toJSON(text, auto_unbox = TRUE), "}"))
    expect_identical(back$x, text)
    expect_true(validUTF8(back$text))
  }
})

test_that("numbers keep their values: integer, double to 2^53, digits beyond", {
  rows <- list("1" = 1L, "-2147483647" = -2147483647L, "2147483648" = 2147483648, "-2147483648" = -2147483648,
    "9007199254740992" = 2^53, "9007199254740993" = "9007199254740993", "18446744073709551615" = "18446744073709551615",
    "1.5" = 1.5, "1e308" = 1e308, "-0.25" = -0.25, "true" = TRUE)
  for (json in names(rows)) {
    got <- echo_json(paste0("{\"x\":", json, "}"))$x
    expect_identical(got, rows[[json]], info = json)
  }
  expect_null(echo_json("{\"x\":null}")$x)
})

test_that("1,000 levels of nesting pass in a result, deeper input is refused, and the stack holds", {
  deep <- function(n) {
    x <- "bottom"
    for (i in seq_len(n)) x <- list(x)
    x
  }
  for (n in c(1000L, 20000L)) {
    json <- paste0("{\"x\":", strrep("[", n), "1", strrep("]", n), "}")
    back <- echo_json(json)
    expect_true(back$failed || !is.null(back$x))
    expect_identical(back$session$text, "end")
    value <- deep(n)
    registered(gptr_tool("deep", "d", fun = function(x) x, exposure = "r", namespace = "border"))
    home <- new.env(parent = globalenv())
    home$value <- value
    session <- run(fake(r_call("back <- peter$border$deep(value)\nNULL"), "end"), envir = home)
    expect_identical(home$back, value)
    outcome <- caught(gptr_spec("setting", "border.deep", default = value))
    expect_true(inherits(outcome, "gptr_spec") || inherits(outcome, "gptr_error"))
  }
})

test_that("latin1, bytes and invalid UTF-8 of R pass as valid text", {
  latin <- "caf\xe9"
  Encoding(latin) <- "latin1"
  broken <- "a\xffb"
  Encoding(broken) <- "UTF-8"
  bytes <- "a\xffb"
  Encoding(bytes) <- "bytes"
  expect_identical(gptr_spec("command", latin, handler = function(args, ctx) NULL)$name, latin)
  for (text in list(latin, broken, bytes)) {
    session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) text))
    expect_identical(session$status, "idle")
    said <- result_text(session)
    expect_true(validUTF8(said) && nzchar(said))
    outcome <- caught(run(fake("ok"), prompt = text))
    expect_true(inherits(outcome, "gptr_session") || inherits(outcome, "gptr_error"))
    stopped <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) stop(text)))
    expect_true(validUTF8(result_text(stopped)))
  }
  expect_identical(result_text(run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) latin))), "caf\u00e9")
})

test_that("huge vectors are described, never copied into the engine or expanded", {
  huge <- 1:1e9
  registered(gptr_tool("huge", "d", fun = function(x) length(x), exposure = "r", namespace = "border"))
  home <- new.env(parent = globalenv())
  home$huge <- huge
  took <- system.time(session <- run(fake(r_call("n <- peter$border$huge(huge)"), "end"), envir = home))[["elapsed"]]
  expect_identical(home$n, 1000000000L)
  expect_lt(took, 20)
  model <- fake("ok")
  peter("look", huge, model = model, envir = new.env())
  expect_lt(nchar(asked(model)), 8000)
})

test_that("R values of every type pass as arguments of a member, the object itself", {
  registered(gptr_tool("same", "d", fun = function(x) x, exposure = "r", namespace = "border"))
  home <- new.env(parent = globalenv())
  home$values <- list(
    NULL, NA, NA_character_, NaN, Inf, -Inf, 1i, as.raw(1:3), quote(a + b), quote(a), expression(x), function(x) x, sum,
    new.env(), Sys.Date(), Sys.time(), factor(c("a", NA)), mtcars, matrix(1:4, 2), list(), list(a = NULL), character(),
    structure(1, class = "odd"), as.POSIXlt(Sys.time()), y ~ x, pairlist(a = 1), globalenv(), .Machine$integer.max,
    structure(list(), class = "odd2"), array(1:8, c(2, 2, 2))
  )
  code <- "same <- vapply(seq_along(values), function(i) identical(peter$border$same(values[[i]]), values[[i]]), NA)"
  session <- run(fake(r_call(code), "end"), envir = home)
  expect_false(result_failed(session))
  expect_identical(home$same, rep(TRUE, length(home$values)))
  direct <- vapply(home$values, function(v) identical(peter$border$same(v), v), NA)
  expect_identical(direct, rep(TRUE, length(home$values)))
})

test_that("what a tool may not return is a malformed result, whatever it is", {
  for (value in list(42, TRUE, mtcars, quote(x), new.env(), function() 1, list(1, 2), list(text = 1),
    list(text = "a", text = "b"), list(nope = 1), 1i, NA_character_, structure("x", class = "odd"), as.raw(1))) {
    session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) value))
    expect_true(result_failed(session), info = class(value)[[1]])
    expect_identical(session$text, "end")
    expect_balanced(session)
  }
})

test_that("details of a result may hold what JSON can't", {
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) {
    gptr_tool_result("fine", details = list(n = 1L, na = NA, inf = Inf, f = mean, e = new.env(), z = 1i, when = as.Date("2020-01-01")))
  }))
  expect_identical(session$text, "end")
  expect_balanced(session)
})

# ---- arguments of the bindings --------------------------------------------------------------------------------------

bindings <- function() {
  dll <- getLoadedDLLs()[["gptr"]]
  routines <- getDLLRegisteredRoutines(dll)$.Call
  # The others are extendr's own, for its code generator.
  Filter(function(r) startsWith(r$name, "wrap__") && !grepl("^wrap__(make_.*_wrappers|get_.*_metadata)$", r$name), routines)
}

test_that("no binding crashes or raises an unclassed error for arguments of the wrong type", {
  dead <- local({
    file <- withr::local_tempfile()
    saveRDS(gptr:::session_data(run(fake("x")))$ptr, file)
    readRDS(file)
  })
  other <- gptr_fake_provider(list("x"))$log$.state
  odd <- list(NULL, 42, "text", NA, NA_character_, character(), list(), list(type = 1), mtcars, quote(f(x)), new.env(), mean,
    dead, other, c("a", "b"), -1, Inf, NaN, as.raw(1), 1e300, globalenv())
  # These change the state of the process.
  left_out <- c("wrap__shutdown", "wrap__registry_unload", "wrap__registry_reload", "wrap__panic_for_test")
  tried <- 0L
  for (routine in bindings()) {
    if (routine$name %in% left_out) next
    n <- routine$numParameters
    for (value in if (n == 0L) list(NULL) else odd) {
      args <- rep(list(value), n)
      result <- tryCatch(do.call(.Call, c(list(routine), args), quote = TRUE), error = function(e) e)
      if (inherits(result, "condition")) {
        fail(paste0(routine$name, "(", class(value)[[1]], ") raised ", class(result)[[1]], ": ", conditionMessage(result)))
      }
      tried <- tried + 1L
    }
  }
  expect_gt(tried, 300L)
  expect_identical(run(fake("alive"))$text, "alive")
})

test_that("a wrong handle is an error of that argument", {
  other <- gptr_fake_provider(list("x"))$log$.state
  for (handle in list(NULL, 1, other)) {
    cond <- caught(gptr:::engine(.Call(gptr:::wrap__session_get, handle, "text")))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "session")
    cond <- caught(gptr:::engine(.Call(gptr:::wrap__task_next, handle)))
    expect_s3_class(cond, "gptr_error_invalid_argument")
  }
  cond <- caught(gptr:::engine(.Call(gptr:::wrap__session_get, gptr:::session_data(run(fake("x")))$ptr, 42)))
  expect_identical(cond$arg, "field")
})

test_that("a fake whose log was saved and read again is refused, not run", {
  file <- withr::local_tempfile()
  saveRDS(fake("x"), file)
  back <- suppressWarnings(readRDS(file))
  outcome <- caught(run(back))
  expect_true(inherits(outcome, "gptr_error") || identical(outcome$status, "idle"))
  expect_length(the$frames, 0L)
})

# ---- processes ------------------------------------------------------------------------------------------------------

test_that("library(gptr) starts no thread and opens no socket", {
  skip_if_not(file.exists("/proc/self/task"), "no /proc")
  done <- in_own_process(c(
    "threads <- function() length(list.files('/proc/self/task'))",
    "sockets <- function() sum(grepl('^socket:', Sys.readlink(list.files('/proc/self/fd', full.names = TRUE))))",
    "before <- c(threads(), sockets())", "library(gptr)", "after <- c(threads(), sockets())",
    "invisible(gptr_register(gptr_prompt_section('x', 'y'))); invisible(gptr_registry()); invisible(names(peter))",
    "used <- c(threads(), sockets())", "cat(before, after, used, '\\n')"
  ))
  expect_identical(done$status, 0L, info = done$err)
  counts <- as.integer(strsplit(trimws(done$out), " ")[[1]])
  expect_identical(counts[3:4], counts[1:2])
  expect_identical(counts[5:6], counts[1:2])
})

test_that("the package loads and unloads 20 times, in use each time", {
  service <- serve()
  done <- in_own_process(c(
    "for (i in 1:20) {", "  loadNamespace('gptr')",
    "  s <- gptr::peter('x', model = gptr::gptr_fake_provider(list('alive')), envir = new.env())", "  stopifnot(s$text == 'alive')",
    paste0("  p <- gptr::gptr_provider('w', api = 'openai-completions', base_url = '", service$url, "/v1', models = 'm')"),
    "  s <- gptr::peter('echo:over http', model = p, envir = new.env())", "  stopifnot(s$text == 'over http')",
    "  rm(s, p); gc()", "  unloadNamespace('gptr')", "}", "cat('done', 'gptr' %in% loadedNamespaces(), '\\n')"
  ))
  expect_identical(done$status, 0L, info = done$err)
  expect_identical(trimws(utils::tail(done$out, 1)), "done FALSE")
})

test_that("a forked child runs sessions, scripted and over HTTP, and the parent goes on", {
  skip_on_os("windows")
  service <- serve()
  done <- in_own_process(c(
    "library(gptr)",
    paste0("p <- gptr_provider('w', api = 'openai-completions', base_url = '", service$url, "/v1', models = 'm')"),
    "http <- function(text) peter(prompt = paste0('echo:', text), model = p, envir = new.env())$text",
    "fake <- function(text) peter('x', model = gptr_fake_provider(list(text)), envir = new.env())$text",
    "cat(http('parent'), fake('fake'), '\\n')",
    "out <- parallel::mclapply(1:4, function(i) c(fake(paste('f', i)), http(paste('h', i))), mc.cores = 2)",
    "cat(unlist(out), sep = '|'); cat('\\n')", "cat(http('after'), fake('still'), '\\n')"
  ))
  expect_identical(done$status, 0L, info = done$err)
  expect_identical(trimws(done$out), c("parent fake", "f 1|h 1|f 2|h 2|f 3|h 3|f 4|h 4", "after still"))
})

test_that("R quits with a run under way and sessions alive", {
  done <- in_own_process(c(
    "library(gptr)", "f <- gptr_fake_provider(list(list(tool = 'r', input = list(code = '1')), 'end'))",
    "s <- peter('x', model = f, mode = 'auto', .run = FALSE)",
    "gptr_step(s)", "cat('status', s$status, '\\n')"
  ))
  expect_identical(done$status, 0L, info = done$err)
  expect_identical(trimws(done$out), "status running")
})
