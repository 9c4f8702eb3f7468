# Code that runs inside a run (tool bodies, hooks, policies, code that the model wrote) and uses the package itself.

demo_add <- function() {
  number <- list(type = "number")
  gptr_tool("add", "Add two numbers",
    parameters = list(type = "object", required = I(c("a", "b")), properties = list(a = number, b = number)),
    fun = function(a, b) a + b, exposure = "r", namespace = "demo")
}

# ---- tool bodies ----------------------------------------------------------------------------------------------------

test_that("a tool body calls a member", {
  registered(demo_add())
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) {
    paste("sum", peter$demo$add(40, 2))
  }))
  expect_identical(result_text(session), "sum 42")
  expect_balanced(session)
})

test_that("a member call of a tool body passes hooks and policies once, under the key and an id of its own", {
  registered(demo_add())
  seen <- list()
  asked <- character()
  registered(gptr_hook("tool_call", function(event, ctx) {
    seen[[length(seen) + 1L]] <<- event[c("tool_name", "tool_call_id", "nested", "parent_tool_call_id")]
    NULL
  }))
  registered(gptr_policy("watch", function(call, ctx) {
    asked <<- c(asked, paste(call$name, call$nested))
    NULL
  }))
  session <- run(fake(call_of("t", id = "c1"), "end"), tools = plain_tool("t", function(input, ctx) {
    as.character(peter$demo$add(1, 1))
  }))
  expect_identical(vapply(seen, function(e) e$tool_name, ""), c("t", "demo/add"))
  expect_identical(seen[[2]]$tool_call_id, "c1/1")
  expect_true(seen[[2]]$nested)
  expect_identical(seen[[2]]$parent_tool_call_id, "c1")
  expect_identical(asked, c("t FALSE", "demo/add TRUE"))
  expect_identical(result_text(session), "2")
})

test_that("a member call that is denied, blocked, invalid or fails is a gptr_error_tool with its status", {
  registered(demo_add())
  registered(gptr_tool("broken", "Fails", fun = function() stop("it broke"), exposure = "r", namespace = "demo"))
  registered(gptr_tool("watched", "Is denied", fun = function() 1, exposure = "r", namespace = "demo"))
  registered(gptr_tool("shut", "Is blocked", fun = function() 1, exposure = "r", namespace = "demo"))
  registered(gptr_policy("no_watched", function(call, ctx) {
    if (call$name == "demo/watched") list(decision = "deny", reason = "not that one")
  }))
  registered(gptr_hook("tool_call", function(event, ctx) list(decision = "block", reason = "shut today"),
    matcher = "demo/shut"))
  met <- list()
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) {
    met <<- list(
      caught(peter$demo$broken()), caught(peter$demo$watched()), caught(peter$demo$shut()), caught(peter$demo$add("x", 1))
    )
    "done"
  }))
  for (cond in met) expect_s3_class(cond, "gptr_error_tool")
  expect_identical(vapply(met, function(e) e$status, ""), c("error", "denied", "blocked", "invalid"))
  expect_identical(vapply(met, function(e) e$tool, ""), c("demo/broken", "demo/watched", "demo/shut", "demo/add"))
  expect_match(conditionMessage(met[[1]]), "it broke")
  expect_match(conditionMessage(met[[2]]), "not that one")
  expect_match(conditionMessage(met[[3]]), "shut today")
  expect_match(conditionMessage(met[[4]]), "'a'")
  expect_balanced(session)
})

test_that("a tool body registers and removes itself: it ends its call and is gone at the next", {
  off <- NULL
  made <- NULL
  off <- gptr_register(plain_tool("once", function(input, ctx) {
    made <<- gptr_register(gptr_prompt_section("made_inside", "Made inside."))
    paste("removed:", off())
  }))
  session <- run(fake(call_of("once"), call_of("once"), "end"))
  expect_identical(result_text(session, 1), "removed: TRUE")
  expect_identical(result_text(session, 2), "Tool once not found")
  expect_true("made_inside" %in% gptr_registry("prompt_section")$name)
  expect_true(made())
  expect_false(off())
  expect_balanced(session)
})

