#' Run an agent in this session
#'
#' `peter()` sends a prompt, with any R objects as context, to a language model. The model inspects the objects, runs
#' R code in `envir` and calls tools until it is done; the session comes back and can be continued with the pipe.
#'
#' The first unnamed string literal is the prompt (without one, the first unnamed string); everything else in `...` is
#' context, shown to the model as a short description and reachable for its code by name. A session as the first
#' argument is continued; into a running session (from a handler of yours) the prompt is queued.
#'
#' `peter$name` and `peter$namespace$name` are the registered tools as R functions, see [gptr_register()].
#' `peter$help("name")` shows the arguments of a member, `peter$search("words")` finds members and deferred tools,
#' `peter$describe(x)` is [gptr_describe()], `peter$out("id")` the full text of a result that was cut.
#' `peter$plot(k)` is for the agent's code: it attaches plot `k` of the session to the result of the code that runs.
#'
#' @section Modes:
#' R code that the model wrote is analysed, without being run, and gets a level: 0 read-only, 1 local (it binds names),
#' 2 mutating, 3 dangerous, 4 critical.
#' * `plan`: only what is known to be read-only runs, in a scratch environment that is dropped.
#' * `manual`: level 0 runs, everything else is asked.
#' * `edits`: as `manual`; `write` and `edit` run without a question inside the project (see [peter_files]).
#' * `auto`: level 4 and what changes gptr's own guards are asked, everything else runs.
#'
#' Where a question is needed and nobody is present (see the option `gptr.interactive`), the run ends with
#' `gptr_error_permission`; with `options(gptr.noninteractive_ask = "deny")` the model gets an error result and goes on.
#'
#' @param ... The prompt and context objects; a session to continue comes first.
#' @param model A model reference `"provider/id"`, a provider spec, or the name of a provider. Default: the option
#'   `gptr.model`, else the first registered provider with a model.
#' @param mode `plan`, `manual`, `edits` or `auto`, bare or quoted: what runs without asking. Default: option
#'   `gptr.mode`, else `"manual"`; a continued session keeps its mode.
#' @param skills,plugins,agents,.stdin Not available yet; must be left at their defaults.
#' @param parallel Whole number, 1 or more: the one list among the context objects is fanned out, a child session an
#'   element, as `lapply()` would see it, so many at a time. The value is a session of kind `"fanout"`, see
#'   [gptr_parallel()].
#' @param budget Named list of what the call, with all sessions it starts, may use: `tokens` (default 2,000,000), `cost`
#'   (USD, default 5), `turns` (model requests); `NULL` lifts a bound. Over it the run ends with `gptr_error_budget`.
#' @param extensions Factories, paths of extension files, or a list of them: for this session only.
#' @param tools Tool specs (see [gptr_tool()]) or a list of them: for this session only.
#' @param prompt The prompt as a string; positional strings are context then.
#' @param envir Environment that the agent's code is evaluated in. Default: the session's own, else the caller's.
#' @param .opts Named list of options: `max_turns` (model requests of a run), `preset`, `system`, `interpolate`,
#'   `context` (`"summary"` or `"none"`), `thinking`, `timeout` (seconds for the code of one call of the tool `r` when
#'   nobody is present).
#' @param .run `FALSE` builds the session with its prompt queued; [gptr_step()] runs it.
#' @return The session, of class `gptr_session`, a handle with reference semantics; invisibly when the answer was shown
#'   while it came (at the console) or with `.run = FALSE`. It is read with `$`:
#'   * `text`: the last answer (string, `NA` before there is one); `value`: what [gptr_return()] handed over, or `NULL`;
#'   * `status`: `"idle"`, `"running"`, `"waiting"`, or how the last run ended: `"blocked"`, `"budget"`, `"max_turns"`,
#'     `"error"`, `"aborted"`; `reason`: why it did not end well (string or `NA`);
#'   * `messages`: the list of all messages; `history`: a data frame with a row a message (`turn`, `role`, `preview`,
#'     `tools`, `tokens`); `turns`: the number of prompts (integer);
#'   * `usage`: a data frame with a row a request; `cost`: USD, `NA` when unknown;
#'   * `model`, `mode`, `id`, `kind` (strings), `envir`, `children` (sessions that its code started), `ext` (a named
#'     list of the environments that extensions keep for the session, their `ctx$state()`); `file` (`NA`).
#' @section Conditions: `gptr_error_invalid_argument` (field `arg`) for arguments, `gptr_error_unknown_model`,
#'   `gptr_error_no_key`, `gptr_error_extension`; after a run that failed the condition of the failure, with the
#'   session in its field `session`: `gptr_error_provider` and its children, `gptr_error_permission`,
#'   `gptr_error_max_turns`, `gptr_error_budget`.
#' @seealso [gptr_fake_provider()] and [gptr_provider()] for models, [gptr_conditions], [gptr_events],
#'   `vignette("extending-gptr")`, and the options in [gptr-package].
#' @examples
#' # The scripted provider stands in for a model.
#' fake <- gptr_fake_provider(list(
#'   list(tool = "r", input = list(code = "fit <- lm(mpg ~ wt, mtcars)\ngptr_return(fit)")),
#'   "Each 1000 lb more cost about 5.3 miles per gallon.",
#'   "Yes, p < 0.001."
#' ))
#' session <- peter("How does fuel use depend on weight?", mtcars, model = fake, mode = auto)
#' session$text
#' class(session$value)
#' session |> peter("Is that significant?")
#' @export
peter <- function(..., model = NULL, mode = NULL, skills = NULL, plugins = NULL, extensions = NULL, tools = NULL,
                  agents = NULL, parallel = NULL, prompt = NULL, envir = parent.frame(), budget = NULL,
                  .opts = list(), .run = TRUE, .stdin = FALSE) {
  check_flag(.run, ".run")
  if (is_captured(sys.call())) .run <- FALSE
  refuse_later(list(skills = skills, plugins = plugins, agents = agents))
  exprs <- as.list(substitute(list(...)))[-1L]
  call <- read_dots(exprs, function(i) ...elt(i), names(exprs) %||% rep("", length(exprs)), prompt)
  call["mode"] <- list(bare_choice(substitute(mode), function() mode, "mode", modes()))
  call["model"] <- list(bare_model(substitute(model), function() model))
  call$extensions <- as_list_of(extensions)
  call$tools <- check_tools(as_list_of(tools))
  call$opts <- check_opts(.opts)
  call$opts$budget <- check_budget(budget)
  call["envir"] <- list(if (missing(envir)) NULL else check_environment(envir))
  call$caller <- parent.frame()
  if (is.null(call$prompt)) no_console()
  call$prompt <- interpolate(call, call$envir %||% call$caller)
  if (!is.null(parallel)) return(fan_out(call, check_count(parallel, "parallel", min = 1), .run))
  begin(call, run = .run)
}

