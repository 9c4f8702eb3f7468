# The loop that drives the engine's tasks, and the calls of closures that it asks for.
#
# Interrupts are suspended while the loop itself works, so that Ctrl-C can't tear it apart; they are allowed again in
# each closure and in each wait.

the <- new.env(parent = emptyenv())
the$specs <- new.env(parent = emptyenv())
# Members of peter$ by the id of their record.
the$members <- new.env(parent = emptyenv())
the$sessions <- new.env(parent = emptyenv())
the$sweep_at <- 64L
the$frames <- list()
the$last <- NULL
the$listing <- NULL
# By number: loads of extensions that are staged, lazy or in a scratch registry, and lazy ones that were activated.
the$loads <- list()
the$activated <- list()
# By source: the state of a plugin or built-in. By package: what runs when its namespace is unloaded.
the$states <- list()
the$unload_hooks <- list()
# Kinds that nothing reads, which was said.
the$unconsumed <- new.env(parent = emptyenv())
# By id: the files that hold the output of commands, and the commands in the background.
the$streams <- list()
the$jobs <- list()
# By name: the factories of built-ins, and the functions behind services.
the$builtins <- list()
the$services <- list()

# Drives a task to its end and returns its value as the engine gave it: an R value, or an error as data (`engine()`
# raises it). With `turns`, stops after that many model turns; the task can be driven on.
drive <- function(task, turns = Inf) {
  force(task)
  finished <- FALSE
  on.exit(if (!finished) .Call(wrap__task_abandon, task))
  interrupted <- FALSE
  outcome <- suspendInterrupts(repeat {
    step <- engine(.Call(wrap__task_next, task))
    forget(step$released)
    switch(step$type,
      call = , ask = interrupted <- serve(task, step) || interrupted,
      show = {
        if (identical(step$event$type, "turn_end")) {
          turns <- turns - 1
          if (turns <= 0) break
        } else {
          ui_show(step$event)
        }
      },
      wait = if (wait_for(task)) {
        interrupted <- TRUE
        .Call(wrap__task_cancel, task, "user")
      },
      done = break
    )
  })
  finished <- TRUE
  list(done = identical(step$type, "done"), value = step$value, interrupted = interrupted)
}

# Does what a step asks R for; TRUE when the person's interrupt came in the closure that it called.
serve <- function(task, step) {
  reply <- if (step$type == "call") call_handler(step) else answer_question(step$question)
  .Call(wrap__task_reply, task, step$id, reply)
  step$type == "call" && identical(reply$type, "interrupt")
}

# Waits until the task can go on; TRUE when the person pressed Ctrl-C meanwhile.
wait_for <- function(task) {
  tryCatch(allowInterrupts(engine(.Call(wrap__task_wait, task))), interrupt = function(e) TRUE)
}

# Drives a task that is no run: its value, or its error raised.
perform <- function(task) {
  result <- drive(task)
  if (result$interrupted) resignal_interrupt()
  engine(result$value)
}

# Ctrl-C goes on to whoever waits for it, else to the top level.
resignal_interrupt <- function() {
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  invokeRestart("abort")
}

# Drops the specs of records that the engine has no more use for. Those of a session go with it.
forget <- function(ids) {
  if (length(ids) == 0L) return(invisible(NULL))
  for (id in unlist(ids)) {
    for (home in list(the$specs, the$members)) if (exists(id, envir = home, inherits = FALSE)) rm(list = id, envir = home)
  }
}

# ---- closures ------------------------------------------------------------------------------------------------------

# Calls the closure that a step names and returns how it was left:
# list(type = "value", value =) or list(type = "condition", class =, message =), "interrupt", "abort", "timeout".
call_handler <- function(step) {
  fn <- handler_function(step$record, step$field, step$home)
  if (is.null(fn)) {
    return(list(type = "condition", class = "gptr_error_gone", message = "the handler is gone with its session"))
  }
  push_frame(step)
  on.exit(pop_frame())
  left <- "abort"
  result <- withRestarts(
    tryCatch(
      {
        value <- allowInterrupts(within_bound(step$timeout, apply_handler(fn, step)))
        left <- "value"
        value
      },
      error = function(e) {
        left <<- "condition"
        e
      },
      interrupt = function(e) {
        left <<- "interrupt"
        NULL
      }
    ),
    abort = function(...) NULL
  )
  reply_of(left, result, step)
}

reply_of <- function(left, result, step) {
  if (left == "value") return(value_reply(result, step))
  if (left != "condition") return(list(type = left))
  if (!is.null(step$timeout) && is_time_limit(one_message(result))) return(list(type = "timeout"))
  list(type = "condition", class = class(result), message = one_message(result), fields = invalid_spec_fields(result))
}

# conditionMessage() may itself fail, or give none or several strings.
one_message <- function(cond) {
  text <- tryCatch(paste(conditionMessage(cond), collapse = "\n"), error = function(e) "")
  text <- enc2utf8(as.character(text))
  if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "byte")
}

within_bound <- function(seconds, expr) {
  if (is.null(seconds)) return(expr)
  setTimeLimit(elapsed = seconds, transient = TRUE)
  on.exit({
    setTimeLimit()
    rearm_outer()
  })
  expr
}

