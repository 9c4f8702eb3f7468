test_that("case 36: the lowest rank wins, and sessions are apart", {
  for (source in c("builtin:x", "plugin:p", "user", "project")) {
    local_record(a_command("case36", source), source)
    expect_identical(winner_of("case36"), source)
  }
  local_record(a_command("case36", "session"), "session", session = "s1")
  expect_identical(winner_of("case36", session = "s1"), "session")
  expect_identical(winner_of("case36", session = "s2"), "project")
  expect_null(winner_of("case36_nope"))
  expect_null(winner_of("case36", kind = "no_such_kind"))
  cond <- caught_error(add_record(a_command("case36"), list(source = "somewhere", rank = 3L)))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "source")
  for (source in c("user\n", "plugin:", "plugin:a\nb", "Session", "")) {
    cond <- caught_error(add_record(a_command("case36"), list(source = source, rank = 3L)))
    expect_s3_class(cond, "gptr_error_invalid_argument")
  }
  for (rank in list(-1L, 100L, 1.5, NA, "3")) {
    cond <- caught_error(add_record(a_command("case36"), list(source = "user", rank = rank)))
    expect_identical(cond$arg, "rank")
  }
})

test_that("case 37: two plugins of one rank: the first wins, the tie is reported", {
  rows <- logged({
    local_record(a_command("case37", "a"), "plugin:a")
    local_record(a_command("case37", "b"), "plugin:b")
  })
  expect_identical(winner_of("case37"), "a")
  expect_identical(rows$class, "collision")
  expect_identical(rows$source, "plugin:b")
  expect_identical(rows$event, "register")
})

test_that("case 38: overriding is for one name, and removing exposes what was there", {
  read <- function(name, text) gptr_tool(name, text, fun = function() text)
  for (name in c("case38_read", "case38_edit", "case38_grep")) local_record(read(name, "built-in"), "builtin:x")
  off <- gptr_register(read("case38_read", "mine"))
  expect_identical(winner_of("case38_read", "tool"), "mine")
  expect_identical(winner_of("case38_edit", "tool"), "built-in")
  rows <- listed(c("case38_read", "case38_edit"))
  expect_identical(rows$state[rows$name == "case38_edit"], "active")
  expect_identical(rows$state[rows$name == "case38_read"], c("overridden", "active"))
  expect_identical(rows$source[rows$name == "case38_read"], c("builtin:x", "user"))
  off()
  expect_identical(winner_of("case38_read", "tool"), "built-in")
})

test_that("case 39: policies are listed by order, their names by registration", {
  policy <- function(name, order) gptr_policy(name, function(call, ctx) NULL, order = order)
  local_record(policy("case39_late", 900L), "builtin:x")
  local_record(policy("case39_early", 100L), "user")
  local_record(policy("case39_middle", 500L), "plugin:p")
  own <- function(names) names[startsWith(names, "case39_")]
  found <- engine(.Call(wrap__registry_records, "policy", NULL))
  expect_identical(own(found$names), c("case39_early", "case39_middle", "case39_late"))
  names <- engine(.Call(wrap__registry_names, "policy", NULL))
  expect_identical(own(names), c("case39_late", "case39_early", "case39_middle"))
  expect_identical(engine(.Call(wrap__registry_names, "no_such_kind", NULL)), character())
})

test_that("case 40: a remover says TRUE, then FALSE, invisibly", {
  off <- gptr_register(a_command("case40"))
  expect_identical(withVisible(off()), list(value = TRUE, visible = FALSE))
  expect_identical(withVisible(off()), list(value = FALSE, visible = FALSE))
  expect_false(withVisible(gptr_register(a_command("case40"))())$visible)
})

test_that("case 41: a kind record defines its kind for as long as it is there", {
  kind <- function() gptr_spec("kind", "reviewer", validate = function(spec) spec)
  id <- local_record(kind(), "plugin:demo")
  own <- kind_table()[kind_table()$name == "reviewer", ]
  expect_true(own$experimental)
  expect_false(own$all)
  expect_true("kind.reviewer" %in% gptr_api()$features)
  cond <- invalid_spec(add_record(kind(), list(source = "plugin:other", rank = 5L)), "name")
  expect_match(cond$problem, "plugin:demo", fixed = TRUE)
  invalid_spec(gptr_register(gptr_spec("kind", "tool", validate = function(spec) spec)), "name")
  off <- gptr_register(gptr_spec("reviewer", "stats"))
  expect_identical(listed("stats", "reviewer")$name, "stats")
  remove_record(id)
  expect_error(gptr_spec("reviewer", "x"), class = "gptr_error_unknown_kind")
  expect_error(gptr_registry("reviewer"), class = "gptr_error_unknown_kind")
  expect_false(off())
  # Its records went with it: whoever defines it anew starts with none.
  local_record(kind(), "plugin:other")
  expect_identical(nrow(gptr_registry("reviewer")), 0L)
})