test_that("a tool registered by a body can be called by the model in the same run", {
  off <- NULL
  session <- run(fake(call_of("maker"), call_of("made"), "end"), tools = plain_tool("maker", function(input, ctx) {
    off <<- gptr_register(plain_tool("made", function(input, ctx) "from the new one"))
    "made it"
  }))
  off()
  expect_identical(result_text(session, 2), "from the new one")
})

test_that("a tool body runs another session: a child that is at most as free as its parent", {
  kid <- NULL
  body <- function(input, ctx) {
    kid <<- peter("help", model = fake("from the child"), mode = "auto")
    kid$text
  }
  read_only <- list(read_only = TRUE)
  session <- run(fake(call_of("t"), "end"), mode = "manual", tools = plain_tool("t", body, annotations = read_only))
  expect_identical(result_text(session), "from the child")
  expect_identical(kid$kind, "child")
  expect_identical(kid$mode, "manual")
  expect_identical(session$kind, "chat")
  expect_identical(names(session$children), kid$id)
  expect_identical(session[[1]], kid)
  expect_identical(session[[kid$id]], kid)
  expect_false(identical(the$last, kid))
  expect_balanced(session)
  expect_balanced(kid)
})

test_that("case_38: the usage of a child is among that of its parent", {
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) {
    peter("help", model = fake("from the child"))$text
  }))
  expect_identical(session$usage$agent, c("main", "nested", "main"))
  expect_identical(nrow(session[[1]]$usage), 1L)
  expect_identical(session$cost, 0)
})

test_that("a continued child can only be tightened", {
  modes <- character()
  session <- run(fake(call_of("t"), "end"), mode = "edits", tools = plain_tool("t", function(input, ctx) {
    kid <- peter("one", model = fake("a"), mode = "plan")
    modes <<- kid$mode
    kid <- peter(kid, "two", mode = "auto")
    modes <<- c(modes, kid$mode)
    "ok"
  }, annotations = list(read_only = TRUE)))
  expect_identical(modes, c("plan", "plan"))
})

test_that("sessions nest one deep, and the next is refused", {
  met <- NULL
  inner <- plain_tool("inner", function(input, ctx) {
    met <<- caught(peter("deeper", model = fake("never")))
    "tried"
  })
  outer <- plain_tool("outer", function(input, ctx) {
    peter("child", model = fake(call_of("inner"), "child done"), tools = inner)$text
  })
  session <- run(fake(call_of("outer"), "end"), tools = outer)
  expect_s3_class(met, "gptr_error_invalid_argument")
  expect_identical(met$arg, "depth")
  expect_identical(result_text(session), "child done")
  expect_balanced(session)
})

test_that("a prompt for a session that runs is a steer, and gptr_step() on it is busy", {
  met <- NULL
  same <- NULL
  model <- fake(call_of("t"), "end")
  session <- run(model, tools = plain_tool("t", function(input, ctx) {
    met <<- caught(gptr_step(ctx$session))
    same <<- identical(peter(ctx$session, "be brief"), ctx$session)
    "ok"
  }))
  expect_s3_class(met, "gptr_error_busy")
  expect_true(same)
  expect_identical(roles_of(session), c("user", "assistant", "tool_result", "operator", "assistant"))
  steer <- session$messages[[4]]
  expect_identical(steer$kind, "steer_relay")
  expect_identical(steer$origin_text, "be brief")
  expect_identical(session$turns, 1L)
  expect_balanced(session)
})

test_that("an ancestor is busy for the code that its child runs", {
  met <- NULL
  top <- NULL
  inner <- plain_tool("inner", function(input, ctx) {
    met <<- caught(gptr_step(top))
    "tried"
  })
  session <- run(fake(call_of("outer"), "end"), tools = plain_tool("outer", function(input, ctx) {
    top <<- ctx$session
    peter("child", model = fake(call_of("inner"), "child done"), tools = inner)$text
  }))
  expect_s3_class(met, "gptr_error_busy")
  expect_identical(met$session, session)
})

test_that("a session that is not running can be driven from a tool body", {
  other <- peter("one", model = fake("first", "second"), envir = new.env(), .run = FALSE)
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) {
    gptr_step(other)
    other$text
  }))
  expect_identical(result_text(session), "first")
  expect_identical(other$kind, "chat")
  expect_goes_on(other, "second")
})