apply_handler <- function(fn, step) {
  args <- step$args
  switch(step$style,
    with_ctx = do.call(fn, c(unname(args), list(new_ctx())), quote = TRUE),
    ctx_first = do.call(fn, c(list(new_ctx()), unname(args)), quote = TRUE),
    plain = do.call(fn, unname(args), quote = TRUE),
    host = do.call(fn, host_args(step), quote = TRUE),
    host_input = fn(host_input(step), new_ctx())
  )
}

# What the engine sees of a value. The value of a tool stays here, under the id of its call.
value_reply <- function(value, step) {
  # The host's own, which hands the spec on with its functions.
  if (identical(step$role, "validator") && !identical(step$record, "host")) return(list(type = "value", value = value))
  if (identical(step$role, "tool")) {
    if (identical(step$style, "host")) return(keep_member_value(value, step))
    return(tool_reply(value, step))
  }
  list(type = "value", value = for_engine(value))
}

# A tool's result in its one form; `malformed` says why there is none. Its value is for R code that made the call, and of
# any other only class and size are told.
tool_reply <- function(value, step) {
  result <- tryCatch(as_tool_result(value), error = function(e) list(malformed = one_message(e)))
  if (!is.null(result[["value"]])) {
    if (identical(step$style, "host_input")) {
      data <- session_data(current_session())
      data$member_values[[step$host_args]] <- list(value = result$value)
    }
    result$details[["value_ref"]] <- list(
      class = class(result$value)[[1L]], bytes = estimate_bytes(result$value)$bytes)
    result["value"] <- list(NULL)
  }
  list(type = "value", value = for_engine(result))
}

# The function in field `field` of a record's spec; NULL when the record's session is gone.
handler_function <- function(record, field, home = NULL) {
  if (identical(record, "host")) return(host_services[[field]])
  specs <- spec_home(home)
  fn <- if (is.null(specs)) NULL else specs[[record]][[field]]
  if (is.function(fn)) fn else NULL
}

# What the engine asks of R itself.
host_services <- list(
  # The first of these environment variables that is set.
  environment = function(...) {
    for (name in c(...)) {
      value <- Sys.getenv(name)
      if (nzchar(value)) return(list(name = name, value = enc2utf8(value)))
    }
    NULL
  },
  site = function() site_facts(),
  activate = function(load) activate_load(load)$loaded,
  # Those of a check, see check.R.
  child_processes = function(pause, also) {
    found <- child_processes(pause, also)
    if (is.null(found)) NULL else list(processes = as.list(found))
  },
  backend_start = function(record) start_probe(record),
  backend_cancel = function(record) cancel_probe(record),
  validate_spec = function(record, home, load, spec) validate_in_check(record, home, load, spec),
  check_example = function(record, i) print_example(record, i),
  check_adapter = function(service, record, load) check_adapter_with(service, record, load)
)

# The environment that holds specs: the process's, that of one session, or (load_home()) that of a load.
spec_home <- function(session = NULL) {
  if (is.null(session)) return(the$specs)
  if (grepl("^(staged|load):", session)) {
    entry <- the$loads[[sub("^[a-z]+:", "", session)]]
    return(if (startsWith(session, "staged:")) entry$staged else entry$specs)
  }
  live <- live_session(session)
  if (is.null(live)) NULL else session_data(live)$specs
}

# ---- frames --------------------------------------------------------------------------------------------------------

# A frame says who is calling while a closure of the user's runs: session, run, tool call, role, owner.
push_frame <- function(step) {
  frame <- list(
    session = step$session, run = step$run, call = step$call, role = step$role, owner = step$owner,
    model_code = isTRUE(step$model_code), probe = step$probe, load = step$load, input = frame_input(step),
    tool = frame_tool(step)
  )
  the$frames <- c(the$frames, list(frame))
}

# The input of the tool call that a handler belongs to: a body and a risk function get it first, policies and hooks as a
# part of what they get.
frame_input <- function(step) {
  given <- if (length(step$args)) step$args[[1L]]
  if (step$role %in% c("tool", "risk")) given else if (is.list(given)) given[["input"]]
}

# The key of the tool whose body runs.
frame_tool <- function(step) {
  if (!identical(step$role, "tool") || is.null(step$record)) return(NULL)
  spec <- spec_home(step$home)[[step$record]]
  if (is.null(spec)) NULL else paste(c(spec$namespace, spec$name), collapse = "/")
}

pop_frame <- function() {
  the$frames <- the$frames[-length(the$frames)]
}

# The innermost frame, or NULL: the person at the console.
current_frame <- function() {
  n <- length(the$frames)
  if (n == 0L) NULL else the$frames[[n]]
}

# The session that runs the current code, or NULL.
current_session <- function() {
  frame <- current_frame()
  live_session(frame$session)
}

# Refuses `action` in code that the model wrote, unless a person just approved that call of it.
control_guard <- function(action) {
  frame <- current_frame()
  if (!isTRUE(frame$model_code) || is_granted(frame, action)) return(invisible(NULL))
  gptr_abort("permission", paste0(action, "() changes what the agent may do: run it yourself at the console."),
    action = action, tool = "r", risk = 4L,
    how_to_allow = paste0("Run ", action, "() yourself at the console."), session = NULL
  )
}

# Uses up the grant that a person gave this call, if any.
is_granted <- function(frame, action) {
  session <- live_session(frame$session)
  !is.null(session) && engine(.Call(wrap__session_take_grant, session_data(session)$ptr, action))
}
