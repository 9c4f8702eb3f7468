# Values across the border: R to JSON and back, schemas, and what a call of a member costs beyond its body.
# Promises: conversions at least 3 times as fast as jsonlite's, validation at least 10 times as fast as Python's
# jsonschema, at most 200 us a call of a member from the model's R code.

library(gptr)
options(gptr.verbose = 0)
invisible(gptr_registry())

encode <- gptr:::value_to_json
decode <- gptr:::value_from_json

# The best of some runs, in milliseconds.
ms <- function(expr, times = 5L) {
  call <- substitute(expr)
  here <- parent.frame()
  one <- function() {
    gc(FALSE)
    system.time(eval(call, here))[["elapsed"]]
  }
  min(replicate(times, one())) * 1000
}

# ---- conversions ----------------------------------------------------------------------------------------------------

set.seed(1)
n <- 26000L
words <- c("alpha", "beta \"quoted\"", "na\u00efve", "line\nbreak", strrep("long ", 12))
mixed <- lapply(seq_len(n), function(i) {
  list(
    id = i, name = paste("record", i), score = runif(1), ok = i %% 2L == 0L, note = if (i %% 7L == 0L) NULL else words[i %% 5L + 1L],
    tags = as.list(sample(words[1:3])), at = list(x = runif(1), y = rnorm(1)), marks = as.list(sample.int(1000L, 8L)),
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
rows <- lapply(cases, function(case) {
  times <- if (requireNamespace("jsonlite", quietly = TRUE)) {
    theirs <- jsonlite::toJSON(case$x, auto_unbox = TRUE, null = "null", na = "null", digits = NA)
    c(ms(jsonlite::toJSON(case$x, auto_unbox = TRUE, null = "null", na = "null", digits = NA), 2L),
      ms(jsonlite::fromJSON(theirs, simplifyVector = case$simplify), 3L))
  } else {
    c(NA, NA)
  }
  json <- encode(case$x)
  ours <- c(ms(encode(case$x)), ms(decode(json, vectors = case$simplify)))
  stopifnot(identical(encode(decode(json, vectors = case$simplify)), json))
  data.frame(what = case$what, encode_ms = ours[[1]], jsonlite_ms = times[[1]], ratio = times[[1]] / ours[[1]],
    decode_ms = ours[[2]], jsonlite_ms2 = times[[2]], ratio2 = times[[2]] / ours[[2]])
})
table <- do.call(rbind, rows)
table[-1] <- round(table[-1], 1)
names(table) <- c("what", "encode_ms", "jsonlite_ms", "times_as_fast", "decode_ms", "jsonlite_ms", "times_as_fast")
print(table, row.names = FALSE)
