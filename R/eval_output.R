# Where the output of evaluated code goes.

# Output, messages and warnings go into one connection in the order in which they happen. It is
# a raw one: it grows geometrically (a text connection copies all lines for each line), and
# nothing reaches the disk.
open_capture <- function(run) {
  run$con <- rawConnection(raw(), "wb")
  outer_sinks <- sink.number()
  run$outer_stderr <- sink.number(type = "message")
  sink(run$con)
  sink(run$con, type = "message")
  run$sinks <- outer_sinks + 1L
  function() {
    sink_messages(run$outer_stderr)
    while (sink.number() > outer_sinks) sink()
    bytes <- rawConnectionValue(run$con)
    run$output <- captured_text(bytes)
    run$outputs <- expression_outputs(bytes, run$ends)
    close(run$con)
  }
}

# 2 is standard error itself.
sink_messages <- function(number) {
  if (number == 2L) sink(type = "message") else sink(getConnection(number), type = "message")
}

# Code that calls sink() once too often takes the harness's own away.
restore_sink <- function(run) {
  if (sink.number() < run$sinks) sink(run$con)
  if (sink.number(type = "message") == 2L) sink(run$con, type = "message")
}

# Notes where the output of an expression ends, and the plot as it then is.
end_expression <- function(run) {
  run$ends <- c(run$ends, seek(run$con))
  keep_record(run)
}

max_lines_noted <- 12L
max_width_noted <- 76L

# The first lines of each expression's output.
expression_outputs <- function(bytes, ends) {
  starts <- c(0, ends)[seq_along(ends)]
  lapply(seq_along(ends), function(i) {
    size <- min(ends[[i]] - starts[[i]], 16 * max_lines_noted * max_width_noted)
    text <- captured_text(bytes[starts[[i]] + seq_len(size)])
    lines <- utils::head(strsplit(text, "\n", fixed = TRUE)[[1L]], max_lines_noted)
    substr(lines, 1L, max_width_noted)
  })
}

# Stands for "a new line from here on": what precedes it may have ended without one.
line_start <- "\x1e\x1e\x1e"

# Messages go past sinks that the code itself has opened.
write_captured <- function(run, text) cat(text, file = run$con, sep = "")

captured_text <- function(bytes) {
  if (length(bytes) == 0L) return("")
  nul <- bytes == as.raw(0L)
  if (any(nul)) bytes[nul] <- charToRaw("?")
  text <- rawToChar(bytes)
  text <- if (l10n_info()[["UTF-8"]]) {
    Encoding(text) <- "UTF-8"
    if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
  } else {
    iconv(text, "", "UTF-8", sub = "byte")
  }
  if (!grepl(line_start, text, fixed = TRUE)) return(text)
  text <- gsub(paste0("\n", line_start), "\n", text, fixed = TRUE)
  if (startsWith(text, line_start)) text <- substring(text, nchar(line_start) + 1L)
  gsub(line_start, "\n", text, fixed = TRUE)
}
