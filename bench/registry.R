# What the registry costs from R: registering, listing and removing 10,000 records, against 100.
# Promise: at most 60 us a record, at most 100 ms a listing, at 10,000 records at most 2 times the cost at 100.

library(gptr)
invisible(gptr_registry())

# CPU time, so that a busy machine counts as little as it can.
cpu_seconds <- function(expr) sum(system.time(expr)[c("user.self", "sys.self")])

specs <- lapply(seq_len(10100L), function(i) gptr_command(paste0("bench", i), function(args, ctx) NULL))

# Microseconds a record: `n` specs registered and removed when `before` of them are there already.
cost <- function(n, before) {
  offs <- lapply(specs[seq_len(before)], gptr_register)
  own <- vector("list", n)
  add <- cpu_seconds(for (i in seq_len(n)) own[[i]] <- gptr_register(specs[[before + i]]))
  listing <- replicate(5L, {
    off <- gptr_register(specs[[10100L]])
    seconds <- cpu_seconds(rows <- gptr_registry())
    off()
    stopifnot(nrow(rows) > before + n)
    seconds
  })
  remove <- cpu_seconds(for (off in own) off())
  for (off in offs) off()
  data.frame(records = before + n, register_us = add / n * 1e6, remove_us = remove / n * 1e6,
    list_ms = stats::median(listing) * 1000)
}

table <- rbind(cost(100L, 0L), cost(9900L, 100L), cost(100L, 9900L))
table$what <- c("the first 100", "up to 10,000", "the last 100 of 10,000")
table[2:4] <- round(table[2:4], 1)
print(table[c("what", "records", "register_us", "remove_us", "list_ms")], row.names = FALSE)
