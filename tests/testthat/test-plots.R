# Plots of the tool `r` and `peter$plot()`.

skip_if_no_png <- function() skip_if_not(capabilities("cairo"), "there is no PNG device here")

# Runs pieces of code, one call of `r` each, and returns the session.
run_code <- function(..., envir = new.env(parent = globalenv())) {
  codes <- c(...)
  run(gptr_fake_provider(c(lapply(codes, r_call), list("done"))), envir = envir)
}

images_of <- function(session, i = 1L) {
  Filter(function(b) identical(b$type, "image"), results_of(session)[[i]]$content)
}

text_lines <- function(session, i = 1L) {
  blocks <- results_of(session)[[i]]$content
  strsplit(blocks[[1L]]$text, "\n", fixed = TRUE)[[1L]]
}

test_that("case 52: of 50 plots three are attached, and no file is left", {
  skip_if_no_png()
  withr::local_dir(withr::local_tempdir())
  session <- run_code("for (k in 1:50) plot(k)\nrm(k)")
  expect_identical(text_lines(session),
    c("[plot 1 attached]", "[plot 2 attached]", "[plot 3 attached]", "[plots 4-50 not attached: peter$plot(k)]"))
  images <- images_of(session)
  expect_length(images, 3L)
  for (image in images) {
    expect_identical(image[c("mime", "source", "width", "height")],
      list(mime = "image/png", source = "plot", width = 768L, height = 512L))
  }
  expect_false(identical(images[[1L]]$data, images[[2L]]$data))
  details <- results_of(session)[[1L]]$details
  expect_identical(details$plots, 50L)
  expect_identical(unlist(details$plot_index), 1:50)
  expect_true(all(file.exists(unlist(details$plot_files))))
  expect_length(list.files(), 0L)
  expect_null(dev.list())
})

test_that("additions over several expressions make one plot, an error keeps it", {
  skip_if_no_png()
  session <- run_code("plot(1:3)\nlines(3:1)\nabline(h = 2)", "plot(1)\nstop('no')", "par(mfrow = c(1, 2)); plot(1); plot(2)")
  expect_identical(text_lines(session, 1L), "[plot 1 attached]")
  expect_identical(text_lines(session, 2L)[1:2], c("Error: no  [expression at line 2]", "[plot 2 attached]"))
  expect_identical(text_lines(session, 3L), "[plot 3 attached]")
  expect_length(images_of(session, 3L), 1L)
  expect_null(dev.list())
})

test_that("grid pages and printed objects that draw are plots", {
  skip_if_no_png()
  session <- run_code(paste(
    "print.gg_like <- function(x, ...) { grid::grid.newpage(); grid::grid.text(x$label); invisible(x) }",
    "p <- structure(list(label = 'a'), class = 'gg_like')", "p", "p$label <- 'b'", "p",
    "grid::grid.newpage(); grid::grid.rect()", sep = "\n"))
  expect_identical(grep("^[[]plot", text_lines(session), value = TRUE),
    c("[plot 1 attached]", "[plot 2 attached]", "[plot 3 attached]"))
})

test_that("a device that the code opens is left alone, and the user's is never drawn on", {
  skip_if_no_png()
  dir <- withr::local_tempdir()
  pdf(NULL)
  user <- dev.cur()
  withr::defer(dev.off(user))
  dev.control("enable")
  home <- new.env(parent = globalenv())
  home$file <- file.path(dir, "own.png")
  session <- run_code("{ png(file); plot(1); invisible(dev.off()); plot(2) }\ngraphics.on <- dev.cur()", envir = home)
  expect_gt(file.size(home$file), 0)
  expect_identical(grep("plot", text_lines(session), value = TRUE), "[plot 1 attached]")
  expect_identical(dev.cur(), user)
  expect_null(recordPlot()[[1L]])
})

test_that("peter$plot() attaches a kept plot in the size that is asked for", {
  skip_if_no_png()
  session <- run_code("plot(1); plot(2)", "peter$plot(1, 400, 300)\npeter$plot()", "plot(3); peter$plot()",
    "for (k in c(1, 2, 3)) peter$plot(k)", "peter$plot(9)", "peter$plot(1, width = 3)")
  expect_identical(text_lines(session, 2L), c("[plot 1 attached]", "[plot 2 attached]"))
  sizes <- vapply(images_of(session, 2L), function(b) c(b$width, b$height), c(1L, 1L))
  expect_identical(sizes, cbind(c(400L, 300L), c(1000L, 700L)))
  expect_identical(text_lines(session, 3L), "[plot 3 attached]")
  expect_length(images_of(session, 3L), 1L)
  expect_identical(text_lines(session, 4L)[1:3], c("[plot 1 attached]", "[plot 2 attached]",
    "[1 image(s) from peter$plot() or peter$read() not attached: at most 2 per r call]"))
  expect_match(text_lines(session, 5L)[1L], "`which` must be the number of a plot of this session: 3 are kept (1-3).",
    fixed = TRUE)
  expect_match(text_lines(session, 6L)[1L], "`width` must be a number of pixels from 50 to 4000", fixed = TRUE)
})

