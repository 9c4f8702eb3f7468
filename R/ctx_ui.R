# The person as handlers can talk to them: ctx$ui().

# The functions of the `ui` record in use, else those of the console. Without a person nothing is asked.
ctx_ui <- function() {
  present <- person_present()
  record <- if (present) ui_in_use()
  asked <- function(question, nobody) if (present) question else nobody
  list(
    name = if (!present) "none" else record$name %||% "console",
    has_ui = function() present,
    select = function(question, options) {
      check_string(question, "question")
      check_characters(options, "options")
      asked((record$select %||% choose_at_console)(question, options), NA_character_)
    },
    input = function(prompt) {
      check_string(prompt, "prompt", empty = TRUE)
      asked((record$input %||% type_at_console)(prompt), NA_character_)
    },
    questions = function(questions) {
      check_list(questions, "questions")
      asked(put_questions(lapply(questions, read_question, where = "A question")), NULL)
    },
    notify = function(text) {
      check_string(text, "text", empty = TRUE)
      ui_show(list(type = "notice", text = text))
    },
    permission = function(request) asked((record$permission %||% ask_permission)(request), list(decision = "deny"))
  )
}

type_at_console <- function(prompt) {
  ui_end()
  ask_line(paste0(printable(prompt), " "))
}

# One of the options by its number or its text; NA after five other answers.
choose_at_console <- function(question, options) {
  ui_end()
  cat(printable(question), "\n", sep = "")
  cat(paste0("  ", seq_along(options), ": ", printable_each(options), "\n"), sep = "")
  for (i in 1:5) {
    said <- trimws(ask_line("  which? "))
    at <- if (said %in% options) match(said, options) else suppressWarnings(as.integer(said))
    if (!is.na(at) && at >= 1L && at <= length(options)) return(options[[at]])
  }
  NA_character_
}
