# Plots of evaluated code: drawn to devices of the harness, a file a page.

# Code draws to a PNG device with a file for each page, and never to a device that the user has open. Devices that the
# code opens itself are left alone; they stay, as they would for a user, and are current again in the next
# evaluation. Between evaluations the user's is.
guard_devices <- function(run) {
  before <- grDevices::dev.list()
  current <- grDevices::dev.cur()
  agents <- intersect(run$state$devices, before)
  run$patterns <- character()
  run$pages <- character()
  run$next_page <- list()
  run$records <- list()
  run$foreign <- setdiff(before, agents)
  old <- options(device = function(...) open_plot_device(run))
  put_hooks_back <- watch_pages(run)
  if (length(agents) > 0L) grDevices::dev.set(agents[length(agents)])
  function() {
    put_hooks_back()
    options(old)
    close_plot_devices(run)
    keep_plots(run)
    open <- grDevices::dev.list()
    run$devices <- open[!open %in% before]
    run$state$devices <- intersect(c(agents, run$devices), open)
    if (current %in% open) grDevices::dev.set(current)
  }
}

# Low-level R functions draw on, high-level ones announce a page first, by a hook of base R's.
watch_pages <- function(run) {
  base <- function(...) {
    enter_plot_device(run)
    if (graphics::par("page")) keep_record(run)
  }
  grid <- function(...) {
    enter_plot_device(run)
    keep_record(run)
  }
  setHook("before.plot.new", base)
  setHook("before.grid.newpage", grid)
  function() {
    drop_hook("before.plot.new", base)
    drop_hook("before.grid.newpage", grid)
  }
}

drop_hook <- function(name, hook) {
  setHook(name, Filter(function(f) !identical(f, hook), getHook(name)), "replace")
}

# A new page goes to a device of the harness when none is open, or when closing another one has made the user's current.
enter_plot_device <- function(run) {
  current <- grDevices::dev.cur()
  if (current != 1L && !current %in% run$foreign) return(invisible(NULL))
  own <- own_devices(run)
  if (length(own)) grDevices::dev.set(own[[length(own)]]) else open_plot_device(run)
}

# ---- devices --------------------------------------------------------------------------------------------------------

open_plot_device <- function(run) {
  stem <- file.path(plot_folder(run$state), paste0(run$state$count, "-", length(run$patterns) + 1L, "-"))
  size <- plot_setting()
  pattern <- open_png(paste0(gsub("%", "%%", stem, fixed = TRUE), "%03d"), size$width, size$height, size$dpi)
  # Devices that write files keep no list of what was drawn unless they are told to.
  grDevices::dev.control("enable")
  run$patterns <- c(run$patterns, pattern)
}

# Opens a PNG device and returns its file; where there is none, a PDF device, whose pages nobody can be shown.
open_png <- function(stem, width, height, dpi) {
  file <- paste0(stem, ".png")
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType", "cairo")
  opened <- tryCatch(
    {
      grDevices::png(file, width, height, res = dpi, type = type)
      TRUE
    },
    error = function(e) FALSE, warning = function(w) FALSE
  )
  if (opened) return(file)
  file <- paste0(stem, ".pdf")
  grDevices::pdf(file, width / dpi, height / dpi, onefile = FALSE)
  file
}

# A state has one folder for as long as it lives.
plot_folder <- function(state) {
  if (is.null(state$plot_folder)) {
    state$plot_folder <- normalizePath(tempfile("gptr-plots-"), winslash = "/", mustWork = FALSE)
    reg.finalizer(state, drop_plot_folder)
  }
  dir.create(state$plot_folder, showWarnings = FALSE, recursive = TRUE)
  state$plot_folder
}

drop_plot_folder <- function(state) unlink(state$plot_folder, recursive = TRUE)

# Width and height in pixels, dots per inch: the setting `plot`.
plot_setting <- function() {
  set <- as.list(getOption("gptr.plot", list()))
  if (is.null(names(set))) names(set) <- c("width", "height", "dpi")[seq_along(set)]
  usable <- function(name, default, limit) {
    value <- set[[name]]
    if (is_finite_number(value) && value >= 16 && value <= limit) as.integer(value) else default
  }
  list(width = usable("width", 768L, 4000), height = usable("height", 512L, 4000), dpi = usable("dpi", 120L, 600))
}

