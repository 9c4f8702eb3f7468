# The tool ask_user: questions of the model to the person.

#' Questions of the model to the person
#'
#' The tool `ask_user`, also `peter$ask_user(question, options = NULL)` in code. It is declared to the model when a
#' person is present, or in mode manual.
#'
#' The short form is `question` (string), with `options` (2 to 9 strings) where there are a few answers. The result is
#' the answer: an option, or what was typed. The long form is `questions`, 1 to 4 of list(`id`, `question`, `type` =
#' "single", "multi" or "text", `options`, `default`); the result has a line for each.
#'
#' With nobody present the model gets an error result, and the run goes on. A person may dismiss the questions; in
#' code the value is then `NA`. The record of kind `ui` that is in use asks (`questions(questions)`, which returns
#' list(`answers` = named list, `cancelled`)); without one the console does.
#'
#' @section Conditions: in code, `gptr_error_tool` (fields `tool`, `status`) with nobody present or for a bad call.
#' @seealso [gptr_commands], [gptr_web_fetch], [gptr_kinds].
#' @name gptr_ask_user
#' @examples
#' fake <- gptr_fake_provider(list(
#'   list(tool = "ask_user", input = list(question = "Which unit?", options = c("mg", "g"))),
#'   "done"
#' ))
#' old <- options(gptr.interactive = FALSE)
#' session <- peter("Convert the column.", model = fake)
#' session$messages[[3]]$content[[1]]$text
#' options(old)
NULL

ask_user_tool <- function() {
  text <- function(description) list(type = "string", description = description)
  options <- list(type = "array", items = list(type = "string"), description = "2 to 9 answers to choose from.")
  question <- list(type = "object", required = c("id", "question"), properties = list(
    id = text("Its name in the answer; each has its own."), question = text("What is asked."),
    type = list(type = "string", enum = I(question_types)), options = options,
    default = text("The answer when the person just presses Enter.")))
  gptr_tool("ask_user", paste("Ask the person who is at the console, and wait for the answer. For a decision that is",
    "theirs: a goal that is not clear, a choice between ways, data that only they have. Give `question`, with",
    "`options` where there are a few answers; or `questions`, 1 to 4 of them at once."),
    parameters = list(type = "object", properties = list(
      question = text("What is asked."), options = options,
      questions = list(type = "array", items = question, description = "1 to 4 questions, in place of `question`."))),
    execute = function(input, ctx) ask_user(input), fun = member_ask_user, exposure = "direct",
    snippet = "ask the person something and wait for the answer", record = FALSE,
    annotations = list(read_only = TRUE, requires_user = TRUE)
  )
}

question_types <- c("single", "multi", "text")

member_ask_user <- function(question = NULL, options = NULL, questions = NULL) {
  input <- list(question = question, options = options, questions = questions)
  tool_result_value("ask_user", ask_user(input[!vapply(input, is.null, NA)]))
}

ask_user <- function(input) {
  questions <- tryCatch(read_questions(input), error = function(e) e)
  if (inherits(questions, "error")) {
    return(gptr_tool_result(paste0("Invalid ask_user call: ", conditionMessage(questions), "."), is_error = TRUE))
  }
  if (!person_present()) {
    text <- "Nobody is there to answer. Go on with what is known, and say which assumption you made."
    return(gptr_tool_result(text, is_error = TRUE))
  }
  answers <- put_questions(questions)
  short <- is.null(input[["questions"]])
  if (is.null(answers)) return(dismissed_result(short))
  answered_result(questions, answers, short)
}

dismissed_result <- function(short) {
  gptr_tool_result("The user dismissed the questions without answering. Don't ask the same again.",
    details = list(answers = structure(list(), names = character()), cancelled = TRUE),
    value = if (short) NA_character_, gloss = "dismissed")
}

answered_result <- function(questions, answers, short) {
  texts <- vapply(answers, paste, "", collapse = ", ")
  gloss <- paste(printable(paste(texts, collapse = "; ")))
  details <- list(answers = lapply(answers, as.list), cancelled = FALSE)
  if (short) return(gptr_tool_result(texts[[1L]], details = details, value = texts[[1L]], gloss = gloss))
  typed <- vapply(seq_along(questions), function(i) {
    length(questions[[i]]$options) > 0L && !all(answers[[i]] %in% questions[[i]]$options)
  }, NA)
  lines <- paste0("- ", names(answers), ": ", ifelse(typed, "(typed) ", ""), texts)
  gptr_tool_result(c("The user answered:", lines), details = details, value = as.list(texts), gloss = gloss)
}

