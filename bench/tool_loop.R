# One run of 1,000 tool calls with the scripted provider.
# Promise: the last 100 calls cost at most 1.3 times what the first 100 cost.

library(gptr)
options(gptr.verbose = 0)
calls <- 1000L
edge <- 100L

at <- numeric(calls)
n <- 0L
tick <- gptr_tool(
  "tick", "Note the time",
  parameters = list(type = "object", properties = list(i = list(type = "integer"))),
  exposure = "direct",
  execute = function(input, ctx) {
    n <<- n + 1L
    at[[n]] <<- as.numeric(Sys.time())
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

ms <- diff(at) * 1000
first <- utils::head(ms, edge)
last <- utils::tail(ms, edge)
print(data.frame(
  what = c(sprintf("first %d calls", edge), sprintf("last %d calls", edge), "last to first"),
  mean_ms = round(c(mean(first), mean(last), mean(last) / mean(first)), 3),
  median_ms = round(c(stats::median(first), stats::median(last), stats::median(last) / stats::median(first)), 3)
), row.names = FALSE)
cat(sprintf("\n%d calls in one run: %.2f s\n", calls, total))
