# R time of a text turn with the scripted provider: follow-ups on one session, and a session for each turn.
# Promise: at most 2 ms a turn beyond the first, and no growth with the length of the conversation or with the number
# of sessions that are kept.

library(gptr)
options(gptr.verbose = 0)
turns <- 2000L
edge <- 500L

cpu_seconds <- function() sum(proc.time()[c("user.self", "sys.self")])

# Calls `turn(i)` for each i: the milliseconds of each call, and the CPU milliseconds a call of the first and the last
# `edge` calls. CPU time is what other work on the machine does not add to.
measure <- function(what, turn) {
  cpu <- numeric(turns + 1L)
  cpu[[1L]] <- cpu_seconds()
  ms <- vapply(seq_len(turns), function(i) {
    start <- Sys.time()
    turn(i)
    took <- as.numeric(Sys.time() - start, units = "secs") * 1000
    cpu[[i + 1L]] <<- cpu_seconds()
    took
  }, 0)
  first <- (cpu[[edge + 1L]] - cpu[[1L]]) / edge * 1000
  last <- (cpu[[turns + 1L]] - cpu[[turns + 1L - edge]]) / edge * 1000
  data.frame(
    what = what, median_ms = round(stats::median(ms), 2), first_cpu_ms = round(first, 2), last_cpu_ms = round(last, 2),
    last_to_first = round(last / first, 2)
  )
}

home <- new.env()
new_session <- function() peter("Start.", model = gptr_fake_provider(list("All is well.")), envir = home)

start <- Sys.time()
session <- new_session()
first_ms <- as.numeric(Sys.time() - start, units = "secs") * 1000
follow_ups <- measure("follow-ups on one session", function(i) session <<- peter(session, "Go on."))
stopifnot(session$turns == turns + 1L, session$text == "All is well.")
fresh <- measure("a session and its turn", function(i) new_session())
kept <- vector("list", turns)
among_many <- measure("the same, all sessions kept", function(i) kept[[i]] <<- new_session())

cat(sprintf("the first turn of the process: %.1f ms; then %d of each:\n", first_ms, turns))
print(rbind(follow_ups, fresh, among_many), row.names = FALSE)