class(peter) <- c("gptr_gateway", "function")

modes <- function() c("plan", "manual", "edits", "auto")

`%||%` <- function(x, y) if (is.null(x)) y else x

refuse_later <- function(args) {
  for (name in names(args)) {
    if (!is.null(args[[name]])) {
      gptr_abort("not_available", paste0("peter(", name, " = ) is not available in this version."),
        member = paste0("peter(", name, " = )"), provided_by = NULL)
    }
  }
}

no_console <- function() {
  gptr_abort("noninteractive", "peter() needs a prompt: the interactive console is not available in this version.",
    what = "console", questions = character())
}

# ---- what was said --------------------------------------------------------------------------------------------------

# Sorts the dots into the session to continue, the prompt, and context objects (each list(name, value)).
read_dots <- function(exprs, value_of, names, prompt) {
  out <- list(session = NULL, prompt = NULL, literal = FALSE, context = list())
  values <- lapply(seq_along(exprs), function(i) dot_value(exprs[[i]], value_of, i, names[[i]]))
  literal <- vapply(exprs, function(e) is.character(e) && length(e) == 1L && is.null(attributes(e)), NA)
  plain <- names == ""
  rest <- seq_along(values)
  if (length(values) && plain[[1L]] && inherits(values[[1L]], "gptr_session")) {
    out$session <- values[[1L]]
    rest <- rest[-1L]
  }
  if (!is.null(prompt)) {
    check_string(prompt, "prompt")
    out$prompt <- prompt
  } else {
    at <- prompt_position(values, literal & plain, plain, rest)
    if (length(at)) {
      out$prompt <- values[[at]]
      out$literal <- literal[[at]]
      rest <- setdiff(rest, at)
    }
  }
  out$context <- lapply(rest, function(i) list(name = dot_label(exprs[[i]], names[[i]], i), value = values[[i]]))
  out
}

