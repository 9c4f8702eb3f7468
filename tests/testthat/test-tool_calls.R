# Calls of tools: what is noted of them, what may change their input, what their results may hold.

text_of_result <- function(session, i = 1L) results_of(session)[[i]]$content[[1L]]$text

test_that("case_52: of 100,000 lines the middle is left out, and peter$out() has all", {
  model <- gptr_fake_provider(function(request) {
    n <- length(Filter(function(m) identical(m$role, "tool_result"), request$messages))
    if (n == 0L) return(r_call("for (i in 1:100000) cat('line', i, '\\n')"))
    if (n == 1L) {
      id <- sub('.*peter[$]out[(]"(o[0-9a-f]{8})"[)].*', "\\1", request$last_results[[1L]]$content[[1L]]$text)
      return(r_call(paste0("x <- peter$out('", id, "'); cat(length(x), x[[50000]], '|', peter$out('", id, "', lines = 3:4))")))
    }
    "done"
  })
  session <- run(model)
  text <- text_of_result(session)
  expect_match(text, "^line 1 \nline 2 \n")
  expect_match(text, "\nline 100000 \n")
  expect_match(text, "[... ", fixed = TRUE)
  expect_lte(nchar(text), 4000 * 2.13 + 200)
  details <- results_of(session)[[1L]]$details
  expect_true(details$truncated)
  expect_match(details$out_id, "^o[0-9a-f]{8}$")
  expect_gt(file.size(details$spill), 64 * 1024)
  expect_match(text_of_result(session, 2L), "line 50000", fixed = TRUE)
  expect_match(text_of_result(session, 2L), "| line 3  line 4", fixed = TRUE)
  expect_identical(details$outputs[[1L]][[1L]], "line 1 ")
  expect_length(details$outputs[[1L]], 12L)
})

test_that("an unknown id of an output is an error", {
  cond <- caught(peter$out("o00000000"))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "id")
})

test_that("case_39: the details note at most 20 nested calls, with tool, summary, outcome and level", {
  registered(gptr_tool("answer", "Answer", fun = function(n) if (n == 2) stop("two") else 42, exposure = "r",
    namespace = "demo", annotations = list(read_only = TRUE)))
  registered(gptr_tool("rows", "Rows", fun = function() head(mtcars, 3), exposure = "r", namespace = "demo"))
  registered(gptr_tool("nothing", "Nothing", fun = function() NULL, exposure = "r", namespace = "demo"))
  registered(gptr_tool("quiet", "Quiet", fun = function() 1, exposure = "r", namespace = "demo", record = FALSE))
  home <- new.env(parent = globalenv())
  session <- run(fake(r_call(paste(
    "a <- peter$demo$answer(1); b <- try(peter$demo$answer(2), silent = TRUE)", "d <- peter$demo$rows()",
    "e <- peter$demo$nothing(); q1 <- peter$demo$quiet()", "for (i in 3:40) peter$demo$answer(i)", sep = "\n")), "done"),
    envir = home)
  expect_identical(home$a, 42)
  expect_s3_class(attr(home$b, "condition"), "gptr_error_tool")
  nested <- results_of(session)[[1L]]$details$nested
  expect_length(nested, 20L)
  expect_identical(nested[[1L]], list(tool = "demo/answer", summary = "numeric length 1", is_error = FALSE, level = 0L))
  expect_identical(nested[[2L]], list(tool = "demo/answer", summary = "two", is_error = TRUE, level = 0L))
  expect_identical(nested[[3L]]$summary, "demo/rows: 3 rows")
  expect_identical(nested[[4L]]$summary, "no value")
  expect_false(any(vapply(nested, function(row) row$tool == "demo/quiet", NA)))
})

