test_that("case 68: placeholders wait, the first use runs the factory once", {
  runs <- 0L
  factory <- function(gptr) {
    runs <<- runs + 1L
    gptr$register_tool("search", description = "Search trials", fun = function(words) words, exposure = "r",
      namespace = "trials")
    gptr$register(a_command("panel"))
    gptr$on("tool_result", function(event, ctx) NULL)
  }
  local_lazy(factory, list(tool = "trials/search", command = "panel", hook = "tool_result"),
    list("trials/search" = list(signature = "peter$trials$search(words: string)", description = "Search trials")))
  rows <- gptr_registry()
  rows <- rows[rows$source == "plugin:demo", ]
  expect_identical(rows$state, rep("lazy", 3L))
  expect_gt(rows$tokens[rows$kind == "tool"], 0)
  expect_identical(runs, 0L)
  expect_identical(peter$trials$search("x"), "x")
  expect_identical(runs, 1L)
  rows <- gptr_registry()
  expect_identical(rows$state[rows$source == "plugin:demo"], rep("active", 3L))
  expect_identical(winner_of("panel"), "panel")
  expect_identical(runs, 1L)
})

test_that("case 69: listing models activates, listing tools does not", {
  loaded <- FALSE
  local_lazy(function(gptr) {
    loaded <<- TRUE
    gptr$register(gptr_spec("model", "lazy/one"))
    gptr$register_tool("lazily", description = "d", fun = function() 1)
  }, list(model = "lazy/one", tool = "lazily"))
  found <- engine(.Call(wrap__registry_records, "tool", NULL))
  expect_true("lazily" %in% found$names)
  expect_false(loaded)
  found <- engine(.Call(wrap__registry_records, "model", NULL))
  expect_length(found$lazy, 1L)
  expect_true(activate_load(found$lazy[[1L]])$loaded)
  expect_true("lazy/one" %in% engine(.Call(wrap__registry_records, "model", NULL))$names)
})

test_that("case 70: the first dispatch of an event activates and calls the handler", {
  heard <- 0L
  local_lazy(function(gptr) {
    gptr$on("agent_start", function(event, ctx) {
      heard <<- heard + 1L
      NULL
    })
  }, list(hook = "agent_start"))
  run(fake("done"))
  expect_identical(heard, 1L)
  run(fake("done"))
  expect_identical(heard, 2L)
})

test_that("case 71: a lazy factory that fails leaves nothing, and warns once", {
  local_lazy(function(gptr) stop("broken"), list(command = c("case71", "case71b")), source = "plugin:broken")
  rows <- logged({
    warned <- tryCatch(winner_of("case71"), gptr_warning_plugin = identity)
    expect_s3_class(warned, "gptr_warning_plugin")
    expect_match(warned$diagnostic, "broken", fixed = TRUE)
    expect_null(expect_silent(winner_of("case71")))
  })
  expect_identical(rows$event, "load")
  expect_identical(rows$class, "simpleError")
  expect_null(winner_of("case71b"))
  expect_identical(nrow(gptr_why("case71")), 0L)
  rows <- logged({
    local_lazy(function(gptr) gptr$register(a_command("case71c")), list(command = c("case71c", "case71d")),
      source = "plugin:part")
    expect_identical(winner_of("case71c"), "case71c")
  })
  expect_identical(rows$class, "missing_provided")
  expect_null(winner_of("case71d"))
})

test_that("an interrupt during an activation rolls it back and reaches the caller", {
  local_lazy(function(gptr) {
    gptr$register(a_command("lazy_int"))
    signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  }, list(command = "lazy_int"), source = "plugin:stopped")
  left <- tryCatch(winner_of("lazy_int"), interrupt = function(e) "interrupt")
  expect_identical(left, "interrupt")
  expect_null(winner_of("lazy_int"))
  expect_length(the$frames, 0L)
})

test_that("case 73: after a reload what was lazy is lazy again", {
  runs <- 0L
  local_lazy(function(gptr) {
    runs <<- runs + 1L
    gptr$register(a_command("case73"))
  }, list(command = "case73"))
  expect_identical(winner_of("case73"), "case73")
  gptr_reload()
  expect_identical(listed("case73")$state, "lazy")
  expect_identical(winner_of("case73"), "case73")
  expect_identical(runs, 2L)
})

test_that("a factory may ask for a version of the API by an attribute", {
  factory <- structure(function(gptr) gptr$register(a_command("versioned")), gptr_api = ">= 2.0")
  run <- local_load(factory)
  expect_s3_class(run$failure, "gptr_error_api_version")
  attr(factory, "gptr_api") <- "1.0"
  expect_null(local_load(factory)$failure)
})
