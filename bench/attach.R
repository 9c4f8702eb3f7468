# Large objects as context of a prompt and as arguments of members: a data frame of 1 GB and a sequence of 1e9 numbers
# that R keeps as two. Promises: at most 5 ms more than without them, no copy (R's own tracing), no memory (the peak of
# the process), and nothing of them is serialised.

library(gptr)
options(gptr.verbose = 0)

# Megabytes: the most that this process ever held. NA where the system does not say.
peak_mb <- function() {
  if (!file.exists("/proc/self/status")) return(NA_real_)
  line <- grep("^VmHWM:", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

rows <- as.integer(Sys.getenv("GPTR_BENCH_ROWS", "20000000"))
big <- data.frame(a = as.numeric(seq_len(rows)), b = runif(rows), c = runif(rows), e = runif(rows), f = runif(rows))
big$s <- rep_len(paste("text", 1:1000), rows)
big$t <- rep_len(c("yes", "no", NA), rows)
sequence <- 1:1e9
size_gb <- (5 * 8 + 2 * 8) * rows / 1e9

same <- gptr_tool("same", "Give it back", fun = function(x) x, exposure = "r", namespace = "bench",
  parameters = list(type = "object", properties = list(x = structure(list(), names = character()))))
off <- gptr_register(same)
small <- big[1:10, ]
home <- list2env(list(big = big, small = small, sequence = sequence), parent = globalenv())

# Milliseconds of CPU time of a whole session without a call, and of one whose code passes an object to a member: the
# mean of some, as the clock is coarse.
ms <- function(expr, times = 15L) {
  call <- substitute(expr)
  here <- parent.frame()
  gc(FALSE)
  used <- system.time(for (i in seq_len(times)) eval(call, here), gcFirst = FALSE)
  sum(used[c("user.self", "sys.self")]) / times * 1000
}
attach_small <- function() peter("look", small, model = gptr_fake_provider(list("ok")), envir = home)
attach_big <- function() peter("look", big, model = gptr_fake_provider(list("ok")), envir = home)
attach_sequence <- function() peter("look", sequence, model = gptr_fake_provider(list("ok")), envir = home)
pass <- function(name) {
  code <- sprintf("got <- peter$bench$same(%s)\nNULL", name)
  model <- gptr_fake_provider(list(list(tool = "r", input = list(code = code)), "ok"))
  peter("pass", model = model, envir = home, mode = "auto")
}

invisible(list(attach_small(), pass("small"), peter$bench$same(small), ms(attach_small()), ms(pass("small")), gc()))
before <- peak_mb()
invisible(lapply(c(list(big), big), tracemem))
copies <- utils::capture.output({
  times <- c(small = ms(attach_small()), big = ms(attach_big()), sequence = ms(attach_sequence()))
  passed <- c(small = ms(pass("small")), big = ms(pass("big")), sequence = ms(pass("sequence")))
  direct <- c(small = ms(peter$bench$same(small)), big = ms(peter$bench$same(big)),
    sequence = ms(peter$bench$same(sequence)))
})
invisible(lapply(c(list(big), big), untracemem))
stopifnot(identical(nrow(home$got), NULL), length(home$got) == 1e9)
print(data.frame(
  what = names(times), attach_ms = round(times, 1), more = round(times - times[[1L]], 1), pass_ms = round(passed, 1),
  more = round(passed - passed[[1L]], 1), own_call_ms = round(direct, 2),
  more = round(direct - direct[[1L]], 2), check.names = FALSE
), row.names = FALSE)
cat(sprintf("\ndata frame of %.1f GB: %d copies traced, peak memory grew by %.0f MB\n", size_gb,
  sum(grepl("^tracemem", copies)), peak_mb() - before))
off()
