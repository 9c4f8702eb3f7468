# Values across the border: R to JSON and back, schemas, and what a call of a member costs beyond its body.
# Promises: conversions at least 3 times as fast as jsonlite's, validation at least 10 times as fast as Python's
# jsonschema, at most 200 us a call of a member from the model's R code.

library(gptr)
options(gptr.verbose = 0)
invisible(gptr_registry())

encode <- gptr:::value_to_json
decode <- gptr:::value_from_json

# The best of some runs, in milliseconds of CPU time: a busy machine counts as little as it can.
ms <- function(expr, times = 5L) {
  call <- substitute(expr)
  here <- parent.frame()
  one <- function() {
    gc(FALSE)
    sum(system.time(eval(call, here), gcFirst = FALSE)[c("user.self", "sys.self")])
  }
  min(replicate(times, one())) * 1000
}

# ---- conversions ----------------------------------------------------------------------------------------------------

set.seed(1)
n <- 36000L
words <- c("alpha", "beta \"quoted\"", "na\u00efve", "line\nbreak", strrep("long ", 12))
mixed <- lapply(seq_len(n), function(i) {
  list(
    id = i, name = paste("record", i), score = runif(1), ok = i %% 2L == 0L,
    note = if (i %% 7L == 0L) NULL else words[i %% 5L + 1L], tags = as.list(sample(words[1:3])),
    at = list(x = runif(1), y = rnorm(1)), marks = as.list(sample.int(1000L, 8L)),
    deep = list(list(list(a = 1L, b = list(TRUE, FALSE))))
  )
})
text <- encode(mixed)
cases <- list(
  list(what = sprintf("mixed, %.1f MB", nchar(text, "bytes") / 1e6), x = mixed, simplify = FALSE),
  list(what = "1e6 doubles", x = rnorm(1e6), simplify = TRUE),
  list(what = "1e6 integers", x = sample.int(.Machine$integer.max, 1e6), simplify = TRUE),
  list(what = "1e6 strings", x = paste0("text ", sample.int(1e5, 1e6, TRUE)), simplify = TRUE),
  list(what = "1e6 flags", x = sample(c(TRUE, FALSE, NA), 1e6, TRUE), simplify = TRUE),
  list(what = "data frame, 1e5 rows", simplify = FALSE, x = data.frame(
    n = rnorm(1e5), i = 1:1e5, s = paste0("row ", 1:1e5), f = factor(sample(letters, 1e5, TRUE))
  ))
)
theirs_of <- function(x) jsonlite::toJSON(x, auto_unbox = TRUE, null = "null", na = "null", digits = NA)
rows <- lapply(cases, function(case) {
  json <- encode(case$x)
  stopifnot(identical(encode(decode(json, vectors = case$simplify)), json))
  theirs <- c(NA, NA)
  if (requireNamespace("jsonlite", quietly = TRUE)) {
    # A hundredth of the mixed list: it takes them minutes.
    part <- if (case$simplify || is.data.frame(case$x)) 1 else 100
    x <- if (part == 1) case$x else case$x[seq_len(length(case$x) / part)]
    theirs <- c(ms(theirs_of(x), 1L) * part, ms(jsonlite::fromJSON(json, simplifyVector = case$simplify), 3L))
  }
  ours <- c(ms(encode(case$x)), ms(decode(json, vectors = case$simplify)))
  data.frame(what = case$what, encode_ms = ours[[1]], jsonlite_ms = theirs[[1]], ratio = theirs[[1]] / ours[[1]],
    decode_ms = ours[[2]], jsonlite_ms2 = theirs[[2]], ratio2 = theirs[[2]] / ours[[2]])
})
table <- do.call(rbind, rows)
table[-1] <- round(table[-1], 1)
names(table) <- c("what", "encode_ms", "jsonlite_ms", "times_as_fast", "decode_ms", "jsonlite_ms", "times_as_fast")
print(table, row.names = FALSE)

# ---- schemas --------------------------------------------------------------------------------------------------------

record <- list(type = "object", required = I(c("id", "name", "tags")), additionalProperties = FALSE, properties = list(
  id = list(type = "integer", minimum = 0), name = list(type = "string", pattern = "^[a-z]+ [0-9]+$", maxLength = 40),
  score = list(type = c("number", "null")),
  tags = list(type = "array", items = list(enum = c("a", "b", "c")), uniqueItems = TRUE),
  at = list(type = "object", properties = list(x = list(type = "number"), y = list(type = "number")),
    required = I(c("x", "y")))
))
schema <- list(type = "object", properties = list(data = list(type = "array", items = record)))
data <- lapply(1:2000, function(i) {
  list(id = i, name = paste("record", i), score = runif(1), tags = list("a", "c"), at = list(x = 1.5, y = 2))
})
off <- gptr_register(gptr_tool("check", "d", parameters = schema, fun = function(data) NULL,
  exposure = "r", namespace = "bench"))
id <- gptr:::resolve_member(c("bench", "check"))$record
ours <- ms(stopifnot(length(.Call(gptr:::wrap__member_check, id, list(data = data))) == 0L))
off()
python <- "
import json, sys, time
from jsonschema import Draft202012Validator
schema, data = (json.load(open(f)) for f in sys.argv[1:])
validator = Draft202012Validator(schema)
best = 1e9
for _ in range(3):
    at = time.process_time()
    assert not list(validator.iter_errors(data))
    best = min(best, time.process_time() - at)
print(best * 1000)
"
files <- c(tempfile(), tempfile(), tempfile())
writeLines(python, files[[1]])
writeLines(encode(schema), files[[2]])
writeLines(encode(list(data = data)), files[[3]])
# R's own library path makes another Python than the one on the PATH find its modules.
run_python <- function() system2("python3", files, stdout = TRUE, stderr = FALSE, env = "LD_LIBRARY_PATH=")
said <- tryCatch(run_python(), error = function(e) NA, warning = function(w) NA)
theirs <- as.numeric(said)
if (length(theirs) != 1L) theirs <- NA_real_
cat("\n")
print(data.frame(what = "2,000 records against a schema, R values read", gptr_ms = round(ours, 1),
  python_ms = round(theirs, 1),
  times_as_fast = round(theirs / ours, 1)), row.names = FALSE)

# ---- members --------------------------------------------------------------------------------------------------------

anything <- list(type = "object", properties = list(x = structure(list(), names = character())))
off <- gptr_register(gptr_tool("same", "d", parameters = anything,
  fun = function(x) x, exposure = "r", namespace = "bench"))
home <- new.env(parent = globalenv())
calls <- 2000L
# CPU microseconds a call, of code that the model wrote: all but the body of `same`, which does nothing.
code <- sprintf("for (i in 1:200) peter$bench$same(i)
used <- system.time(for (i in 1:%d) peter$bench$same(i))
same <- peter$bench$same
called <- system.time(for (i in 1:%d) same(i))
NULL", calls, calls)
model <- gptr_fake_provider(list(list(tool = "r", input = list(code = code)), "done"))
invisible(peter("Call.", model = model, envir = home, mode = "auto"))
own <- system.time(for (i in seq_len(calls)) peter$bench$same(i))
us <- function(time) round(sum(time[c("user.self", "sys.self")]) / calls * 1e6)
off()
cat("\n")
print(data.frame(what = c("peter$bench$same(i) in a run", "same(i) in a run", "peter$bench$same(i) by a person"),
  us_a_call = c(us(home$used), us(home$called), us(own))), row.names = FALSE)
