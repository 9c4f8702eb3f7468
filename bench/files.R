# Searching files: peter$grep() against rg and against readLines() with grep(), peter$find() against list.files().
# Promise: counting matches in 200 MB takes at most 1.5 times what rg takes; finding is faster than list.files().
# rg is left out where it is not installed.

library(gptr)

megabytes <- 200L
runs <- 5L

# Words as in prose; a line is about 60 bytes, a file about 100 KB, a folder has 20 files.
words <- c("model", "value", "mean", "data", "frame", "plot", "sum", "apply", "function", "needle", "vector", "list")
tree <- file.path(tempdir(), "tree")
set.seed(1)
block <- vapply(1:1700, function(i) paste(sample(words[-10L], 10L, replace = TRUE), collapse = " "), "")
block[sample(length(block), 17L)] <- "a line with the needle in it, and then some more words to make it as long"
bytes <- sum(nchar(block)) + length(block)
n <- as.integer(megabytes * 1e6 / bytes)
for (i in seq_len(n)) {
  folder <- file.path(tree, sprintf("part%02d", i %/% 400), sprintf("folder%03d", i %/% 20))
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  writeLines(sample(block), file.path(folder, sprintf("file%05d.txt", i)))
}
cat(sprintf("%d files, %.0f MB, %s cores\n\n", n, n * bytes / 1e6, parallel::detectCores()))

median_seconds <- function(expr) {
  expr <- substitute(expr)
  env <- parent.frame()
  stats::median(vapply(seq_len(runs), function(i) unname(system.time(eval(expr, env))[["elapsed"]]), 0))
}
show_times <- function(times) {
  rows <- data.frame(what = names(times), seconds = round(times, 3), ratio = round(times[[1L]] / times, 2))
  print(rows, row.names = FALSE)
}
setwd(tree)
rg <- Sys.which("rg")
has_rg <- nzchar(rg)
rg_count <- function(sorted) system2(rg, c("--count", if (sorted) c("--sort", "path"), "needle", "."), stdout = TRUE)
by_lines <- function() {
  vapply(list.files(recursive = TRUE), function(f) sum(grepl("needle", readLines(f), fixed = TRUE)), 0L)
}

ours <- peter$grep("needle", output = "count", limit = Inf)
theirs <- by_lines()
stopifnot(sum(ours$n) == sum(theirs), nrow(ours) == sum(theirs > 0L))
if (has_rg) stopifnot(length(rg_count(TRUE)) == nrow(ours))

times <- c(
  "peter$grep(output = \"count\", limit = Inf)" = median_seconds(peter$grep("needle", output = "count", limit = Inf)),
  "rg --count --sort path" = if (has_rg) median_seconds(rg_count(TRUE)) else NA,
  "rg --count" = if (has_rg) median_seconds(rg_count(FALSE)) else NA,
  "grepl() on readLines()" = unname(system.time(by_lines())[["elapsed"]])
)
show_times(times)

# Many small files, as in a source tree.
many <- file.path(tempdir(), "many")
for (i in 1:200) {
  folder <- file.path(many, sprintf("a%02d", i %/% 20), sprintf("b%03d", i))
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  for (j in 1:100) file.create(file.path(folder, sprintf("file%03d.%s", j, if (j %% 2) "R" else "txt")))
}
setwd(many)
stopifnot(identical(nrow(peter$find("*.R", limit = Inf)), length(list.files(pattern = "[.]R$", recursive = TRUE))))
times <- c(
  "peter$find(\"*.R\")" = median_seconds(peter$find("*.R")),
  "peter$find(\"*\", limit = Inf)" = median_seconds(peter$find("*", limit = Inf)),
  "list.files(recursive = TRUE)" = median_seconds(list.files(recursive = TRUE)),
  "file.info(list.files(recursive = TRUE))" = median_seconds(file.info(list.files(recursive = TRUE)))
)
cat("\n20,000 files\n")
show_times(times)