# ---- hooks and policies ---------------------------------------------------------------------------------------------

test_that("a hook calls a member, registers, removes itself and runs a session", {
  registered(demo_add())
  seen <- list()
  off <- NULL
  off <- gptr_register(gptr_hook("tool_execution_start", function(event, ctx) {
    if (!identical(ctx$session$kind, "chat")) return(NULL)
    extra <- gptr_register(gptr_prompt_section("from_hook", "From a hook."))
    kid <- peter("help", model = fake("child text"))
    # The member call sets off the same event: the hook has left by then.
    left <- off()
    seen[[length(seen) + 1L]] <<- list(
      sum = peter$demo$add(1, 2), kid = kid$text, kind = kid$kind, off = left, extra = extra()
    )
  }))
  session <- run(fake(call_of("t"), call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) "ok"))
  expect_identical(seen, list(list(sum = 3, kid = "child text", kind = "child", off = TRUE, extra = TRUE)))
  expect_identical(session$status, "idle")
  expect_balanced(session)
})

test_that("a policy calls a member and runs a session, and its answer counts", {
  registered(demo_add())
  asked <- 0L
  registered(gptr_policy("thorough", function(call, ctx) {
    if (call$name != "t") return(NULL)
    asked <<- asked + 1L
    kid <- peter("is it fine?", model = fake("no"))
    if (peter$demo$add(1, 1) == 2 && kid$text == "no") list(decision = "deny", reason = paste("the child said", kid$text))
  }))
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) "ran"))
  expect_identical(asked, 1L)
  expect_true(result_failed(session))
  expect_match(result_text(session), "^Permission denied: the child said no")
  expect_balanced(session)
})

test_that("a hook steers its own session, and a step on it is busy", {
  met <- NULL
  model <- fake("first", "second")
  registered(gptr_hook("turn_start", local({
    done <- FALSE
    function(event, ctx) {
      if (done) return(NULL)
      done <<- TRUE
      met <<- caught(gptr_step(ctx$session))
      peter(ctx$session, "also this")
      NULL
    }
  })))
  session <- run(model)
  expect_s3_class(met, "gptr_error_busy")
  expect_identical(session$text, "second")
  expect_identical(session$messages[[3]]$origin_text, "also this")
})

test_that("H43: a hook that prompts its own session at every message does not run for ever", {
  count <- 0L
  registered(gptr_hook("message_end", function(event, ctx) {
    count <<- count + 1L
    if (identical(event$role, "assistant")) peter(ctx$session, "more")
    NULL
  }))
  met <- caught(run(fake("again"), .opts = list(max_turns = 5)))
  expect_s3_class(met, "gptr_error_max_turns")
  expect_identical(met$session$status, "max_turns")
  expect_lte(count, 12L)
})

test_that("a member call from a hook on tool_call sets the hook off again, to a bound", {
  registered(demo_add())
  calls <- 0L
  registered(gptr_hook("tool_call", function(event, ctx) {
    calls <<- calls + 1L
    peter$demo$add(1, 1)
    NULL
  }))
  session <- run(fake(call_of("t"), "end"), tools = plain_tool("t", function(input, ctx) "ran"))
  expect_lte(calls, 20L)
  expect_gte(calls, 2L)
  expect_identical(session$status, "idle")
  expect_balanced(session)
})

# ---- code that the model wrote --------------------------------------------------------------------------------------

test_that("case_39: a member's value stays in R: it is the object itself", {
  big <- stats::rnorm(2e5)
  env <- new.env()
  registered(gptr_tool("same", "Hands its argument back", fun = function(x) x, exposure = "r", namespace = "demo"))
  home <- new.env(parent = globalenv())
  home$big <- big
  home$env <- env
  session <- run(fake(r_call(paste(
    "a <- peter$demo$same(42L)", "b <- peter$demo$same(big)", "c <- peter$demo$same(env)",
    "d <- peter$demo$same(mean)", "e <- peter$demo$same(NULL)", sep = "\n"
  )), "end"), envir = home)
  expect_false(result_failed(session))
  expect_identical(home$a, 42L)
  expect_identical(home$b, big)
  expect_identical(home$c, env)
  expect_identical(home$d, mean)
  expect_null(home$e)
  expect_balanced(session)
})

