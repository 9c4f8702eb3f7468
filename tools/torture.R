# The conversions under a garbage collector that runs at every few allocations, only around the calls into the bindings:
# an object that is not protected is gone then, and R crashes or says so. tools/run_tests runs this; the last line is
# "N passed, N failed".

library(gptr)
invisible(gptr_registry())

under_torture <- function(expr) {
  gctorture2(step = 50L)
  on.exit(gctorture(FALSE))
  expr
}
to_json <- function(x) under_torture(.Call(gptr:::wrap__value_to_json, x))
by_tree <- function(x) under_torture(.Call(gptr:::wrap__value_to_json_by_tree, x))
from_json <- function(text, vectors) under_torture(.Call(gptr:::wrap__value_from_json, text, vectors))

latin <- "caf\xe9"
Encoding(latin) <- "latin1"
values <- list(
  NULL, TRUE, 1:20, c(0.5, NA, 1e300), c("a", NA, latin, "\u4f60"), c(a = 1, b = 2),
  list(a = list(1, "x", NULL), b = list()), I("x"),
  factor(c("u", NA, "v")), as.Date("2024-02-28") + 0:3, as.POSIXct("2024-02-28", tz = "UTC"), as.raw(1:50),
  matrix(1:6, 2), array(1:8, c(2, 2, 2)),
  data.frame(n = 1:30, s = rep(c("p", "q", latin), 10), f = factor(rep(c("x", "y"), 15))), table(c("a", "b", "a")),
  structure(list(m = matrix(1:4, 2), d = data.frame(x = 3:4)), class = "data.frame", row.names = 1:2),
  Reduce(function(x, i) list(k = x), 1:60, 1L), list(f = mean), list(e = globalenv(), z = 1i),
  stats::setNames(as.list(1:40), paste0("k", 1:40))
)
passed <- 0L
failed <- 0L
check <- function(ok) if (isTRUE(ok)) passed <<- passed + 1L else failed <<- failed + 1L

for (x in values) {
  direct <- to_json(x)
  tree <- by_tree(x)
  check(identical(direct, tree))
  if (!is.character(direct)) next
  for (vectors in c(FALSE, TRUE)) check(identical(to_json(from_json(direct, vectors)), direct))
}
row <- "{\"a\":1,\"b\":\"\\u00e9x\",\"c\":[1.5,null],\"d\":{\"e\":[true]}}"
rows <- paste0("[", paste(rep(row, 40), collapse = ","), ",{\"a\":2}]")
plain <- gsub("\\u00e9", "\u00e9", rows, fixed = TRUE)
for (vectors in c(FALSE, TRUE)) check(identical(to_json(from_json(rows, vectors)), plain))
for (bad in c("[1,2", "{\"a\":1,\"a\":2}", "[{\"a\":[1,{\"b\":x}]}]")) {
  check(inherits(from_json(bad, FALSE), "gptr_engine_error"))
}

# A tool's input and its result, a person's call of a member, a spec with closures.
schema <- list(type = "object", properties = list(x = list(type = "array"), n = list(type = "integer")))
spec <- gptr_tool("tortured", "d", parameters = schema,
  execute = function(input, ctx) toString(unlist(input)), exposure = "r", namespace = "torture")
validated <- under_torture(.Call(gptr:::wrap__spec_validate, spec, NULL))
check(!inherits(validated, "gptr_engine_error"))
off <- gptr_register(spec)
record <- gptr:::resolve_member(c("torture", "tortured"))$record
for (args in list(list(x = 1:100, n = 3), list(x = list("a", list(b = 1)), n = 2.5), list(y = latin))) {
  once <- under_torture(.Call(gptr:::wrap__member_check, record, args))
  check(identical(once, .Call(gptr:::wrap__member_check, record, args)))
}
resolved <- under_torture(.Call(gptr:::wrap__member_resolve, c("torture", "tortured"), NULL))
check(identical(resolved$key, "torture/tortured"))
off()

cat(sprintf("%d passed, %d failed\n", passed, failed))
quit(status = as.integer(failed > 0L))
