# One run of a session: every listener to `agent_start` hears it once.
emit <- function() invisible(run(fake("done")))

hears <- function(handler) gptr_register(gptr_hook("agent_start", handler))

test_that("H01: a handler that removes itself does not skip the next", {
  heard <- character()
  off1 <- hears(function(event, ctx) {
    heard <<- c(heard, "one")
    off1()
    NULL
  })
  off2 <- hears(function(event, ctx) {
    heard <<- c(heard, "two")
    NULL
  })
  withr::defer(off2())
  emit()
  expect_identical(heard, c("one", "two"))
  emit()
  expect_identical(heard, c("one", "two", "two"))
})

test_that("H02: a handler that is removed during a dispatch still runs in it, and no more", {
  heard <- 0L
  off1 <- hears(function(event, ctx) {
    off2()
    NULL
  })
  off2 <- hears(function(event, ctx) {
    heard <<- heard + 1L
    NULL
  })
  withr::defer(off1())
  emit()
  expect_identical(heard, 1L)
  emit()
  expect_identical(heard, 1L)
})

test_that("H04: a handler that registers itself is heard from the next dispatch on", {
  heard <- 0L
  offs <- list()
  handler <- function(event, ctx) {
    heard <<- heard + 1L
    offs <<- c(offs, list(hears(handler)))
    NULL
  }
  offs <- list(hears(handler))
  withr::defer(for (off in offs) off())
  counts <- integer()
  for (i in 1:3) {
    emit()
    counts <- c(counts, heard)
  }
  expect_identical(diff(c(0L, counts)), c(1L, 2L, 4L))
})

test_that("H05: one name twice in one source: the first wins, each remover removes its own", {
  rows <- logged({
    off1 <- gptr_register(a_command("h05", "first"))
    off2 <- gptr_register(a_command("h05", "second"))
  })
  expect_identical(rows$class, "collision")
  expect_identical(rows$source, "user")
  expect_identical(winner_of("h05"), "first")
  expect_true(off1())
  expect_identical(winner_of("h05"), "second")
  expect_true(off2())
  expect_null(winner_of("h05"))
})

test_that("H07: a remover that is called again removes nobody else", {
  off1 <- gptr_register(a_command("h07", "first"))
  off1()
  off2 <- gptr_register(a_command("h07", "second"))
  expect_false(off1())
  expect_identical(winner_of("h07"), "second")
  off2()
})

test_that("H08: of a load that fails half-way nothing is left", {
  heard <- FALSE
  before <- gptr_registry()
  run <- local_load(function(gptr) {
    gptr$register_tool("h08", description = "d", fun = function() 1)
    gptr$on("agent_start", function(event, ctx) heard <<- TRUE)
    stop("half-way")
  })
  expect_identical(conditionMessage(run$failure), "half-way")
  emit()
  expect_false(heard)
  expect_identical(gptr_registry(), before)
  expect_identical(nrow(gptr_why("h08")), 0L)
})

test_that("H25: a name with a trailing newline is refused wherever a name is checked", {
  fn <- function(...) NULL
  for (build in list(
    function() gptr_tool("shell\n", "d", fun = function() 1), function() gptr_provider("p\n", api = "x"),
    function() gptr_tool("t", "d", fun = function() 1, namespace = "ns\n"),
    function() gptr_command("c\n", function(args, ctx) 1), function() gptr_hook("tool_call\n", function(event, ctx) 1),
    function() gptr_hook("a:b\n", function(event, ctx) 1), function() gptr_spec("kind", "k\n", validate = fn),
    function() gptr_spec("skill", "s\n", description = "d"), function() gptr_spec("setting", "s\n"),
    function() gptr_spec("env_alias", "E\n", aliases = "e")
  )) {
    expect_error(build(), class = "gptr_error_invalid_spec")
  }
})