test_that("a member error in code of the model is an error of that code, and the run goes on", {
  registered(demo_add())
  registered(gptr_tool("broken", "Fails", fun = function() stop("it broke"), exposure = "r", namespace = "demo"))
  home <- new.env(parent = globalenv())
  session <- run(fake(
    r_call("status <- tryCatch(peter$demo$broken(), gptr_error_tool = function(e) c(e$tool, e$status))"),
    r_call("peter$demo$broken()"), r_call("peter$demo$add(1, 'x')"), r_call("peter$demo$nosuch()"), "end"
  ), envir = home)
  expect_identical(home$status, c("demo/broken", "error"))
  expect_identical(vapply(1:4, result_failed, NA, session = session), c(FALSE, TRUE, TRUE, TRUE))
  expect_match(result_text(session, 2), "it broke")
  expect_match(result_text(session, 3), "Invalid arguments for demo/add")
  expect_match(result_text(session, 4), "is not a peter member")
  expect_identical(session$text, "end")
  expect_balanced(session)
})

test_that("case_45: model code can't register, remove or reload; a tool body called by it is refused, too", {
  off <- registered(gptr_prompt_section("mine", "Mine."))
  home <- new.env(parent = globalenv())
  home$off <- off
  registered(gptr_tool("sneak", "Registers", exposure = "r", namespace = "demo", fun = function() {
    tryCatch(gptr_register(gptr_prompt_section("sneaked", "x")), error = function(e) c(class(e)[[1]], e$action))
  }))
  home$met <- list()
  home$keep <- function(expr) home$met[[length(home$met) + 1L]] <- caught(expr)
  code <- paste(
    "keep(gptr::gptr_register(gptr::gptr_prompt_section('y', 'y')))", "keep(off())", "keep(gptr::gptr_reload())",
    "sneaked <- peter$demo$sneak()", sep = "\n"
  )
  generation <- gptr_reload()
  session <- run_unguarded(fake(r_call(code), "end"), envir = home)
  expect_identical(
    vapply(home$met, function(e) e$action, ""), c("gptr_register", "gptr_register", "gptr_reload")
  )
  for (cond in home$met) {
    expect_s3_class(cond, "gptr_error_permission")
    expect_identical(cond$tool, "r")
    expect_identical(cond$risk, 4L)
    expect_match(cond$how_to_allow, "yourself")
  }
  expect_identical(home$sneaked, c("gptr_error_permission", "gptr_register"))
  expect_identical(gptr_reload(), generation + 1L)
  expect_false(any(c("y", "sneaked") %in% gptr_registry("prompt_section")$name))
  expect_true("mine" %in% gptr_registry("prompt_section")$name)
})

test_that("model code runs a child session, whose own code is evaluated within that evaluation", {
  home <- new.env(parent = globalenv())
  home$child <- fake(r_call("inner <- 6 * 7"), "child done")
  session <- run(fake(r_call("kid <- peter('help', model = child)\nkid$text"), "end"), envir = home)
  expect_false(result_failed(session))
  expect_match(result_text(session), "child done")
  expect_identical(home$kid$kind, "child")
  expect_identical(home$kid$mode, "auto")
  expect_identical(home$inner, 42)
  expect_balanced(session)
  expect_balanced(home$kid)
})

test_that("case_15: gptr_return() in model code names the value of the run", {
  home <- new.env(parent = globalenv())
  session <- run(fake(r_call("fit <- stats::lm(mpg ~ wt, mtcars)\ngptr_return(fit)"), "end"), envir = home)
  expect_identical(session$value, home$fit)
  expect_identical(results_of(session)[[1]]$details$value, "fit")
})

# ---- what is left behind --------------------------------------------------------------------------------------------

