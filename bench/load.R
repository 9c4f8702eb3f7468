# What library(gptr) adds to an empty Rscript, and what it leaves running.
# Promise: at most 100 ms (medians of 20, interleaved), no thread, no socket.

runs <- 20L
seconds <- function(code) {
  unname(system.time(system2("Rscript", c("-e", shQuote(code)), stdout = FALSE, stderr = FALSE))[["elapsed"]])
}
codes <- c(empty = "NULL", gptr = "library(gptr)")
times <- matrix(NA_real_, runs, length(codes), dimnames = list(NULL, names(codes)))
for (i in seq_len(runs)) for (name in names(codes)) times[i, name] <- seconds(codes[[name]])

middle <- apply(times, 2L, stats::median) * 1000
print(data.frame(
  what = c("Rscript -e NULL", "Rscript -e 'library(gptr)'", "added by gptr"),
  median_ms = round(c(middle, middle[["gptr"]] - middle[["empty"]])),
  ratio = round(c(1, middle[["gptr"]] / middle[["empty"]], NA), 2),
  row.names = NULL
), row.names = FALSE)

if (dir.exists("/proc/self/task")) {
  left <- paste(
    "count <- function() c(threads = length(list.files('/proc/self/task')), sockets = sum(grepl('^socket',",
    "Sys.readlink(list.files('/proc/self/fd', full.names = TRUE)))));",
    "before <- count(); library(gptr); cat(count() - before)"
  )
  added <- scan(text = system2("Rscript", c("-e", shQuote(left)), stdout = TRUE), quiet = TRUE)
  cat(sprintf("\nadded by library(gptr): %d threads, %d sockets\n", added[[1L]], added[[2L]]))
}
