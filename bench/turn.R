# R time of a text turn with the scripted provider: follow-ups on one session, and a session for each turn.
# Promise: at most 2 ms a turn beyond the first, and no growth with the length of the conversation.

library(gptr)
options(gptr.verbose = 0)
turns <- 200L

# Milliseconds of each call of `turn(i)`.
each_ms <- function(turn) {
  vapply(seq_len(turns), function(i) {
    start <- Sys.time()
    turn(i)
    as.numeric(Sys.time() - start, units = "secs") * 1000
  }, 0)
}

fake <- gptr_fake_provider(list("All is well."))
home <- new.env()
first <- Sys.time()
session <- peter("Start.", model = fake, envir = home)
first_ms <- as.numeric(Sys.time() - first, units = "secs") * 1000
follow_up <- each_ms(function(i) session <<- peter(session, "Go on."))
stopifnot(session$turns == turns + 1L, session$text == "All is well.")
fresh <- each_ms(function(i) peter("Start.", model = gptr_fake_provider(list("ok")), envir = home))

edge <- 50L
row <- function(what, ms) {
  data.frame(
    what = what, median_ms = stats::median(ms), mean_ms = mean(ms), p95_ms = stats::quantile(ms, 0.95),
    last_to_first = mean(utils::tail(ms, edge)) / mean(utils::head(ms, edge))
  )
}
table <- rbind(
  row(sprintf("follow-up turn, %d on one session", turns), follow_up),
  row(sprintf("new session and its turn, %d times", turns), fresh)
)
table[-1L] <- round(table[-1L], 2)
cat(sprintf("the first turn of the process: %.1f ms\n", first_ms))
print(table, row.names = FALSE)
