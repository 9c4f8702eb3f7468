# What an evaluation changed: objects of its home, and the state of the process.

max_object_lines <- 12L
max_names_listed <- 12L
small_length <- 1000L

session_snapshot <- function(envir) {
  list(
    objects = object_marks(envir), wd = working_directory(), options = options(),
    envvars = Sys.getenv(), attached = search(), loaded = loadedNamespaces())
}

working_directory <- function() tryCatch(getwd(), error = function(e) NULL)

# Not objects of anybody's: the interpreter writes them.
not_objects <- c(".Random.seed", ".Last.value", ".Traceback")

# What is compared later, by name. Objects themselves are not kept, not even in a list for a
# moment: R would then copy each of them at its next change in place. Small vectors are, where
# that is nothing and makes the comparison exact.
object_marks <- function(envir) {
  names <- setdiff(ls(envir, all.names = TRUE, sorted = TRUE), not_objects)
  n <- length(names)
  kinds <- binding_kinds(envir, names)
  type <- address <- rep(NA_character_, n)
  size <- rep(NA_real_, n)
  attributes <- values <- vector("list", n)
  # rlang is not imported for its cost at load; without it the other marks decide.
  address_of <- if (has_rlang()) rlang::obj_address else function(x) NA_character_
  for (i in which(kinds == "value")) {
    x <- get(names[i], envir, inherits = FALSE)
    type[i] <- typeof(x)
    address[i] <- address_of(x)
    if (is.environment(x)) next
    size[i] <- plain_length(x)
    own <- attributes(x)
    # Row names that only count are written out by attributes(): comparing 20 million of them takes 0.1 s and 160 MB.
    rows <- if (is.data.frame(x)) .row_names_info(x, 1L) else 0L
    if (rows < 0L) own$row.names <- rows
    if (!is.null(own)) attributes[[i]] <- own
    else if (is.atomic(x) && size[i] <= small_length) values[[i]] <- list(x)
  }
  list(names = names, kinds = kinds, type = type, address = address, size = size,
    attributes = attributes, values = values)
}

has_rlang <- function() requireNamespace("rlang", quietly = TRUE)

same_object <- function(before, i, after, j) {
  # Reading a promise turns it into a value and changes nothing.
  if (before$kinds[i] != after$kinds[j]) {
    return(before$kinds[i] == "promise" && after$kinds[j] == "value")
  }
  if (!is.null(before$values[[i]]) && !is.null(after$values[[j]])) {
    return(identical(before$values[[i]], after$values[[j]]))
  }
  identical(before$type[i], after$type[j]) && identical(before$address[i], after$address[j]) &&
    identical(before$size[i], after$size[j]) &&
    identical(before$attributes[[i]], after$attributes[[j]])
}

object_changes <- function(before, after) {
  both <- intersect(before$names, after$names)
  was <- match(both, before$names)
  is <- match(both, after$names)
  same <- vapply(seq_along(both), function(k) same_object(before, was[k], after, is[k]), NA)
  list(
    added = setdiff(after$names, before$names), modified = both[!same],
    removed = setdiff(before$names, after$names))
}

no_objects <- function() {
  list(added = character(), modified = character(), removed = character())
}

object_lines <- function(changes, after, envir) {
  signs <- rep(c("+", "~", "-"), lengths(changes[c("added", "modified", "removed")]))
  names <- c(changes$added, changes$modified, changes$removed)
  shown <- seq_len(min(length(names), max_object_lines))
  lines <- vapply(shown, function(i) {
    kind <- after$kinds[match(names[i], after$names)]
    switch(signs[i],
      "+" = paste("+", names[i], binding_label(names[i], kind, envir, object_label)),
      "~" = paste("~", names[i], binding_label(names[i], kind, envir, class_label), "modified"),
      "-" = paste("-", names[i], "removed"))
  }, "")
  more <- length(names) - length(shown)
  c(lines, if (more > 0L) paste0("(+ ", more, " more object changes)"))
}