test_that("hooks and policies change plain arguments of nested calls, and never objects", {
  got <- list()
  registered(gptr_tool("take", "Take", fun = function(x, n = 1, ...) {
    got[[length(got) + 1L]] <<- list(x = x, n = n, dots = list(...))
    n
  }, exposure = "r", namespace = "demo"))
  registered(gptr_hook("tool_call", matcher = "demo/take", function(event, ctx) {
    if (identical(event$input$n, "raise")) list(decision = "modify", input = list(x = event$input$x, n = 5))
    else if (identical(event$input$n, "vector")) list(decision = "modify", input = list(x = event$input$x, n = c(7, 8)))
    else if (identical(event$input$n, "touch")) list(decision = "modify", input = list(x = 1, n = 2))
    else if (identical(event$input$n, "less")) list(decision = "modify", input = event$input["x"])
  }))
  home <- new.env(parent = globalenv())
  home$fit <- lm(mpg ~ wt, mtcars)
  session <- run(fake(r_call(paste(
    "peter$demo$take(fit, 'raise')", "peter$demo$take(fit, 'vector')", "peter$demo$take(fit, 'less')",
    "r <- try(peter$demo$take(fit, 'touch'), silent = TRUE)", "cat(class(attr(r, 'condition'))[1], attr(r, 'condition')$status)",
    sep = "\n")), "done"), envir = home)
  expect_identical(lapply(got, `[[`, "n"), list(5L, c(7L, 8L), 1))
  for (call in got) expect_identical(call$x, home$fit)
  expect_match(text_of_result(session), "gptr_error_tool invalid", fixed = TRUE)
})

test_that("policies see the raw arguments and the level of the code around a nested call", {
  seen <- list()
  registered(gptr_tool("answer", "Answer", fun = function() 42, exposure = "r", namespace = "demo"))
  registered(gptr_policy("look", function(call, ctx) {
    seen[[length(seen) + 1L]] <<- call
    NULL
  }))
  run(fake(list(tool = "r", input = "{ \"code\": \"x <- peter$demo$answer()\" }"), "done"))
  expect_identical(seen[[1L]]$raw, "{ \"code\": \"x <- peter$demo$answer()\" }")
  expect_null(seen[[1L]]$outer_level)
  expect_null(seen[[2L]]$raw)
  expect_identical(seen[[2L]]$outer_level, 2L)
  expect_identical(seen[[2L]]$parent_id, seen[[1L]]$id)
})

test_that("the question is asked once for code and the members that it was seen to call", {
  registered(gptr_tool("write_it", "Write", fun = function() "written", exposure = "r", namespace = "demo"))
  registered(gptr_tool("other", "Other", fun = function() "other", exposure = "r", namespace = "demo"))
  asked <- list()
  registered(gptr_hook("permission_request", function(event, ctx) {
    asked[[length(asked) + 1L]] <<- event$tool
    list(decision = "allow")
  }))
  session <- run(fake(r_call("peter$demo$write_it(); f <- get('peter'); f[['demo']]$other()"), "done"), mode = "manual")
  expect_identical(unlist(asked), c("r", "demo/other"))
  expect_false(result_failed(session))
})

test_that("a value stays out of the message, its class and size are noted", {
  session <- run(fake(call_of("work"), "done"),
    tools = list(plain_tool("work", function(input, ctx) gptr_tool_result("made", value = 1:10))))
  ref <- results_of(session)[[1L]]$details$value_ref
  expect_identical(ref$class, "integer")
  expect_equal(ref$bytes, as.numeric(object.size(1:10)), tolerance = 1)
  expect_null(results_of(session)[[1L]]$value)
})

test_that("a result may say that the run ends, and how a person sees it", {
  tool <- plain_tool("work", function(input, ctx) gptr_tool_result("all done", gloss = "did\u001b[31m it", terminate = TRUE))
  model <- fake(call_of("work"), "never said")
  session <- run(model, tools = list(tool))
  expect_identical(session$status, "idle")
  expect_identical(model$log$n, 1L)
  expect_identical(results_of(session)[[1L]]$gloss, "did[31m it")
})

test_that("a body with a timeout is stopped, and the run goes on", {
  tool <- plain_tool("slow", function(input, ctx) repeat 1, timeout = 0.2)
  session <- run(fake(call_of("slow"), "went on"), tools = list(tool))
  expect_true(result_failed(session))
  expect_match(result_text(session), "slow timed out after", fixed = TRUE)
  expect_identical(session$text, "went on")
})