# The numbers of open devices by the files that they write to, for those of this evaluation.
own_devices <- function(run) {
  open <- grDevices::dev.list()
  open[vapply(open, function(device) device_file(device) %in% run$patterns, NA)]
}

device_file <- function(device) {
  file <- attr(get(".Devices", baseenv())[[device]], "filepath")
  if (is.character(file) && length(file) == 1L) file else ""
}

close_plot_devices <- function(run) {
  for (device in own_devices(run)) {
    grDevices::dev.set(device)
    keep_record(run)
    grDevices::dev.off(device)
  }
}

# ---- pages ----------------------------------------------------------------------------------------------------------

# Keeps what was drawn on the current page, when it is one of the harness's: it can be drawn again in another size.
keep_record <- function(run) {
  if (grDevices::dev.cur() == 1L) return(invisible(NULL))
  pattern <- device_file(grDevices::dev.cur())
  if (!pattern %in% run$patterns) return(invisible(NULL))
  file <- note_pages(run, pattern)
  if (is.null(file)) return(invisible(NULL))
  record <- tryCatch(grDevices::recordPlot(), error = function(e) NULL)
  if (!is.null(record[[1L]])) run$records[[file]] <- record
}

# Notes the pages of a device in the order in which they came. Returns the file of the one that is being drawn, or NULL:
# such a file exists and is empty until the page is done.
note_pages <- function(run, pattern) {
  page <- run$next_page[[pattern]] %||% 1L
  repeat {
    file <- sprintf(pattern, page)
    size <- file.size(file)
    if (!is.na(size)) run$pages <- union(run$pages, file)
    if (is.na(size) || size == 0) break
    page <- page + 1L
  }
  run$next_page[[pattern]] <- page
  if (is.na(size)) NULL else file
}

# The plots of an evaluation, each list(n, file, record).
plots_of <- function(run) {
  for (pattern in run$patterns) note_pages(run, pattern)
  first <- run$state$plot_count %||% 0L
  lapply(seq_along(run$pages), function(i) {
    file <- run$pages[[i]]
    list(n = first + i, file = file, record = run$records[[file]])
  })
}

plots_kept <- 100L
# What was drawn holds on to the data of the plot.
records_kept <- 20L

# Hands the plots of an evaluation that ended over to its session; the oldest go.
keep_plots <- function(run) {
  run$plots <- plots_of(run)
  if (length(run$plots) == 0L) return(invisible(NULL))
  state <- run$state
  kept <- c(state$plots, run$plots)
  old <- seq_len(max(length(kept) - plots_kept, 0L))
  unlink(vapply(kept[old], `[[`, "", "file"))
  kept <- kept[setdiff(seq_along(kept), old)]
  for (i in seq_len(max(length(kept) - records_kept, 0L))) kept[[i]]["record"] <- list(NULL)
  state$plots <- kept
  state$plot_count <- run$plots[[length(run$plots)]]$n
}

# ---- the result -----------------------------------------------------------------------------------------------------

max_member_images <- 2L
# Share of the budget of a result that its plots may take.
image_share <- 0.6

# list(lines, blocks): what the model is told and shown of the plots and of the images that members gave.
shown_plots <- function(run) {
  given <- utils::head(run$images, max_member_images)
  blocks <- lapply(given, `[[`, "block")
  left <- floor(run$tokens * image_share) - sum(0, vapply(blocks, block_tokens, 0))
  attached <- 0L
  own <- Filter(function(plot) !paste("plot", plot$n) %in% lapply(given, `[[`, "label"), run$plots)
  for (plot in utils::head(own, max_plot_images())) {
    block <- plot_block(plot$file)
    if (is.null(block) || block_tokens(block) > left) break
    left <- left - block_tokens(block)
    blocks <- c(blocks, list(block))
    attached <- attached + 1L
  }
  list(lines = c(plot_lines(own, attached), member_image_lines(run$images)), blocks = blocks)
}

max_plot_images <- function() {
  set <- getOption("gptr.r_max_images", 3L)
  if (is_finite_number(set) && set >= 0) as.integer(set) else 3L
}

plot_block <- function(file) {
  if (!endsWith(file, ".png") || !isTRUE(file.size(file) > 0)) return(NULL)
  image_block(readBin(file, "raw", file.size(file)), "image/png", "plot")
}

