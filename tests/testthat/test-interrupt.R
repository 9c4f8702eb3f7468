# Ctrl-C: a real SIGINT to a real R process, wherever that process is at the time.

# Runs `lines` in an R process of its own that writes marks into a file with mark("..."), and sends it SIGINT once the
# mark "ready" is there. The lines call interrupted(run) with a function that starts what is to be interrupted.
interrupt_child <- function(lines, env = character(), signals = 1L) {
  testthat::skip_on_os("windows")
  testthat::skip_if_not_installed("processx")
  marks <- withr::local_tempfile()
  script <- withr::local_tempfile(fileext = ".R")
  file.create(marks)
  writeLines(c(
    "library(gptr)", "options(gptr.max_attempts = 1)",
    paste("marks <-", deparse(marks)),
    "mark <- function(...) cat(paste(...), '\\n', sep = '', file = marks, append = TRUE)",
    "session <- NULL", "fake <- function(...) gptr_fake_provider(list(...))",
    "calls_t <- fake(list(tool = 't', input = list()), 'again')",
    "plain_tool <- function(name, body) gptr_tool(name, 'd', parameters = list(type = 'object'), execute = body)",
    "keep <- function(event, ctx) { session <<- ctx$session; NULL }", "invisible(gptr_register(gptr_hook('agent_start', keep)))",
    "interrupted <- function(run) {",
    "  came <- tryCatch({ run(); 'nothing' }, interrupt = function(e) 'interrupt',",
    "    error = function(e) paste('error', conditionMessage(e)))",
    "  at <- as.numeric(Sys.time())",
    "  mark('came', came); mark('at', format(at, digits = 20)); mark('status', session$status)",
    "  mark('frames', length(gptr:::the$frames))",
    "  calls <- unlist(lapply(session$messages, function(m) if (identical(m$role, 'assistant')) lapply(m$content, function(b) b$id)))",
    "  results <- unlist(lapply(session$messages, function(m) m$tool_call_id))",
    "  mark('balanced', setequal(calls, results))", "}",
    "second <- function(...) { s <- peter(session, ...); mark('second', s$status, s$text) }", lines, "mark('end')"
  ), script)
  process <- processx::process$new(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), stdout = "|", stderr = "|",
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), TESTTHAT = "", env))
  withr::defer(process$kill())
  seen <- function(mark) any(startsWith(readLines(marks, warn = FALSE), mark))
  ready <- wait_until(function() seen("ready") || !process$is_alive(), 60)
  if (!ready || !seen("ready")) stop("the child never came so far: ", process$read_error(), process$read_output())
  sent <- as.numeric(Sys.time())
  for (i in seq_len(signals)) process$interrupt()
  cat("sent all\n", file = marks, append = TRUE)
  process$wait(60000)
  alive <- process$is_alive()
  lines <- readLines(marks, warn = FALSE)
  values <- sub("^[a-z]+ ", "", lines)
  names(values) <- sub(" .*", "", lines)
  as.list(c(values, alive = alive, took = if ("at" %in% names(values)) as.numeric(values[["at"]]) - sent else NA,
    error = paste(process$read_all_error_lines(), collapse = "\n"), status = if (alive) NA else process$get_exit_status()))
}

expect_interrupted <- function(child, second = "idle again", within = 2) {
  expect_identical(child$came, "interrupt", info = child$error)
  expect_identical(child$status, "aborted")
  expect_identical(child$frames, "0")
  expect_identical(child$balanced, "TRUE")
  expect_identical(child$second, second)
  expect_true("end" %in% names(child), info = child$error)
  expect_lt(as.numeric(child$took), within)
}

over_http <- function(service) {
  paste0("wire <- gptr_provider('wire', api = 'openai-completions', base_url = '", service$url, "/v1', models = 'm')")
}