# The questions of a call in one form: id, question, type, options, default. Anything wrong is an error that says what.
read_questions <- function(input) {
  given <- c("question", "questions") %in% names(input)
  if (sum(given) != 1L) stop("give either `question` or `questions`", call. = FALSE)
  if (given[[1L]]) {
    one <- list(id = "answer", question = input[["question"]], options = input[["options"]])
    return(list(read_question(one, "`question`")))
  }
  if (!is.null(input[["options"]])) stop("`options` belong into the `questions`", call. = FALSE)
  all <- input[["questions"]]
  if (!is.list(all) || is.data.frame(all) || !length(all) || length(all) > 4L) {
    stop("`questions` must be 1 to 4 questions", call. = FALSE)
  }
  questions <- lapply(seq_along(all), function(i) read_question(all[[i]], paste0("questions[", i, "]")))
  ids <- vapply(questions, function(q) q$id, "")
  if (anyDuplicated(ids)) stop("the id '", ids[[anyDuplicated(ids)]], "' is there twice", call. = FALSE)
  questions
}

read_question <- function(q, where) {
  refuse <- function(...) stop(where, " ", ..., call. = FALSE)
  text <- function(x) is.character(x) && length(x) == 1L && !is.na(x) && nzchar(trimws(x))
  if (!is.list(q)) refuse("must be a question with an id")
  if (!text(q[["question"]])) refuse("has no text")
  if (!text(q[["id"]])) refuse("has no id")
  options <- as.character(unlist(q[["options"]]))
  type <- q[["type"]] %||% if (length(options)) "single" else "text"
  if (!text(type) || !type %in% question_types) refuse("must have the type single, multi or text")
  if (type == "text" && length(options)) refuse("of type text takes no options")
  if (type != "text" && (length(options) < 2L || length(options) > 9L)) refuse("needs 2 to 9 options")
  if (anyNA(options) || anyDuplicated(options) || any(!nzchar(trimws(options)))) {
    refuse("must have options that differ and are not empty")
  }
  default <- q[["default"]]
  if (!is.null(default) && !text(default)) refuse("must have a default that is a text")
  list(id = q[["id"]], question = q[["question"]], type = type, options = options, default = default)
}

# The answers by id, or NULL when the person gave none.
put_questions <- function(questions) {
  ui <- ui_in_use()
  if (is.null(ui)) return(ask_at_console(questions))
  reply <- ui$questions(questions)
  answers <- if (is.list(reply) && !isTRUE(reply[["cancelled"]])) as.list(reply[["answers"]])
  ids <- vapply(questions, function(q) q$id, "")
  answers <- lapply(stats::setNames(ids, ids), function(id) as.character(unlist(answers[[id, exact = TRUE]])))
  if (any(lengths(answers) == 0L) || anyNA(unlist(answers))) NULL else answers
}

ask_at_console <- function(questions) {
  ui_end()
  answers <- list()
  for (q in questions) {
    cat("  ? ", printable(q$question), "\n", sep = "")
    for (i in seq_along(q$options)) cat("    ", i, ". ", printable(q$options[[i]]), "\n", sep = "")
    answer <- read_answer(q)
    if (is.null(answer)) return(NULL)
    answers[[q$id]] <- answer
  }
  answers
}

# What was typed: numbers stand for options; anything else is an answer of the person's own.
read_answer <- function(q) {
  hint <- switch(q$type, single = "number or answer", multi = "numbers or answer", text = "answer")
  default <- if (!is.null(q$default)) paste0(", Enter for ", printable(q$default)) else ", Enter to dismiss"
  said <- trimws(ask_line(paste0("  ", hint, default, ": ")))
  if (!nzchar(said)) return(q$default)
  words <- if (q$type == "multi") strsplit(said, "[, ]+")[[1L]] else said
  picked <- match(words, as.character(seq_along(q$options)))
  if (anyNA(picked)) said else q$options[picked]
}

ask_line <- function(prompt) readline(prompt)