test_that("case 42: an operator's block needs rank 3 or more", {
  block <- function() gptr_context_block("case42", function(ctx, budget) "x", authority = "operator")
  for (source in c("project", "session")) {
    session <- if (source == "session") "s1"
    origin <- list(source = source, rank = source_ranks[[source]], session = session)
    cond <- invalid_spec(add_record(block(), origin), "authority")
    expect_match(cond$problem, as.character(source_ranks[[source]]), fixed = TRUE)
  }
  local_record(block(), "user")
  expect_identical(listed("case42")$source, "user")
})

test_that("case 43: namespaces of tools", {
  tool <- function(name, namespace = NULL) {
    gptr_tool(name, "d", fun = function() 1, exposure = "r", namespace = namespace)
  }
  plugin <- list(source = "plugin:trials", rank = 5L)
  invalid_spec(add_record(tool("search43"), plugin), "namespace")
  invalid_spec(add_record(tool("search43", "mcp"), plugin), "namespace", "mcp")
  local_record(tool("case43"), "user")
  invalid_spec(add_record(tool("search43", "case43"), plugin), "namespace", "existing peter$ member")
  id <- local_record(tool("search43", "trials"), "plugin:trials")
  expect_identical(listed("trials/search43")$kind, "tool")
  expect_identical(the$specs[[id]]$name, "search43")
})

test_that("case 44: only specs are registered, and they are checked again", {
  cond <- caught_error(gptr_register(list(kind = "command")))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "spec")
  altered <- a_command("case44")
  altered$handler <- "text"
  invalid_spec(gptr_register(altered), "handler")
  odd <- structure(list(kind = "widget", name = "w"), class = c("gptr_widget", "gptr_spec"))
  expect_error(gptr_register(odd), class = "gptr_error_unknown_kind")
  # A spec is a value: what is done to it later changes nothing.
  spec <- a_command("case44", "first")
  registered(spec)
  spec$description <- "second"
  expect_identical(winner_of("case44"), "first")
})

test_that("case 45: code that the model wrote can't register or remove, handlers can", {
  cond <- caught_error(as_model_code(gptr_register(a_command("case45"))))
  expect_s3_class(cond, "gptr_error_permission")
  expect_identical(unclass(cond)[c("action", "tool", "risk")], list(action = "gptr_register", tool = "r", risk = 4L))
  expect_true(nzchar(cond$how_to_allow))
  expect_null(winner_of("case45"))
  off <- gptr_register(a_command("case45"))
  cond <- caught_error(as_model_code(off()))
  expect_identical(cond$action, "gptr_register")
  expect_identical(winner_of("case45"), "case45")
  off()
  cond <- caught_error(as_model_code(gptr_reload()))
  expect_identical(cond$action, "gptr_reload")
  for (role in c("hook", "policy", "command")) {
    off <- as_model_code(in_frame(gptr_register(a_command("case45")), role = role))
    expect_true(as_model_code(in_frame(off(), role = role)))
  }
})

test_that("case 45: in a run", {
  home <- new.env(parent = globalenv())
  home$sneak <- function() tryCatch(gptr_register(a_command("case45")), error = function(e) class(e)[[1L]])
  session <- run(fake(r_call("sneak()"), "done"), envir = home)
  expect_match(result_text(session), "gptr_error_permission", fixed = TRUE)
  expect_null(winner_of("case45"))
  # A hook of the same run is its author's code.
  off <- NULL
  hook <- gptr_hook("tool_result", function(event, ctx) {
    off <<- gptr_register(a_command("case45"))
    NULL
  })
  registered(hook)
  run(fake(r_call("1 + 1"), "done"))
  expect_identical(winner_of("case45"), "case45")
  off()
})