test_that("while the first byte is awaited", {
  service <- serve()
  # The mock has the request when its hook ran; R waits from then on.
  child <- interrupt_child(c(over_http(service),
    "invisible(gptr_register(gptr_hook('before_request', function(event, ctx) { mark('ready'); NULL })))",
    "interrupted(function() peter(prompt = 'delay 60000 too late', model = wire, envir = new.env()))", "second('echo:again')"
  ))
  expect_interrupted(child)
})

test_that("in a stream that hangs", {
  service <- serve(faults = TRUE)
  child <- interrupt_child(c(over_http(service),
    "invisible(gptr_register(gptr_hook('message_update', function(event, ctx) { mark('ready'); NULL })))",
    "interrupted(function() peter(prompt = 'fault hang echo:some text that comes in pieces', model = wire, envir = new.env()))",
    "last <- session$messages[[length(session$messages)]]", "mark('stop', last$stop_reason)",
    "invisible(second('echo:again'))"
  ))
  expect_interrupted(child)
  expect_identical(child$stop, "aborted")
})

test_that("in a scripted provider that hangs", {
  child <- interrupt_child(c(
    "starts <- function(event, ctx) { if (event$role == 'assistant') mark('ready'); NULL }",
    "invisible(gptr_register(gptr_hook('message_start', starts)))",
    "interrupted(function() peter('x', model = fake(list(hang = TRUE), 'again'), envir = new.env()))", "second('go on')"
  ))
  expect_interrupted(child)
})

test_that("while a scripted provider delays its reply", {
  child <- interrupt_child(c(
    "invisible(gptr_register(gptr_hook('before_request', function(event, ctx) { mark('ready'); NULL })))",
    "interrupted(function() peter('x', model = fake(list(text = 'late', delay = 60), 'again'), envir = new.env()))", "second('go on')"
  ))
  expect_interrupted(child)
})

# A loop that R can interrupt, and that ends by itself.
busy <- "busy <- function() { mark('ready'); until <- Sys.time() + 60; while (Sys.time() < until) Sys.sleep(0.01); 'not stopped' }"

