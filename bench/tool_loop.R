# One run of 1,000 tool calls with the scripted provider.
# Promise: the last 100 calls cost at most 1.3 times what the first 100 cost.

library(gptr)
options(gptr.verbose = 0)
calls <- 1000L
edge <- 100L

at <- numeric(calls) # wall clock, seconds
cpu <- numeric(calls) # CPU time of this process, seconds
n <- 0L
tick <- gptr_tool(
  "tick", "Note the time",
  parameters = list(type = "object", properties = list(i = list(type = "integer"))),
  exposure = "direct",
  execute = function(input, ctx) {
    n <<- n + 1L
    at[[n]] <<- as.numeric(Sys.time())
    cpu[[n]] <<- sum(proc.time()[c("user.self", "sys.self")])
    "noted"
  }
)
fake <- gptr_fake_provider(c(
  lapply(seq_len(calls), function(i) list(tool = "tick", input = list(i = i))),
  list("done")
))
total <- system.time(
  session <- peter("Tick.", model = fake, envir = new.env(), mode = "auto", tools = list(tick),
                   .opts = list(max_turns = calls + 1L))
)[["elapsed"]]
stopifnot(n == calls, session$text == "done")

# Milliseconds a call over the first and the last `edge` calls.
edges <- function(seconds) {
  ms <- diff(seconds) * 1000
  c(mean(utils::head(ms, edge)), mean(utils::tail(ms, edge)))
}
ratio <- function(x) round(c(x, x[[2L]] / x[[1L]]), 3)
print(data.frame(
  what = c(sprintf("first %d calls", edge), sprintf("last %d calls", edge), "last to first"),
  wall_ms = ratio(edges(at)), cpu_ms = ratio(edges(cpu))
), row.names = FALSE)
cat(sprintf("\n%d calls in one run: %.2f s\n", calls, total))