prompt_position <- function(values, literal, plain, rest) {
  literals <- intersect(which(literal), rest)
  if (length(literals) > 1L) {
    gptr_warn("two_prompts", paste(
      "Two or more strings were given: the first is the prompt, the others are context.",
      "Name the prompt with `prompt =` to say which is which."
    ))
  }
  if (length(literals)) return(literals[[1L]])
  is_text <- function(x) {
    is.character(x) && length(x) == 1L && !is.na(x) && !inherits(x, "AsIs") &&
      (is.null(attr(x, "class")) || inherits(x, "glue"))
  }
  utils::head(rest[vapply(rest, function(i) plain[[i]] && is_text(values[[i]]), NA)], 1L)
}

dot_value <- function(expr, value_of, i, name) {
  if (identical(expr, quote(expr = ))) {
    gptr_abort("invalid_argument", paste0("Argument ", i, " of peter() is empty: drop the extra comma."), arg = "...")
  }
  if (!is.symbol(expr)) return(value_of(i))
  tryCatch(value_of(i), error = function(e) {
    label <- as.character(expr)
    text <- conditionMessage(e)
    if (!grepl("not found", text, fixed = TRUE)) stop(e)
    gptr_abort("invalid_argument", text, arg = label)
  })
}

dot_label <- function(expr, name, i) {
  if (nzchar(name)) return(name)
  label <- paste(deparse(expr, width.cutoff = 500L), collapse = " ")
  if (identical(label, "..")) return(paste0("..", i))
  if (nchar(label) > 60L) paste0(substr(label, 1L, 57L), "...") else label
}

# A literal prompt has {name} filled in when that was asked for.
interpolate <- function(call, envir) {
  wanted <- call$opts$interpolate %||% getOption("gptr.interpolate", FALSE)
  if (!isTRUE(wanted) || !call$literal) return(call$prompt)
  pattern <- "\\{\\{|\\}\\}|\\{[.A-Za-z][.A-Za-z0-9_]*\\}"
  found <- gregexpr(pattern, call$prompt, perl = TRUE)
  regmatches(call$prompt, found) <- list(vapply(regmatches(call$prompt, found)[[1L]], filled, "", envir = envir))
  call$prompt
}

filled <- function(mark, envir) {
  if (mark %in% c("{{", "}}")) return(substr(mark, 1L, 1L))
  value <- get0(substr(mark, 2L, nchar(mark) - 1L), envir = envir, inherits = TRUE)
  if (!is.atomic(value) || is.null(value) || length(value) < 1L || length(value) > 50L) return(mark)
  substr(paste(format(value, trim = TRUE), collapse = ", "), 1L, 1000L)
}

# ---- bare names -----------------------------------------------------------------------------------------------------

# The value of an argument that takes a bare name: `value()` forces it, a name that is bound to nothing stands for
# itself.
bare_choice <- function(expr, value, arg, known) {
  name <- if (is.symbol(expr)) as.character(expr) else NULL
  chosen <- if (!is.null(name) && name %in% known) name else tryCatch(value(), error = function(e) {
    if (is.null(name)) stop(e)
    name
  })
  if (is.null(chosen)) return(NULL)
  if (!is.character(chosen) || length(chosen) != 1L || is.na(chosen) || !(chosen %in% known)) {
    expected <- paste0("one of ", paste0('"', known, '"', collapse = ", "))
    is_name <- is.character(chosen) && length(chosen) == 1L && !is.na(chosen)
    shown <- if (is_name) paste0('"', chosen, '"') else describe_argument(chosen)
    gptr_abort("invalid_argument", paste0("`", arg, "` must be ", expected, ", not ", shown, "."),
      arg = arg, expected = expected)
  }
  chosen
}

