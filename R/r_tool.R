# The built-in tool `r`: code of the model, evaluated in the user's session.

# The fields of its spec, for gptr_spec("tool", "r", ...). `ctx` of a call carries `envir`, the
# home of the session, and `eval_state`, see eval_code().
r_tool_spec <- function() {
  list(
    name = "r",
    description = r_tool_description,
    parameters = list(
      type = "object", required = I("code"),
      properties = list(
        code = list(type = "string", description = "R code: one or more top-level expressions."),
        timeout = list(type = "number", exclusiveMinimum = 0,
          description = "Seconds until the evaluation is stopped; it counts only when nobody is present."))),
    exposure = "direct",
    execution = "sequential",
    snippet = "evaluate R code in the user's live session",
    guidelines = c(
      "Work on the objects of the session where they are; look at a sample or a summary first.",
      "Objects you make stay in the user's session: choose clear names, remove what was temporary."),
    annotations = list(read_only = FALSE, destructive = TRUE, idempotent = FALSE, open_world = TRUE),
    execute = function(input, ctx) {
      result <- eval_code(input$code, ctx$envir, ctx$eval_state, r_timeout(input, ctx$eval_state), ctx$output_room())
      result[c("text", "images", "is_error", "details")]
    })
}

r_tool_description <- paste(
  "Evaluate R code in the user's running R session. Objects, packages, options and the working",
  "directory persist from call to call, and the user sees them too. Top-level expressions run one",
  "after another until the first error; what ran before it stays. Visible values are printed as at",
  "the console; output, messages and warnings come back in order, then the error with its",
  "traceback, then changes: `+ x` new, `~ x` modified, `- x` removed. Long output is cut in the",
  "middle; the full text stays available. The first plots come back as images, peter$plot(k) shows",
  "the others, so draw them as at the console and open no device. The functions of `peter$` can be called in the code.",
  "Random numbers come from a stream of your own; set.seed() does not touch the user's.",
  "Code that would end, pause or hang the session (q(), browser(), readline(), menu() and the",
  "like) is refused before it runs. Hand an object back as the result of the task with",
  "gptr_return(x).")

# The built-in tool: what it evaluates in plan mode stays in a scratch environment that is dropped.
r_tool <- function() {
  spec <- r_tool_spec()
  evaluate <- spec$execute
  spec$execute <- function(input, ctx) {
    if (!identical(ctx$mode(), "plan")) return(evaluate(input, ctx))
    scratch <- list(
      envir = new.env(parent = ctx$envir), eval_state = ctx$eval_state, output_room = ctx$output_room)
    evaluate(input, scratch)
  }
  spec$risk <- function(input, ctx) code_risk_facts(input$code, ctx$envir)
  do.call(gptr_tool, spec)
}

# Seconds that code may take: a person who is present stops it themselves. `state$timeout` comes from the call of peter().
r_timeout <- function(input, state) {
  if (person_present()) return(Inf)
  seconds <- input[["timeout"]] %||% state$timeout %||% getOption("gptr.r_timeout", 3600)
  if (is_finite_number(seconds) && seconds > 0) seconds else 3600
}

# What the engine needs to know of code before it runs: the facts of its text, and which of the names in it are bound
# in the home, with their sizes. Nothing is evaluated.
code_risk_facts <- function(code, envir) {
  facts <- code_facts(code)
  names <- unique(as.character(c(lapply(facts$assigns, function(a) a$name), unlist(facts$symbols))))
  bound <- names[vapply(names, exists, NA, envir = envir, inherits = FALSE)]
  kinds <- binding_kinds(envir, bound)
  sizes <- lapply(seq_along(bound), function(i) if (kinds[[i]] == "value") bound_bytes(bound[[i]], envir) else 0)
  facts$existing <- stats::setNames(sizes, bound)
  facts$guard <- guard_code(code, envir)
  if (is.null(facts$guard)) facts$calls <- lapply(facts$calls, own_function, envir = envir)
  facts
}

# A function of the user's that has the name of one that would end the session is nobody knows what, but not that one.
own_function <- function(call, envir) {
  if (is.null(call$fn) || !is.null(call$pkg) || !call$fn %in% guarded_names) return(call)
  if (exists(call$fn, envir = envir, mode = "function") && !resolves_to_guarded(call$fn, envir, called = TRUE)) {
    call["fn"] <- list(NULL)
    call$computed <- TRUE
  }
  call
}

bound_bytes <- function(name, envir) estimate_bytes(get(name, envir = envir, inherits = FALSE))$bytes