binding_label <- function(name, kind, envir, label) {
  if (kind == "value") label(get(name, envir, inherits = FALSE)) else paste0("<", kind, ">")
}

state_changes <- function(before, after, devices) {
  list(
    wd = if (!identical(before$wd, after$wd)) c(before$wd, after$wd),
    options = changed_names(before$options, after$options),
    envvars = changed_names(as.list(before$envvars), as.list(after$envvars)),
    attached = setdiff(after$attached, before$attached),
    loaded = setdiff(after$loaded, before$loaded),
    devices = as.character(names(devices)))
}

changed_names <- function(before, after) {
  both <- intersect(names(before), names(after))
  differ <- vapply(both, function(name) !identical(before[[name]], after[[name]]), NA)
  sort(c(both[differ], setdiff(names(after), names(before)), setdiff(names(before), names(after))),
    method = "radix")
}

state_lines <- function(changes) {
  named <- function(label, names) {
    if (length(names) == 0L) return(NULL)
    if (length(names) > max_names_listed) {
      more <- length(names) - max_names_listed
      names <- c(names[seq_len(max_names_listed)], paste0("(+ ", more, " more)"))
    }
    paste0("[", label, ": ", paste(names, collapse = ", "), "]")
  }
  c(
    if (!is.null(changes$wd)) {
      paste0("[working directory changed: ", paste(changes$wd, collapse = " -> "), "]")
    },
    named("options changed", changes$options),
    named("environment variables changed", changes$envvars),
    named("attached", sub("^package:", "", changes$attached)))
}

# The result of a run that has ended, however it did.
run_result <- function(run) {
  after <- session_snapshot(run$envir)
  objects <- object_changes(run$before$objects, after$objects)
  changes <- state_changes(run$before, after, run$devices)
  elapsed <- now_seconds() - run$started
  ok <- run$status == "ok"
  shown <- shown_plots(run)
  output <- sub("\n$", "", paste0(run$output))
  text <- c(
    if (length(output) > 0L && nzchar(output)) output,
    if (!is.null(run$failure$message)) failure_text(run$failure),
    shown$lines, object_lines(objects, after$objects, run$envir), state_lines(changes),
    if (!ok) status_line(run, elapsed))
  if (length(text) == 0L) text <- "[no output]"
  list(
    text = paste(text, collapse = "\n"), images = shown$blocks, is_error = !ok,
    details = result_details(
      code = run$code, status = run$status, n_done = run$n_done, n_total = length(run$exprs), objects = objects,
      plots = length(run$plots), warnings = run$warnings,
      error = run$failure[setdiff(names(run$failure), "status")], changes = changes, elapsed = elapsed,
      outputs = run$outputs, value = run$returned, plot_files = vapply(run$plots, `[[`, "", "file"),
      plot_index = vapply(run$plots, `[[`, 0, "n")),
    status = run$status)
}

# What programs read of an evaluation. The engine adds what it alone knows: `nested`, `truncated`, `out_id`, `spill`.
result_details <- function(code, status, n_done = 0L, n_total = 0L, objects = no_objects(), plots = 0L,
                           warnings = character(), error = NULL, changes = list(), elapsed = 0, outputs = list(),
                           value = NULL, plot_files = character(), plot_index = integer()) {
  # A single name is a list of names, too.
  list(
    code = code, status = status, n_done = n_done, n_total = n_total, objects = lapply(objects, as.list),
    plots = plots, warnings = as.list(warnings), error = error, changes = changes, elapsed = elapsed,
    outputs = lapply(outputs, as.list), value = value, plot_files = as.list(plot_files),
    plot_index = as.list(as.integer(plot_index)))
}

status_line <- function(run, elapsed) {
  sprintf("[status: %s; %d of %d top-level expressions completed; %.2fs]",
    run$status, run$n_done, length(run$exprs), elapsed)
}
