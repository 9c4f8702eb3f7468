# What a person sees, and what they are asked.

# 0: nothing (knitr, tests), 1: warnings (Rscript), 2: the answer as it comes (console), 3: everything.
verbosity <- function() {
  set <- getOption("gptr.verbose")
  if (is.numeric(set) && length(set) == 1L && !is.na(set)) return(as.integer(set))
  if (isTRUE(getOption("knitr.in.progress")) || identical(Sys.getenv("TESTTHAT"), "true")) return(0L)
  if (interactive()) 2L else 1L
}

person_present <- function() {
  set <- getOption("gptr.interactive")
  if (is.logical(set) && length(set) == 1L && !is.na(set)) set else interactive()
}

# The `ui` record that asks in place of the console: the first by precedence that has somebody to ask.
ui_in_use <- function() {
  for (load in engine(.Call(wrap__registry_pending, "ui", frame_session_id()))) activate_load(load)
  for (place in engine(.Call(wrap__registry_preferred, "ui", frame_session_id()))) {
    spec <- spec_home(place$home)[[place$id]]
    if (isTRUE(tryCatch(spec$has_ui(), error = function(e) FALSE))) return(spec)
  }
  NULL
}

# Shows one event of a run: text as it comes, a line for each tool, notices.
ui_show <- function(event) {
  level <- verbosity()
  if (level < 2L) return(invisible(NULL))
  switch(event$type,
    text = ui_text(event$text),
    tool = ui_line(paste0("> ", printable(event$gloss))),
    tool_update = ui_line(paste0("  ", printable(event$text))),
    notice = ,
    retry = ui_notice(event$text)
  )
  invisible(NULL)
}

ui_notice <- function(text) {
  ui <- ui_in_use()
  if (is.null(ui)) return(ui_line(printable(text)))
  tryCatch(ui$notify(text), error = function(e) ui_line(printable(text)))
}

ui_text <- function(text) {
  cat(printable(text))
  the$open_line <- !endsWith(text, "\n")
  utils::flush.console()
}

ui_line <- function(text) {
  ui_end()
  cat(text, "\n", sep = "")
  utils::flush.console()
}

# Ends a line that streaming left open.
ui_end <- function() {
  if (isTRUE(the$open_line)) cat("\n")
  the$open_line <- FALSE
}

# Text from a model or a tool may hold control and direction characters that would steer the terminal: they are shown
# as <U+XXXX>, carriage returns are dropped.
printable <- function(text) {
  codes <- utf8ToInt(enc2utf8(text))
  if (length(codes) == 0L || anyNA(codes)) return("")
  codes <- codes[codes != 0x0d]
  odd <- (codes < 0x20 & codes != 0x09 & codes != 0x0a) | (codes >= 0x7f & codes <= 0x9f) |
    codes %in% c(0x200e, 0x200f, 0x202a:0x202e, 0x2066:0x2069)
  if (!any(odd)) return(intToUtf8(codes))
  shown <- intToUtf8(codes, multiple = TRUE)
  shown[odd] <- sprintf("<U+%04X>", codes[odd])
  paste(shown, collapse = "")
}

# Asks the person whether a call may run. Returns a reply for the engine.
answer_question <- function(question) {
  ui_end()
  left <- "abort"
  answer <- withRestarts(tryCatch({
    value <- allowInterrupts(ask_for_permission(question))
    left <- "value"
    value
  }, interrupt = function(e) {
    left <<- "interrupt"
    NULL
  }, error = function(e) {
    left <<- "condition"
    e
  }), abort = function(...) NULL)
  if (left == "value") return(list(type = "value", value = answer))
  if (left == "condition") return(list(type = "condition", class = class(answer), message = one_message(answer)))
  list(type = left)
}

ask_for_permission <- function(question) {
  ui <- ui_in_use()
  if (is.null(ui)) ask_permission(question) else ui$permission(question)
}

ask_permission <- function(question) {
  lines <- strsplit(question$summary, "\n", fixed = TRUE)[[1L]]
  cat("  ", question$tool, "  ", printable(lines[[1L]]), sep = "")
  if (length(lines) > 1L) cat("  (+", length(lines) - 1L, " more lines)", sep = "")
  cat("\n     ", printable(question$reason), "\n", sep = "")
  for (i in 1:5) {
    said <- trimws(ask_line("  allow? [y]es / [n]o / [?]: "))
    if (said %in% c("y", "yes")) return(list(decision = "allow"))
    if (said == "?") cat(printable(question$summary), "\n", sep = "")
    if (said %in% c("n", "no")) return(list(decision = "deny"))
    if (startsWith(said, "n ")) return(list(decision = "deny", feedback = trimws(substring(said, 3L))))
  }
  list(decision = "deny")
}

# The user's options, read once a call and handed to the engine as values.
collect_settings <- function(opts = list()) {
  list(
    person = person_present(),
    max_turns = opts$max_turns %||% getOption("gptr.max_turns", if (interactive()) 200L else 50L),
    max_attempts = getOption("gptr.max_attempts", 4L),
    max_retry_delay = getOption("gptr.max_retry_delay", 60),
    connect_timeout = getOption("gptr.connect_timeout", 20),
    first_byte_timeout = getOption("gptr.first_byte_timeout", 120),
    idle_timeout = getOption("gptr.idle_timeout", 90),
    hook_timeout = getOption("gptr.hook_timeout", 10),
    max_active = max_active_option(), budget = opts$budget,
    output_tokens = getOption("gptr.r_output_tokens", 4000L),
    out_keep = getOption("gptr.out_keep", 20L),
    compact_at = getOption("gptr.compact_at", 200000),
    spill_folder = enc2utf8(tempdir()),
    deny_when_alone = identical(getOption("gptr.noninteractive_ask", "stop"), "deny"),
    critical_guard = !identical(getOption("gptr.critical_guard"), FALSE),
    unsafe_no_permissions = isTRUE(getOption("gptr.unsafe_no_permissions"))
  )
}

# Requests in flight to one address: NULL in a list stands for no bound.
max_active_option <- function() {
  set <- getOption("gptr.max_active", 8L)
  if (identical(set, Inf)) NULL else if (is_finite_number(set) && set >= 1) set else 8L
}
