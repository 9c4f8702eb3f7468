# The person as handlers can talk to them: ctx$ui().

console_ui <- function() {
  present <- person_present()
  list(
    name = if (present) "console" else "none",
    has_ui = function() present,
    select = function(question, options) {
      check_string(question, "question")
      check_characters(options, "options")
      if (present) ask_choice(question, options) else NA_character_
    },
    input = function(prompt) {
      check_string(prompt, "prompt", empty = TRUE)
      if (!present) return(NA_character_)
      ui_end()
      readline(paste0(printable(prompt), " "))
    },
    notify = function(text) {
      check_string(text, "text", empty = TRUE)
      ui_show(list(type = "notice", text = text))
    },
    permission = function(request) if (present) ask_permission(request) else list(decision = "deny")
  )
}

# One of the options by its number or its text; NA after five other answers.
ask_choice <- function(question, options) {
  ui_end()
  cat(printable(question), "\n", sep = "")
  cat(paste0("  ", seq_along(options), ": ", printable_each(options), "\n"), sep = "")
  for (i in 1:5) {
    said <- trimws(readline("  which? "))
    at <- if (said %in% options) match(said, options) else suppressWarnings(as.integer(said))
    if (!is.na(at) && at >= 1L && at <= length(options)) return(options[[at]])
  }
  NA_character_
}