test_that("H26: names that join to one name on the wire are told apart or refused", {
  tool <- function(namespace, name, exposure) {
    gptr_tool(name, "d", fun = function() paste(namespace, name), namespace = namespace, exposure = exposure)
  }
  registered(tool("foo", "bar_baz", "direct"))
  registered(tool("foo_bar", "baz", "direct"))
  registered(tool("h26.a", "x", "direct"))
  cond <- invalid_spec(gptr_register(tool("h26_a", "x", "direct")), "name")
  expect_match(cond$problem, "h26.a/x", fixed = TRUE)
  # Members that are not on the wire have names of their own.
  registered(tool("h26.b", "x", "r"))
  registered(tool("h26_b", "x", "r"))
  expect_identical(peter$h26_b$x(), "h26_b x")
  expect_identical(peter[["h26.b"]]$x(), "h26.b x")
})

test_that("H28 and H29: a look-up is exact", {
  member <- function(namespace, text) {
    gptr_tool("list", "d", fun = function() text, exposure = "r", namespace = namespace)
  }
  registered(member("git", "git"))
  registered(member("github", "github"))
  expect_identical(peter$github$list(), "github")
  expect_identical(peter$git$list(), "git")
  registered(gptr_tool("list_files", "d", fun = function() "files", exposure = "r"))
  uses <- list(function() peter$list, function() peter$List_files, function() peter$gith, function() peter$git$li)
  for (use in uses) {
    expect_error(use(), class = "gptr_error_unknown_member")
  }
  ctx <- new_ctx()
  expect_null(ctx$get("tool", "list"))
  expect_null(ctx$get("tool", "LIST_FILES"))
  expect_null(ctx$get("too", "list_files"))
  expect_identical(ctx$get("tool", "list_files")$name, "list_files")
})

test_that("H31: a matcher that can't be read is refused when it is registered", {
  hook <- function(matcher) gptr_hook("tool_call", function(event, ctx) NULL, matcher = matcher)
  for (bad in c("", "a\n")) invalid_spec(gptr_register(hook(bad)), "matcher")
  for (good in c("*", "mcp__*", "r")) gptr_register(hook(good))()
})

test_that("H37: reloads don't multiply what an extension listens to", {
  heard <- 0L
  local_load(function(gptr) {
    gptr$on("agent_start", function(event, ctx) {
      heard <<- heard + 1L
      NULL
    })
  })
  for (i in 1:3) gptr_reload()
  emit()
  expect_identical(heard, 1L)
})

test_that("H38: an API object from before a reload signals so, and names its extension", {
  kept <- NULL
  local_load(function(gptr) kept <<- gptr, "plugin:keeper")
  generation <- gptr_reload()
  expect_type(generation, "integer")
  cond <- caught_error(kept$register(a_command("h38")))
  expect_s3_class(cond, "gptr_error_stale_api")
  expect_identical(cond$plugin, "plugin:keeper")
  expect_identical(as.integer(cond$generation), generation - 1L)
  expect_match(conditionMessage(cond), "plugin:keeper", fixed = TRUE)
  expect_null(winner_of("h38"))
})

test_that("H41: what was unloaded is not called", {
  heard <- 0L
  local_load(function(gptr) {
    gptr$on("agent_start", function(event, ctx) heard <<- heard + 1L)
    gptr$register(a_command("h41"))
  }, "plugin:gone")
  rows <- logged(count <- unload_source("plugin:gone"))
  expect_identical(as.integer(count), 2L)
  expect_identical(rows$class, "unloaded")
  emit()
  expect_identical(heard, 0L)
})

test_that("H55: the order is that of bytes, in every locale", {
  for (name in c("h55b", "h55A", "h55a", "h55_x")) registered(a_command(name))
  found <- engine(.Call(wrap__registry_records, "command", NULL))$names
  expect_identical(grep("^h55", found, value = TRUE), c("h55A", "h55_x", "h55a", "h55b"))
  kinds <- unique(gptr_registry()$kind)
  expect_identical(kinds, sort(kinds, method = "radix"))
})