test_that("outside of running code peter$plot() is an error", {
  cond <- caught(peter$plot())
  expect_s3_class(cond, "gptr_error_tool")
  expect_identical(cond$status, "error")
  tool <- plain_tool("work", function(input, ctx) {
    peter$plot()
    "ok"
  })
  session <- run(fake(call_of("work"), "done"), tools = list(tool))
  expect_true(result_failed(session))
  expect_match(result_text(session), "attaches a plot to the result of R code", fixed = TRUE)
})

test_that("plots keep to their share of the budget and to the option", {
  skip_if_no_png()
  withr::with_options(list(gptr.r_output_tokens = 1000), {
    session <- run_code("plot(1); plot(2)")
    expect_identical(text_lines(session), c("[plot 1 attached]", "[plot 2 not attached: peter$plot(2)]"))
  })
  withr::with_options(list(gptr.r_max_images = 0), {
    expect_identical(text_lines(run_code("plot(1)")), "[plot 1 not attached: peter$plot(1)]")
  })
  withr::with_options(list(gptr.plot = list(width = 300, height = 200, dpi = 50)), {
    image <- images_of(run_code("plot(1)"))[[1L]]
    expect_identical(c(image$width, image$height), c(300L, 200L))
  })
})

test_that("text beside images is cut to what they leave", {
  skip_if_no_png()
  plain <- run_code("for (k in 1:3000) cat('line', k, '\\n')")
  drawn <- run_code("plot(1); plot(2); plot(3); for (k in 1:3000) cat('line', k, '\\n')")
  size <- function(session) nchar(results_of(session)[[1L]]$content[[1L]]$text)
  expect_lt(size(drawn), 0.75 * size(plain))
  expect_gt(size(drawn), 0.4 * size(plain))
})

test_that("where no PNG device can be opened there is a note and no error", {
  local_function("open_png", function(stem, width, height, dpi) {
    grDevices::pdf(paste0(stem, ".pdf"), onefile = FALSE)
    paste0(stem, ".pdf")
  })
  session <- run_code("plot(1); plot(2)", "peter$plot(1)")
  expect_identical(text_lines(session), "[2 plot(s) not attached: no PNG device can be opened here]")
  expect_false(result_failed(session))
  expect_match(text_lines(session, 2L)[1L], "no PNG device can be opened here", fixed = TRUE)
})

test_that("an interrupt in the middle of a plot closes the devices and puts hooks back", {
  skip_if_no_png()
  before <- list(getHook("before.plot.new"), getHook("before.grid.newpage"), getOption("device"))
  model <- fake(r_call("plot(1); rlang::interrupt()"), "done")
  skip_if_not_installed("rlang")
  session <- run(model, .run = FALSE)
  caught(gptr_step(session))
  expect_null(dev.list())
  expect_identical(list(getHook("before.plot.new"), getHook("before.grid.newpage"), getOption("device")), before)
  expect_identical(session$status, "aborted")
})

test_that("old plots go, and what was drawn is kept of the newest only", {
  skip_if_no_png()
  session <- run_code("for (k in 1:60) plot(k)", "for (k in 1:60) plot(k)", "peter$plot(1)", "peter$plot(21)")
  state <- session_data(session)$eval
  expect_length(state$plots, 100L)
  expect_identical(sum(vapply(state$plots, function(plot) !is.null(plot$record), NA)), 20L)
  expect_length(list.files(state$plot_folder), 100L)
  expect_match(text_lines(session, 3L)[1L], "100 are kept (21-120)", fixed = TRUE)
  # Without what was drawn it comes in the size that it has.
  expect_identical(images_of(session, 4L)[[1L]]$width, 768L)
})

test_that("the files of a session go with it", {
  skip_if_no_png()
  session <- run_code("plot(1)")
  folder <- session_data(session)$eval$plot_folder
  expect_true(dir.exists(folder))
  rm(session)
  the$last <- NULL
  for (i in 1:3) gc()
  expect_false(dir.exists(folder))
})