test_that("images of a result are kept, those of a nested call go to the result of the code", {
  skip_if_not(capabilities("cairo"), "there is no PNG device here")
  file <- withr::local_tempfile(fileext = ".png")
  grDevices::png(file, 300, 200, res = 30, type = "cairo")
  graphics::plot.new()
  grDevices::dev.off()
  picture <- function(...) {
    gptr_tool("picture", "A picture", parameters = list(type = "object"),
      execute = function(input, ctx) gptr_tool_result("see", images = file), ...)
  }
  session <- run(fake(call_of("picture"), "done"), tools = list(picture()))
  block <- results_of(session)[[1L]]$content[[2L]]
  expect_identical(block[c("type", "width", "height", "source")],
    list(type = "image", width = 300L, height = 200L, source = "file"))
  session <- run(fake(r_call("for (i in 1:3) peter$lab$picture()"), "done"), tools = list(picture(namespace = "lab")))
  blocks <- results_of(session)[[1L]]$content
  expect_identical(vapply(blocks, function(b) b$type, ""), c("text", "image", "image"))
  expect_match(blocks[[1L]]$text, "1 image(s) from peter$plot() or peter$read() not attached", fixed = TRUE)
})

test_that("an image that code reads goes to the result of that code", {
  skip_if_not(capabilities("cairo"), "there is no PNG device here")
  dir <- withr::local_tempdir()
  file <- file.path(dir, "p.png")
  grDevices::png(file, 300, 200, res = 30, type = "cairo")
  graphics::plot.new()
  grDevices::dev.off()
  home <- new.env(parent = globalenv())
  home$file <- file
  session <- run(fake(r_call("peter$read(file)"), "done"), envir = home)
  blocks <- results_of(session)[[1L]]$content
  expect_identical(vapply(blocks, function(b) b$type, ""), c("text", "image"))
  expect_match(blocks[[1L]]$text, "Read image file [image/png]", fixed = TRUE)
  expect_identical(blocks[[2L]]$width, 300L)
})

test_that("code has the time that the call, the session or the option says when nobody is present", {
  withr::local_options(gptr.interactive = FALSE)
  slow <- "repeat 1"
  session <- run(fake(list(tool = "r", input = list(code = slow, timeout = 0.2)), "done"))
  expect_match(text_of_result(session), "Timed out after 0.2s (limit set by the harness).", fixed = TRUE)
  session <- run(fake(r_call(slow), "done"), .opts = list(timeout = 0.3))
  expect_match(text_of_result(session), "Timed out after 0.3s", fixed = TRUE)
  withr::local_options(gptr.r_timeout = 0.4)
  session <- run(fake(r_call(slow), "done"))
  expect_match(text_of_result(session), "Timed out after 0.4s", fixed = TRUE)
  expect_identical(r_timeout(list(timeout = 3), new.env()), 3)
  withr::local_options(gptr.interactive = TRUE)
  expect_identical(r_timeout(list(timeout = 3), new.env()), Inf)
  expect_identical(caught(run(fake("x"), .opts = list(timeout = -1)))$arg, ".opts$timeout")
})

test_that("the details of an evaluation have all their fields, arrays as lists", {
  session <- run(fake(r_call("x <- 1; warning('w')\ngptr_return(x)"), r_call("1 +"), "done"))
  fields <- c("code", "status", "n_done", "n_total", "objects", "plots", "warnings", "error", "changes", "elapsed",
    "outputs", "value", "plot_files", "plot_index")
  for (i in 1:2) expect_identical(setdiff(fields, names(results_of(session)[[i]]$details)), character())
  details <- results_of(session)[[1L]]$details
  expect_identical(details$objects$added, list("x"))
  expect_identical(details$warnings, list("w"))
  expect_identical(details$value, "x")
  expect_identical(details$status, "ok")
})