bare_model <- function(expr, value) {
  chosen <- tryCatch(value(), error = function(e) {
    if (is.symbol(expr)) as.character(expr) else stop(e)
  })
  if (is.null(chosen) || inherits(chosen, "gptr_spec")) return(check_model_spec(chosen))
  if (is.character(chosen) && length(chosen) == 1L && !is.na(chosen)) return(chosen)
  if (is.function(chosen) && is.symbol(expr)) return(as.character(expr))
  if (is.character(chosen) || is.atomic(chosen)) {
    gptr_abort("invalid_argument",
      paste0("`model` must be a single string or a spec, not ", describe_argument(chosen), "."),
      arg = "model", expected = "a single string or a spec")
  }
  label <- paste(deparse(expr, nlines = 1L), collapse = "")
  gptr_abort(c("invalid_identifier", "invalid_argument"), paste0(
    "`model = ", label, "` is ", describe_argument(chosen),
    ": it must be a model reference, a provider's name or a provider spec."
  ), arg = "model", candidates = character(), .fields = list(class = class(chosen)))
}

check_model_spec <- function(spec) {
  if (is.null(spec) || inherits(spec, "gptr_provider")) return(spec)
  gptr_abort("invalid_argument", paste0("`model` must be a provider spec, not ", describe_argument(spec), "."),
    arg = "model", expected = "a provider spec")
}

as_list_of <- function(x) {
  if (is.null(x)) list() else if (is.list(x) && !inherits(x, "gptr_spec")) x else list(x)
}

check_tools <- function(tools, arg = "tools") {
  for (tool in tools) {
    if (!inherits(tool, "gptr_tool")) {
      gptr_abort("invalid_argument", paste0(
        "`", arg, "` must be a tool spec or a list of them (see gptr_tool()), not ", describe_argument(tool), "."
      ), arg = arg, expected = "a tool spec or a list of them")
    }
  }
  tools
}

check_environment <- function(envir) {
  if (!is.environment(envir)) {
    gptr_abort("invalid_argument", paste0("`envir` must be an environment, not ", describe_argument(envir), "."),
      arg = "envir", expected = "an environment")
  }
  envir
}

check_opts <- function(opts) {
  check_named_list(opts, ".opts", unique = TRUE)
  known <- c("max_turns", "preset", "system", "interpolate", "context", "thinking", "timeout")
  for (name in names(opts)) {
    if (!(name %in% known)) {
      gptr_abort("invalid_argument", paste0("`.opts$", name, "` is not an option of peter(). It takes: ",
        paste(known, collapse = ", "), "."), arg = ".opts")
    }
  }
  if (!is.null(opts$max_turns)) check_count(opts$max_turns, ".opts$max_turns", min = 1)
  if (!is.null(opts$timeout)) check_number(opts$timeout, ".opts$timeout", min = 0.001)
  if (!is.null(opts$interpolate)) check_flag(opts$interpolate, ".opts$interpolate")
  if (!is.null(opts$context)) check_choice(opts$context, c("summary", "none"), ".opts$context")
  for (name in c("preset", "thinking")) if (!is.null(opts[[name]])) check_string(opts[[name]], paste0(".opts$", name))
  opts
}

# `NULL` lifts a bound: it stays in the list.
check_budget <- function(budget) {
  if (is.null(budget)) return(NULL)
  check_named_list(budget, "budget", unique = TRUE)
  known <- c("tokens", "cost", "turns")
  for (name in names(budget)) {
    limit <- budget[[name]]
    if (!(name %in% known) || !(is.null(limit) || (is_finite_number(limit) && limit >= 0))) {
      gptr_abort("invalid_argument", paste0("`budget$", name, "` must be one of tokens, cost and turns, NULL or a ",
        "number of at least 0."), arg = "budget",
        expected = "a named list of tokens, cost and turns, each NULL or at least 0")
    }
  }
  budget
}

# ---- from call to run -----------------------------------------------------------------------------------------------

