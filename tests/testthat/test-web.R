# web_fetch: what R adds to the engine's. The engine's own tests have the rules for addresses, redirects and texts.

# A file server on this machine, for the calling test.
local_pages <- function(files, env = parent.frame()) {
  skip_if_not_installed("processx")
  skip_if(!nzchar(Sys.which("python3")), "python3 is not there")
  dir <- withr::local_tempdir(.local_envir = env)
  for (name in names(files)) writeLines(files[[name]], file.path(dir, name))
  log <- withr::local_tempfile(.local_envir = env)
  server <- processx::process$new("python3", c("-u", "-m", "http.server", "0", "--bind", "127.0.0.1"), wd = dir, stdout = log,
    stderr = NULL)
  withr::defer(server$kill(), envir = env)
  wait_until(function() length(readLines(log, warn = FALSE)) > 0L || !server$is_alive())
  port <- sub("^.* port ([0-9]+) .*$", "\\1", readLines(log, n = 1L))
  paste0("http://127.0.0.1:", port)
}

page <- c("<html><head><title>Units</title><script>no()</script></head>", "<body><h1>Units</h1><p>5 &micro;g</p></body></html>")

test_that("addresses that are not public are refused, for the person and for the model", {
  for (url in c("http://127.0.0.1/", "http://localhost/", "http://10.0.0.1/", "http://[::1]/", "file:///etc/passwd")) {
    cond <- caught(peter$web_fetch(url))
    expect_s3_class(cond, "gptr_error_tool")
    s <- run(fake(call_of("web_fetch", list(url = url)), "end"))
    expect_true(result_failed(s))
    expect_identical(result_text(s), conditionMessage(cond))
    expect_identical(s$text, "end")
  }
})

test_that("a page comes wrapped, with its address and a gloss", {
  withr::local_options(gptr.fetch_private = TRUE)
  url <- paste0(local_pages(list("a.html" = page)), "/a.html")
  expected <- c(paste0("<web_page url=\"", url, "\">"), "Units", "", "# Units", "", "5 \u00b5g", "</web_page>")
  text <- peter$web_fetch(url)
  expect_s3_class(text, "gptr_text")
  expect_identical(as.character(text), expected)
  s <- run(fake(call_of("web_fetch", list(url = url)), "end"))
  expect_identical(strsplit(result_text(s), "\n")[[1L]], expected)
  expect_identical(results_of(s)[[1L]]$gloss, "20 chars from 127.0.0.1")
  cut <- run(fake(call_of("web_fetch", list(url = url, max_chars = 5L)), "end"))
  expect_match(result_text(cut), "</web_page>\n[... 15 of 20 characters not shown; max_chars was 5]", fixed = TRUE)
})

test_that("a status of 400 and above is an error result with the text", {
  withr::local_options(gptr.fetch_private = TRUE)
  s <- run(fake(call_of("web_fetch", list(url = paste0(local_pages(list()), "/gone"))), "end"))
  expect_true(result_failed(s))
  expect_match(result_text(s), "^The server answered with status 404.*\n<web_page url=")
})

test_that("it is level 1, deferred, and found by search", {
  expect_identical(subset(peter$search("fetch a web page"), name == "web_fetch")$kind, "deferred")
  model <- fake("hello")
  run(model)
  expect_false("web_fetch" %in% model$log$requests[[1L]]$tools)
  plan <- run(fake(call_of("web_fetch", list(url = "http://10.0.0.1/")), "end"), mode = "plan")
  expect_match(result_text(plan), "^Permission denied")
  manual <- caught(run(fake(call_of("web_fetch", list(url = "http://10.0.0.1/")), "end"), mode = "manual"))
  expect_s3_class(manual, "gptr_error_permission")
  expect_identical(manual$risk, 1L)
  code <- caught(run(fake(r_call("peter$web_fetch('http://10.0.0.1/')"), "end"), mode = "manual"))
  expect_identical(code$risk, 1L)
})

test_that("bad arguments", {
  expect_identical(caught(peter$web_fetch(1))$status %||% "invalid", "invalid")
  expect_s3_class(caught(peter$web_fetch("http://a.example/", max_chars = 0)), c("gptr_error_tool", "gptr_error_invalid_argument"), exact = FALSE)
  s <- run(fake(call_of("web_fetch", list(url = "x", nope = 1)), "end"))
  expect_match(result_text(s), "unknown argument: nope \\(accepted: url, max_chars\\)")
})

test_that("extensions fetch through the same guard", {
  got <- NULL
  run(fake("x"), extensions = function(gptr) {
    got <<- caught(gptr$fetch("http://127.0.0.1/"))
    gptr$register(gptr_hook("input", function(event, ctx) NULL))
  })
  expect_match(conditionMessage(got), "is not a public address")
})