test_that("a dropped session is collected: its records and specs go, its listeners are never called", {
  heard <- character()
  gone <- FALSE
  make <- function() {
    dropped <- peter("x", model = fake("one"), envir = new.env(), .run = FALSE,
      tools = plain_tool("only_here", function(input, ctx) "x"))
    gptr_on(dropped, "agent_start", function(event, ctx) heard <<- c(heard, event$session))
    reg.finalizer(session_data(dropped)$specs, function(e) gone <<- TRUE)
    id <- dropped$id
    dropped <- NULL
    the$last <- NULL
    id
  }
  id <- make()
  expect_false(is.null(live_session(id)))
  for (i in 1:3) gc(full = TRUE)
  expect_null(live_session(id))
  expect_true(gone)
  the$sweep_at <- 0L
  other <- run(fake("hello"))
  expect_false(id %in% names(the$sessions))
  expect_null(.Call(wrap__registry_winner, "tool", "only_here", id))
  expect_identical(heard, character())
  expect_identical(other$text, "hello")
})

test_that("a session that is still held stays whole over a collection", {
  session <- peter("x", model = fake(call_of("t"), "end"), envir = new.env(), mode = "auto", .run = FALSE,
    tools = plain_tool("t", function(input, ctx) "still here"))
  for (i in 1:3) gc(full = TRUE)
  gptr_step(session, Inf)
  expect_identical(result_text(session), "still here")
})

test_that("records of one session are not seen by another", {
  one <- run(fake("a"), tools = plain_tool("private", function(input, ctx) "x"))
  two <- run(fake(call_of("private"), "end"))
  expect_identical(result_text(two), "Tool private not found")
  expect_false("private" %in% gptr_registry("tool")$name)
})

exits <- list(
  error = function() stop("left"),
  "error without a message" = function() stop(structure(class = c("odd", "error", "condition"), list())),
  "abort restart" = function() invokeRestart("abort")
)

for (name in names(exits)) {
  test_that(paste("a tool body that is left by an", name, "gives an error result"), {
    leave <- exits[[name]]
    session <- run(fake(call_of("t"), "end", "more"), tools = plain_tool("t", function(input, ctx) leave()))
    expect_true(result_failed(session))
    expect_true(nzchar(result_text(session)))
    expect_identical(session$text, "end")
    expect_balanced(session)
    expect_goes_on(session, "more")
  })

  test_that(paste("a decision hook that is left by an", name, "blocks"), {
    leave <- exits[[name]]
    ran <- FALSE
    off <- gptr_register(gptr_hook("tool_call", function(event, ctx) leave()))
    session <- run(fake(call_of("t"), "end", "more"), tools = plain_tool("t", function(input, ctx) ran <<- "ran"))
    off()
    expect_false(isTRUE(ran == "ran"))
    expect_match(result_text(session), "^Tool execution was blocked")
    expect_balanced(session)
    expect_goes_on(session, "more")
  })

  test_that(paste("a policy that is left by an", name, "denies"), {
    leave <- exits[[name]]
    ran <- FALSE
    off <- gptr_register(gptr_policy("bad", function(call, ctx) leave()))
    session <- run(fake(call_of("t"), "end", "more"), tools = plain_tool("t", function(input, ctx) ran <<- "ran"))
    off()
    expect_false(isTRUE(ran == "ran"))
    expect_match(result_text(session), "^Permission denied")
    expect_balanced(session)
    expect_goes_on(session, "more")
  })

  test_that(paste("an observer that is left by an", name, "is skipped and reported"), {
    leave <- exits[[name]]
    heard <- 0L
    off <- c(
      gptr_register(gptr_hook("turn_start", function(event, ctx) leave())),
      gptr_register(gptr_hook("turn_start", function(event, ctx) heard <<- heard + 1L))
    )
    before <- nrow(gptr_registry(diagnostics = TRUE))
    session <- run(fake("end", "more"))
    for (f in off) f()
    expect_identical(heard, 1L)
    expect_identical(session$text, "end")
    log <- gptr_registry(diagnostics = TRUE)
    expect_true("turn_start" %in% utils::tail(log, nrow(log) - before)$event)
    expect_balanced(session)
    expect_goes_on(session, "more")
  })
}

test_that("code of the model that is left by the abort restart is an error result", {
  session <- run(fake(r_call("invokeRestart('abort')"), "end", "more"))
  expect_true(result_failed(session))
  expect_balanced(session)
  expect_goes_on(session, "more")
})