# Makes or continues the session, registers what is for this session, queues the prompt, and runs.
begin <- function(call, run) {
  frame <- current_frame()
  session <- call$session
  if (!is.null(session)) refuse_team(session, "...")
  if (!is.null(session) && is_driven(session)) return(steer_running(session, call))
  home <- call$envir %||% (if (is.null(session)) call$caller else session_data(session)$home)
  before <- session
  if (is.null(session)) session <- first_session(call, home, frame)
  data <- session_data(session)
  data$home <- home
  data$eval$timeout <- call$opts$timeout
  tryCatch(
    {
      for (tool in call$tools) add_session_record(session, tool)
      for (extension in call$extensions) load_session_extension(session, extension)
      choose(session, call)
    },
    error = function(e) {
      if (is.null(before)) engine(.Call(wrap__session_close, data$ptr))
      stop(e)
    }
  )
  if (is.null(frame)) the$last <- session
  # A run that was left after a step is under way: a word for it is a steer.
  if (is.null(left_task(session)) || length(call$context)) {
    engine(.Call(wrap__session_prompt, data$ptr, said(call, home, if (is.null(before)) "prompt" else "pipe", frame)))
  } else {
    steer_running(session, call)
  }
  if (!run) return(invisible(session))
  run_session(session)
  if (verbosity() >= 2L && is.null(frame)) invisible(session) else session
}

first_session <- function(call, home, frame) {
  parent <- current_session()
  settings <- collect_settings(call$opts)
  ready()
  args <- list(
    parent = if (is.null(parent)) NULL else session_data(parent)$id,
    mode = call[["mode"]] %||% (if (is.null(parent)) getOption("gptr.mode")),
    settings = settings, preset = call$opts$preset,
    model = if (is.character(call$model)) call$model else NULL,
    default_model = if (inherits(call$model, "gptr_spec")) "" else default_model_option(),
    system = call$opts$system, thinking = call$opts$thinking
  )
  session <- new_session(home, args)
  if (!is.null(parent)) {
    owner <- session_data(parent)
    id <- session_data(session)$id
    owner$children[[id]] <- id
    # A child lives as long as its parent knows it.
    owner$kept <- c(owner$kept, list(session))
  }
  session
}

default_model_option <- function() {
  model <- getOption("gptr.model")
  if (is.null(model)) return(NULL)
  if (!is.character(model) || length(model) != 1L || is.na(model)) {
    gptr_abort("invalid_argument", "The option gptr.model must be a single string.", arg = "gptr.model")
  }
  model
}

# Model and mode as this call gives them.
choose <- function(session, call) {
  ptr <- session_data(session)$ptr
  reference <- call$model
  if (inherits(reference, "gptr_spec")) {
    add_session_record(session, reference)
    reference <- reference$name
  }
  engine(.Call(wrap__session_choose, ptr, list(
    model = reference, mode = call[["mode"]], settings = collect_settings(call$opts),
    facts = prompt_facts(call, session)
  )))
}

said <- function(call, home, source, frame) {
  list(
    text = enc2utf8(call$prompt),
    source = if (!is.null(frame)) "parent" else source,
    attached = lapply(call$context, function(item) {
      list(name = item$name, text = enc2utf8(paste(attached_facts(item$value), collapse = "\n")))
    })
  )
}

steer_running <- function(session, call) {
  engine(.Call(wrap__session_steer, session_data(session)$ptr, enc2utf8(call$prompt), "steer"))
  session
}

session_in_frames <- function(session) {
  id <- session_data(session)$id
  any(vapply(the$frames, function(f) identical(f$session, id), NA))
}

# The run that a session was left in, or NULL. A second Ctrl-C may come while a run is put away: what settled is no run.
left_task <- function(session) {
  data <- session_data(session)
  if (!is.null(data$task) && !session_get(session, "status") %in% c("running", "waiting")) data$task <- NULL
  data$task
}

# Drives the session's run, a new one or one that was left after a step, and raises its terminal condition.
run_session <- function(session, turns = Inf) {
  data <- session_data(session)
  refuse_busy(session)
  task <- left_task(session) %||% .Call(wrap__task_run, data$ptr)
  data$task <- task
  on.exit(data$task <- NULL)
  result <- drive(task, turns)
  if (!result$done) {
    on.exit()
    return(invisible(session))
  }
  ui_end()
  if (result$interrupted) resignal_interrupt()
  outcome <- engine(result$value)
  if (!is.null(outcome$condition)) stop(terminal_condition(outcome$condition, session))
  invisible(session)
}

# The condition of a run that did not end well; the session goes with it and can be continued.
terminal_condition <- function(x, session) {
  x$fields$session <- session
  engine_condition(x)
}