block_tokens <- function(block) engine(.Call(wrap__image_tokens, block[["width"]], block[["height"]]))

plot_lines <- function(plots, attached) {
  n <- vapply(plots, `[[`, 0, "n")
  shown <- utils::head(n, attached)
  rest <- n[seq_along(n) > attached]
  if (length(plots) && !endsWith(plots[[1L]]$file, ".png")) {
    return(paste0("[", length(plots), " plot(s) not attached: no PNG device can be opened here]"))
  }
  c(
    if (length(shown)) paste0("[plot ", shown, " attached]"),
    if (length(rest) == 1L) paste0("[plot ", rest, " not attached: peter$plot(", rest, ")]"),
    if (length(rest) > 1L) paste0("[plots ", rest[[1L]], "-", rest[[length(rest)]], " not attached: peter$plot(k)]")
  )
}

member_image_lines <- function(images) {
  labels <- unlist(lapply(utils::head(images, max_member_images), `[[`, "label"))
  more <- length(images) - max_member_images
  c(
    if (length(labels)) paste0("[", labels, " attached]"),
    if (more > 0L) paste0("[", more, " image(s) from peter$plot() or peter$read() not attached: at most ",
      max_member_images, " per r call]")
  )
}

# Attaches an image to the result of the code that runs now. FALSE when no code of this session does.
attach_image <- function(block, label = NULL) {
  run <- current_evaluation()
  if (is.null(run)) return(FALSE)
  # Beyond the limit only their number counts.
  if (length(run$images) >= max_member_images) block <- NULL
  run$images <- c(run$images, list(list(block = block, label = label)))
  TRUE
}

# ---- peter$plot() ---------------------------------------------------------------------------------------------------

member_plot <- function(which = NULL, width = 1000L, height = 700L) {
  check_side(width, "width")
  check_side(height, "height")
  run <- current_evaluation()
  if (is.null(run)) {
    gptr_abort("tool", "peter$plot() attaches a plot to the result of R code of the agent, and none runs here.",
      tool = "plot", status = "error")
  }
  keep_record(run)
  kept <- c(run$state$plots, plots_of(run))
  plot <- chosen_plot(kept, which)
  block <- redrawn(plot, as.integer(width), as.integer(height)) %||% plot_block(plot$file)
  if (is.null(block)) {
    gptr_abort("tool", paste0("Plot ", plot$n, " can't be shown: no PNG device can be opened here."),
      tool = "plot", status = "error")
  }
  attach_image(block, paste("plot", plot$n))
  invisible(NULL)
}

check_side <- function(x, arg) {
  if (!is_finite_number(x) || x < 50 || x > 4000) abort_argument(arg, "a number of pixels from 50 to 4000", x)
}

chosen_plot <- function(kept, which) {
  n <- vapply(kept, function(plot) as.numeric(plot$n), 0)
  have <- if (length(n) == 0L) "none is kept" else if (length(n) == 1L) paste0("1 is kept (", n, ")")
    else paste0(length(n), " are kept (", n[[1L]], "-", n[[length(n)]], ")")
  if (is.null(which) && length(n)) return(kept[[length(n)]])
  at <- if (is_finite_number(which)) match(which, n) else NA
  if (is.na(at)) {
    gptr_abort("invalid_argument", paste0("`which` must be the number of a plot of this session: ", have, "."),
      arg = "which", expected = "the number of a kept plot")
  }
  kept[[at]]
}

# The plot as an image block of this size, or NULL when it can't be drawn again.
redrawn <- function(plot, width, height) {
  if (is.null(plot$record)) return(NULL)
  current <- grDevices::dev.cur()
  stem <- tempfile("gptr-plot-")
  file <- open_png(gsub("%", "%%", stem, fixed = TRUE), width, height, plot_setting()$dpi)
  device <- grDevices::dev.cur()
  drawn <- tryCatch(
    {
      grDevices::replayPlot(plot$record)
      TRUE
    },
    error = function(e) FALSE,
    finally = {
      grDevices::dev.off(device)
      if (current != 1L) grDevices::dev.set(current)
    }
  )
  file <- sprintf(file)
  on.exit(unlink(file))
  if (drawn) plot_block(file) else NULL
}