test_that("case 46: the listing, without what is one session's", {
  registered(gptr_tool("case46", "A tool", fun = function(x) x))
  registered(gptr_spec("service", "case46", fun = function() 1))
  local_record(a_command("case46"), "session", session = "s1")
  rows <- listed("case46", c("service", "tool"))
  expect_identical(listed("case46")$kind, c("service", "tool"))
  expect_identical(rows$kind, c("service", "tool"))
  expect_identical(rows$experimental, c(TRUE, FALSE))
  expect_identical(rows$tokens[[1L]], 0)
  expect_gt(rows$tokens[[2L]], 0)
  expect_identical(utils::capture.output(print(rows))[[1L]], "<gptr_registry> 2 record(s)")
  expect_identical(class(rows), c("gptr_registry", "data.frame"))
  expect_identical(vapply(rows, typeof, ""), c(
    kind = "character", name = "character", source = "character", rank = "integer", state = "character",
    tokens = "double", experimental = "logical"
  ))
  asked <- gptr_registry(c("tool", "service"))
  expect_identical(unique(asked$kind), c("tool", "service"))
})

test_that("case 47: an unknown kind can't be listed", {
  expect_error(gptr_registry("widget"), class = "gptr_error_unknown_kind")
  expect_error(gptr_registry(c("tool", NA)), class = "gptr_error_invalid_argument")
  cond <- caught_error(gptr_registry("tool", diagnostics = TRUE))
  expect_identical(cond$arg, "diagnostics")
})

test_that("case 48: the listing is the same object until something changes", {
  first <- gptr_registry()
  expect_true(rlang::is_reference(first, gptr_registry()))
  local_record(a_command("case48"), "session", session = "s48")
  expect_true(rlang::is_reference(first, gptr_registry()))
  registered(a_command("case48"))
  expect_false(rlang::is_reference(first, gptr_registry()))
  expect_true("case48" %in% gptr_registry()$name)
  now <- gptr_registry()
  gptr_check(a_command("case48_check"))
  gptr_check(function(gptr) gptr$register(a_command("case48_check")))
  expect_true(rlang::is_reference(now, gptr_registry()))
})

test_that("case 49: the log keeps a thousand rows, redacted", {
  # In a process of its own: the other tests count rows.
  rows <- callr::r(function() {
    write <- getFromNamespace("wrap__registry_diagnose", "gptr")
    for (i in 1:1005) .Call(write, "user", "test", "case49", paste("row", i, "sk-abc123abc123abc123abc123"))
    gptr::gptr_registry(diagnostics = TRUE)
  })
  expect_identical(nrow(rows), 1000L)
  expect_identical(class(rows), c("gptr_diagnostics", "data.frame"))
  expect_identical(names(rows), c("time", "source", "event", "class", "message"))
  expect_s3_class(rows$time, "POSIXct")
  expect_match(rows$message[[1000L]], "row 1005", fixed = TRUE)
  expect_false(any(grepl("abc123", rows$message, fixed = TRUE)))
})

test_that("case 50: a remover acts on the registry that it was made in", {
  off <- NULL
  kept <- NULL
  gptr_check(function(gptr) {
    off <<- gptr$register(a_command("case50"))
    kept <<- gptr
  })
  mine <- gptr_register(a_command("case50"))
  expect_error(off(), class = "gptr_error_stale_api")
  expect_error(kept$register(a_command("case50")), class = "gptr_error_stale_api")
  expect_identical(winner_of("case50"), "case50")
  expect_true(mine())
  # The other way round: a live remover called during a check removes the live record.
  mine <- gptr_register(a_command("case50"))
  gptr_check(function(gptr) {
    gptr$register(a_command("case50b"))
    mine()
  })
  expect_null(winner_of("case50"))
})

test_that("case 51: a session's record needs a session", {
  before <- gptr_registry()
  for (session in list(NULL, "", NA, NA_character_, 1, list(), list(id = 42), list(id = ""), c("a", "b"))) {
    cond <- caught_error(add_record(a_command("case51"), list(source = "session", rank = 0L, session = session)))
    expect_s3_class(cond, "gptr_error_invalid_argument")
    expect_identical(cond$arg, "session")
  }
  expect_identical(gptr_registry(), before)
  expect_null(winner_of("case51", session = "s1"))
})