signal_interrupt <- function() {
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  "not stopped"
}

test_that("case_33: an interrupt in a tool body closes all calls and reaches the caller", {
  session <- NULL
  two <- list(tools = list(list(name = "t", input = list(), id = "a"), list(name = "t", input = list(), id = "b")))
  met <- caught(run(fake(two, "more"), tools = plain_tool("t", function(input, ctx) {
    session <<- ctx$session
    signal_interrupt()
  })))
  expect_s3_class(met, "interrupt")
  expect_identical(session$status, "aborted")
  expect_length(results_of(session), 2L)
  expect_true(result_failed(session, 1) && result_failed(session, 2))
  expect_balanced(session)
  expect_goes_on(session, "more")
})

test_that("case_36 of the reading rules: an interrupt in a hook or a policy denies that call and aborts the run", {
  for (spec in list(
    gptr_hook("tool_call", function(event, ctx) signal_interrupt()),
    gptr_policy("stopped", function(call, ctx) signal_interrupt())
  )) {
    session <- NULL
    ran <- FALSE
    off <- gptr_register(spec)
    start <- gptr_register(gptr_hook("agent_start", function(event, ctx) session <<- ctx$session))
    met <- caught(run(fake(call_of("t"), "more"), tools = plain_tool("t", function(input, ctx) ran <<- "ran")))
    off()
    start()
    expect_s3_class(met, "interrupt")
    expect_false(isTRUE(ran == "ran"))
    expect_identical(session$status, "aborted")
    expect_balanced(session)
    expect_goes_on(session, "more")
  }
})

test_that("a jump over the whole run leaves no frame, and the session can go on", {
  jumps <- list(
    condition = function(run) tryCatch(run(), over_the_run = function(e) "left"),
    callCC = function(run) callCC(function(k) run(k)),
    restart = function(run) withRestarts(run(), leave_all = function() "left")
  )
  leave <- list(
    condition = function(k) signalCondition(structure(class = c("over_the_run", "condition"), list())),
    callCC = function(k) k("left"),
    restart = function(k) invokeRestart("leave_all")
  )
  for (how in names(jumps)) {
    session <- NULL
    value <- jumps[[how]](function(k = NULL) {
      run(fake(call_of("t"), "more"), tools = plain_tool("t", function(input, ctx) {
        session <<- ctx$session
        leave[[how]](k)
      }))
    })
    expect_identical(value, "left", info = how)
    expect_length(the$frames, 0L)
    expect_identical(session$status, "aborted", info = how)
    expect_balanced(session)
    expect_goes_on(session, "more")
  }
})

test_that("a jump over a child's run settles the child and the parent", {
  kid <- NULL
  top <- NULL
  value <- withRestarts(
    run(fake(call_of("outer"), "more"), tools = plain_tool("outer", function(input, ctx) {
      top <<- ctx$session
      peter("child", model = fake(call_of("inner"), "kid more"), tools = plain_tool("inner", function(input, ctx) {
        kid <<- ctx$session
        invokeRestart("leave_all")
      }))
      "not reached"
    })),
    leave_all = function() "left"
  )
  expect_identical(value, "left")
  expect_length(the$frames, 0L)
  expect_identical(c(kid$status, top$status), c("aborted", "aborted"))
  expect_balanced(top)
  expect_balanced(kid)
  expect_goes_on(kid, "kid more")
  expect_goes_on(top, "more")
})

test_that("an interrupt in a child reaches the caller, and both sessions are aborted", {
  kid <- NULL
  top <- NULL
  met <- caught(run(fake(call_of("outer"), "more"), tools = plain_tool("outer", function(input, ctx) {
    top <<- ctx$session
    peter("child", model = fake(call_of("inner"), "kid more"), tools = plain_tool("inner", function(input, ctx) {
      kid <<- ctx$session
      signal_interrupt()
    }))
    "not reached"
  })))
  expect_s3_class(met, "interrupt")
  expect_identical(c(kid$status, top$status), c("aborted", "aborted"))
  expect_balanced(top)
  expect_goes_on(top, "more")
})