test_that("in a tool body: the calls that follow are closed, too", {
  child <- interrupt_child(c(busy, "ran <- FALSE",
    "calls <- list(tools = list(list(name = 't', input = list(), id = 'a'), list(name = 'u', input = list(), id = 'b')))",
    "tools <- list(plain_tool('t', function(input, ctx) busy()), plain_tool('u', function(input, ctx) { ran <<- TRUE; 'x' }))",
    "interrupted(function() peter('x', model = fake(calls, 'again'), envir = new.env(), mode = 'auto', tools = tools))",
    "mark('other', ran)", "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_identical(child$other, "FALSE")
})

test_that("in code that the model wrote: the home keeps what was done, options are put back", {
  child <- interrupt_child(c(busy, "home <- globalenv()", "width <- getOption('width')",
    "code <- 'done <- 1; busy(); never <- 2'",
    "model <- fake(list(tool = 'r', input = list(code = code)), 'again')",
    "interrupted(function() peter('x', model = model, envir = home, mode = 'auto'))",
    "mark('kept', exists('done'), exists('never'), identical(getOption('width'), width), sink.number())",
    "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_identical(child$kept, "TRUE FALSE TRUE 0")
})

test_that("in a hook: the call is not run", {
  child <- interrupt_child(c(busy, "ran <- FALSE",
    "off <- gptr_register(gptr_hook('tool_call', function(event, ctx) busy()))",
    "tool <- plain_tool('t', function(input, ctx) { ran <<- TRUE; 'x' })",
    "interrupted(function() peter('x', model = calls_t, envir = new.env(), mode = 'auto', tools = tool))",
    "off()", "mark('other', ran)", "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_identical(child$other, "FALSE")
})

test_that("in a policy: the call is not run", {
  child <- interrupt_child(c(busy, "ran <- FALSE", "off <- gptr_register(gptr_policy('slow', function(call, ctx) busy()))",
    "tool <- plain_tool('t', function(input, ctx) { ran <<- TRUE; 'x' })",
    "interrupted(function() peter('x', model = calls_t, envir = new.env(), mode = 'auto', tools = tool))",
    "off()", "mark('other', ran)", "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_identical(child$other, "FALSE")
})

test_that("in an observing hook: the run ends as well", {
  child <- interrupt_child(c(busy, "off <- gptr_register(gptr_hook('turn_end', function(event, ctx) busy()))",
    "interrupted(function() peter('x', model = fake('first', 'again'), envir = new.env()))", "off()", "second('go on')"
  ))
  expect_interrupted(child)
})

test_that("in a member that code of the model calls", {
  child <- interrupt_child(c(busy,
    "invisible(gptr_register(gptr_tool('slow', 'd', fun = function() busy(), exposure = 'r', namespace = 'demo')))",
    "code <- 'x <- tryCatch(peter$demo$slow(), error = function(e) \"caught\"); done <- TRUE'",
    "home <- new.env(parent = globalenv())",
    "model <- fake(list(tool = 'r', input = list(code = code)), 'again')",
    "interrupted(function() peter('x', model = model, envir = home, mode = 'auto'))",
    "mark('done', exists('done', home, inherits = FALSE))", "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_identical(child$done, "FALSE")
})

test_that("in a session that another one runs: both end", {
  child <- interrupt_child(c(busy, "top <- NULL",
    "inner <- plain_tool('inner', function(input, ctx) busy())",
    "outer <- plain_tool('outer', function(input, ctx) {",
    "  top <<- ctx$session; peter('child', model = fake(list(tool = 'inner', input = list())), tools = inner)$text", "})",
    "model <- fake(list(tool = 'outer', input = list()), 'again')",
    "interrupted(function() peter('x', model = model, envir = new.env(), mode = 'auto', tools = outer))",
    "mark('child', session$kind)", "mark('top', top$status)", "session <- top", "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_identical(child$child, "child")
  expect_identical(child$top, "aborted")
})

test_that("a burst of signals ends one run and leaves no other trace", {
  child <- interrupt_child(c(busy,
    "tool <- plain_tool('t', function(input, ctx) busy())",
    "tryCatch(interrupted(function() peter('x', model = calls_t, envir = new.env(), mode = 'auto', tools = tool)),",
    "  interrupt = function(e) mark('again_interrupted'))",
    # The last of the signals may come late: it would stop the second turn, as it should.
    "over <- FALSE",
    "while (!over) tryCatch({ Sys.sleep(0.1); over <- 'sent all' %in% readLines(marks, warn = FALSE) }, interrupt = function(e) NULL)",
    "tryCatch(Sys.sleep(0.1), interrupt = function(e) NULL)",
    "mark('later', session$status)", "second('go on', mode = 'auto')"
  ), signals = 3L)
  expect_identical(child$later, "aborted", info = child$error)
  expect_identical(child$second, "idle again")
})

test_that("nobody catches it: the script ends, and R leaves in good order", {
  child <- interrupt_child(c(
    "invisible(gptr_register(gptr_hook('before_request', function(event, ctx) { mark('ready'); NULL })))",
    "peter('x', model = fake(list(hang = TRUE)), envir = new.env())", "mark('went_on')"
  ))
  expect_null(child$went_on)
  expect_identical(child$alive, "FALSE")
})

# A command that says that it runs, and waits in a child of its own; and a look for what is left of both.
sleeper <- "call <- function() peter$sh(paste0('echo ready >> ', marks, '; sleep 98761 & sleep 98762'))"
left_over <- "mark('left', sum(grepl('sleep 9876[12]$', system('ps -eo args', intern = TRUE))))"

test_that("while a command of the person's runs: it is ended with its children", {
  child <- interrupt_child(c(sleeper, "interrupted(call)", left_over, "mark('again', peter$sh('echo fine')$stdout)"))
  expect_identical(child$came, "interrupt", info = child$error)
  expect_identical(child$left, "0")
  expect_identical(child$again, "fine")
  expect_identical(child$frames, "0")
  expect_lt(as.numeric(child$took), 2)
})

test_that("while a command of the model's code runs", {
  child <- interrupt_child(c(sleeper, "m <- fake(list(tool = 'r', input = list(code = 'call()')), 'again')",
    "interrupted(function() peter(prompt = 'go', model = m, mode = 'auto', envir = globalenv()))", left_over,
    "second('go on')"))
  expect_interrupted(child, second = "idle again")
  expect_identical(child$left, "0")
})

test_that("while a page is fetched", {
  testthat::skip_if_not_installed("processx")
  child <- interrupt_child(c(
    "options(gptr.fetch_private = TRUE)",
    "server <- serverSocket(0 + (port <- 20000L + Sys.getpid() %% 20000L))",
    "m <- fake(list(tool = 'web_fetch', input = list(url = paste0('http://127.0.0.1:', port, '/'))), 'again')",
    "invisible(gptr_register(gptr_hook('tool_call', function(event, ctx) { mark('ready'); NULL })))",
    "interrupted(function() peter(prompt = 'go', model = m, mode = 'auto', envir = new.env()))", "second('go on')"))
  expect_interrupted(child, second = "idle again")
})

# A file whose reading takes minutes and whose making takes nothing: its end lies behind a hole.
long_file <- function(env = parent.frame()) {
  path <- withr::local_tempfile(.local_envir = env)
  con <- file(path, "wb")
  writeBin(as.raw(rep(97L, 2^17)), con)
  seek(con, 4e11, rw = "write")
  writeBin(as.raw(97L), con)
  close(con)
  if (file.size(path) < 4e11) testthat::skip("the file system has no files with holes")
  path
}

test_that("in the body of a native tool", {
  path <- long_file()
  child <- interrupt_child(c(
    "invisible(gptr_register(gptr_hook('tool_call', function(event, ctx) { mark('ready'); NULL })))",
    paste0("model <- fake(list(tool = 'read', input = list(path = ", deparse(path), ")), 'again')"),
    "interrupted(function() peter('x', model = model, envir = new.env(), mode = 'auto'))",
    "mark('text', session$messages[[3]]$content[[1]]$text)", "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_match(child$text, "^Interrupted after ")
})

test_that("in native tools that run side by side", {
  path <- long_file()
  child <- interrupt_child(c(
    "n <- 0",
    "invisible(gptr_register(gptr_hook('tool_call', function(event, ctx) { n <<- n + 1; if (n == 2) mark('ready'); NULL })))",
    paste0("call <- list(name = 'read', input = list(path = ", deparse(path), "))"),
    "model <- fake(list(tools = list(call, call)), 'again')",
    "interrupted(function() peter('x', model = model, envir = new.env(), mode = 'auto'))",
    "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
})

test_that("in a member that the person called at the console, and in one that code of the model called", {
  path <- long_file()
  at_console <- interrupt_child(c(
    paste0("interrupted(function() { mark('ready'); peter$read(", deparse(path), ") })")
  ))
  expect_identical(at_console$came, "interrupt", info = at_console$error)
  expect_lt(as.numeric(at_console$took), 2)
  expect_true("end" %in% names(at_console))
  child <- interrupt_child(c(
    "invisible(gptr_register(gptr_hook('tool_call', function(event, ctx) { if (event$tool_name == 'read') mark('ready'); NULL })))",
    paste0("code <- 'x <- tryCatch(peter$read(", deparse(path, control = NULL), "), error = function(e) 1); done <- TRUE'"),
    "home <- new.env(parent = globalenv())",
    "model <- fake(list(tool = 'r', input = list(code = code)), 'again')",
    "interrupted(function() peter('x', model = model, envir = home, mode = 'auto'))",
    "mark('done', exists('done', home, inherits = FALSE))", "second('go on', mode = 'auto')"
  ))
  expect_interrupted(child)
  expect_identical(child$done, "FALSE")
})