test_that("H56: two listings have the same order, and two prompts the same bytes", {
  for (name in c("h56_c", "h56_a", "h56_b")) registered(gptr_tool(name, "d", fun = function() 1))
  view <- gptr_prompt()
  expect_identical(view$tools_json, gptr_prompt()$tools_json)
  expect_identical(view$system, gptr_prompt()$system)
})

test_that("H58: a tool named like a built-in is the one that is called", {
  off <- gptr_register(gptr_tool("help", "mine", fun = function(name = "") "my help", exposure = "r"))
  expect_identical(peter$help(), "my help")
  off()
  expect_s3_class(peter$help("mean"), "gptr_text")
})

test_that("H61: an extension file that is given twice is loaded once a session", {
  file <- withr::local_tempfile(fileext = ".R", lines = c(
    "function(gptr) gptr$on('agent_start', function(event, ctx) { options(h61 = getOption('h61', 0) + 1); NULL })"
  ))
  withr::defer(options(h61 = NULL))
  session <- run(fake("a", "b"), extensions = list(file, file.path(dirname(file), ".", basename(file))))
  expect_identical(getOption("h61"), 1)
  peter(session, prompt = "more", extensions = file)
  expect_identical(getOption("h61"), 2)
  run(fake("a"), extensions = file)
  expect_identical(getOption("h61"), 3)
})

test_that("H62: what a factory returns is ignored; a file that ends in no function is refused", {
  before <- gptr_registry()
  for (value in list(FALSE, "text", mtcars, NULL)) expect_null(local_load(function(gptr) value)$failure)
  expect_identical(gptr_registry(), before)
  file <- withr::local_tempfile(fileext = ".R", lines = "data.frame(a = 1)")
  cond <- caught_error(peter("go", model = fake("x"), extensions = file))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "extensions")
  expect_match(conditionMessage(cond), basename(file), fixed = TRUE)
  expect_match(conditionMessage(local_load("no function")$failure), "function", fixed = TRUE)
})

test_that("H64: a hole in a list of tools is refused, not skipped under another's name", {
  cond <- caught_error(peter("go", model = fake("x"), tools = list(gptr_tool("a", "d", fun = function() 1), NULL)))
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(cond$arg, "tools")
  run <- local_load(function(gptr) for (spec in list(a_command("h64"), NULL)) gptr$register(spec))
  expect_s3_class(run$failure, "gptr_error_invalid_spec")
  expect_null(winner_of("h64"))
})

test_that("H65: tools that are built one by one keep their own closures", {
  offs <- lapply(1:3, function(i) {
    gptr_register(gptr_tool(paste0("h65_", i), "d", fun = function() i, exposure = "r"))
  })
  withr::defer(for (off in offs) off())
  expect_identical(c(peter$h65_1(), peter$h65_2(), peter$h65_3()), 1:3)
})

test_that("H74: one name in several kinds is several things", {
  registered(gptr_tool("h74", "tool", fun = function() "tool", exposure = "r"))
  off <- gptr_register(a_command("h74", "command"))
  local_record(gptr_policy("h74", function(call, ctx) NULL, "policy"), "plugin:p")
  ctx <- new_ctx()
  expect_identical(c(ctx$get("tool", "h74")$description, ctx$get("command", "h74")$description), c("tool", "command"))
  off()
  expect_identical(peter$h74(), "tool")
  expect_identical(gptr_why("h74")$kind, c("policy", "tool"))
})

test_that("H76: a name with bytes that are no text is refused", {
  bad <- "sh\xff"
  Encoding(bad) <- "UTF-8"
  expect_error(gptr_tool(bad, "d", fun = function() 1), class = "gptr_error_invalid_spec")
  expect_error(gptr_provider(bad, api = "x"), class = "gptr_error_invalid_spec")
})
