# Members of peter$: how they print, what they refuse, who wins a name, and how they are found.

a_schema <- function(...) list(type = "object", properties = list(...))

doubler <- function(...) {
  gptr_tool("double_it", "Double a number. It takes any.", fun = function(x, times = 2) x * times, exposure = "r", ...)
}

test_that("case 114: a member prints its signature, and says which argument is missing", {
  registered(doubler())
  expect_identical(utils::capture.output(print(peter$double_it)), "peter$double_it(x, times = 2)  # Double a number.")
  cond <- caught(peter$double_it())
  expect_s3_class(cond, "gptr_error_invalid_argument")
  expect_identical(conditionMessage(cond), "peter$double_it(): argument `x` is missing.")
  expect_identical(cond$arg, "x")
  expect_identical(peter$double_it(4), 8)
  expect_identical(peter$double_it(times = 3, x = 2), 6)
})

test_that("case 114: a member has the formals of its function, those of primitives too, or of its schema", {
  registered(doubler())
  expect_identical(formals(peter$double_it), formals(function(x, times = 2) NULL))
  registered(gptr_tool("add_all", "Sum", fun = sum, exposure = "r", namespace = "case114"))
  expect_identical(names(formals(peter$case114$add_all)), c("...", "na.rm"))
  expect_identical(peter$case114$add_all(1, 2, NA, na.rm = TRUE), 3)
  odd <- c("frame", "given", "names", "path", "missing", "c", "list", "function")
  properties <- stats::setNames(rep(list(list(type = "integer")), length(odd)), odd)
  registered(gptr_tool("odd", "d", parameters = list(type = "object", properties = properties, required = I("list")), exposure = "r",
    namespace = "case114", execute = function(input, ctx) gptr_tool_result("x", value = input)))
  expect_identical(names(formals(peter$case114$odd)), c("list", setdiff(odd, "list")))
  expect_identical(peter$case114$odd(1L, c = 2L, missing = NULL), list(list = 1L, c = 2L))
})

test_that("a member that was taken anew is the new one, and one that is gone is unknown", {
  off <- gptr_register(doubler(namespace = "again"))
  expect_identical(peter$again$double_it(1), 2)
  other <- gptr_register(gptr_tool("double_it", "Other", fun = function(y) -y, exposure = "r", namespace = "again"))
  off()
  expect_identical(names(formals(peter$again$double_it)), "y")
  expect_identical(peter$again$double_it(1), -1)
  other()
  expect_s3_class(caught(peter$again), "gptr_error_unknown_member")
  expect_length(Filter(function(fn) identical(attr(fn, "tool"), "again/double_it"), as.list(the$members)), 0L)
})

test_that("case 115: an unknown member is named with those that are there; a hidden tool is none", {
  registered(doubler())
  registered(gptr_tool("secret", "d", fun = function(x) x, exposure = "hidden"))
  for (name in c("nothing", "secret", "double", "peter")) {
    cond <- caught(peter[[name]])
    expect_s3_class(cond, "gptr_error_unknown_member")
    expect_identical(cond$name, name)
    expect_true("double_it" %in% unlist(cond$available) && !"secret" %in% unlist(cond$available))
    expect_match(conditionMessage(cond), paste0("peter$", name, " is not a peter member. Members: "), fixed = TRUE)
  }
  registered(doubler(namespace = "case115"))
  cond <- caught(peter$case115$double)
  expect_identical(list(cond$name, unlist(cond$available)), list("case115$double", "double_it"))
})

test_that("case 116: a namespace lists, prints and calls its members, and can't be changed", {
  local_load(function(gptr) {
    gptr$register(gptr_tool("summarise", "Summarise columns. More.", namespace = "case116", exposure = "r", fun = function(data, by = NULL) nrow(data),
      parameters = c(a_schema(data = structure(list(), names = character()), by = list(type = "string")), list(required = "data"))))
  })
  expect_identical(names(peter$case116), "summarise")
  expect_identical(utils::capture.output(print(peter$case116)), c("<peter namespace peter$case116: 1 members>",
    "peter$case116$summarise(data: any, by?: string)  # Summarise columns."))
  expect_identical(peter$case116$summarise(mtcars), 32L)
  for (change in expression(peter$case116$x <- 1, peter$case116[["summarise"]] <- 2, peter$x <- 1)) {
    expect_s3_class(caught(eval(change, new.env(parent = environment()))), "gptr_error_readonly")
  }
})

test_that("case 117: a member of a user that takes a plugin's namespace wins", {
  local_load(function(gptr) gptr$register(doubler(namespace = "case117")), source = "plugin:case117")
  expect_identical(peter$case117$double_it(2), 4)
  registered(gptr_tool("case117", "Mine", fun = function() "mine", exposure = "r"))
  expect_identical(peter$case117(), "mine")
  expect_s3_class(caught(peter$case117$double_it), "error")
})

test_that("case 118: a catalog of 40 members over its budget keeps the names and trims comments from the end", {
  words <- strrep("a long comment about it ", 12)
  for (i in 1:40) registered(gptr_tool(sprintf("f%02d", i), words, fun = function(x) x, exposure = "r", namespace = "case118"))
  model <- fake("ok")
  run(model)
  lines <- grep("peter$case118$f", unlist(strsplit(unlist(model$log$requests[[1]]$system, use.names = FALSE), "\n", fixed = TRUE)), fixed = TRUE, value = TRUE)
  expect_length(lines, 40L)
  expect_identical(sub("\\(.*", "", trimws(lines)), sprintf("peter$case118$f%02d", 1:40))
  commented <- grepl("  # ", lines, fixed = TRUE)
  expect_true(commented[[1]] && !commented[[40]])
  expect_false(is.unsorted(!commented))
})

test_that("case 119: what is promised is listed, completed and found while it is still lazy", {
  local_lazy(function(gptr) gptr$register(gptr_tool("lookup", "Look up a trial", fun = function(id) id, exposure = "r", namespace = "case119")),
    list(tool = "case119/lookup"), list(tools = list(list(name = "case119/lookup", description = "Look up a trial", signature = "peter$case119$lookup(id)"))),
    source = "plugin:case119")
  expect_true("case119" %in% names(peter))
  expect_true("case119/lookup" %in% peter$search("trial lookup")$name)
  expect_identical(listed("case119/lookup")$state, "lazy")
  expect_identical(peter$case119$lookup("x"), "x")
})

test_that("case 120: search finds plugin and deferred tools by words, and help explains them", {
  local_load(function(gptr) {
    gptr$register(gptr_tool("trial_lookup", "Look up a clinical trial. By its id.", namespace = "case120", exposure = "r", fun = function(id, full = FALSE) id,
      parameters = c(a_schema(id = list(type = "string", description = "The id"), full = list(type = "boolean")), list(required = "id"))))
  }, source = "plugin:case120")
  registered(gptr_tool("lab120", "Laboratory units", execute = function(input, ctx) "units", exposure = "deferred"))
  hits <- peter$search("clinical trials")
  expect_identical(list(hits$name[[1]], hits$kind[[1]]), list("case120/trial_lookup", "plugin"))
  expect_match(hits$signature[[1]], "(id: string, full?: boolean)", fixed = TRUE)
  deferred <- peter$search("laboratory units")
  expect_identical(list(deferred$name[[1]], deferred$kind[[1]]), list("lab120", "deferred"))
  expect_identical(peter$lab120(), "units")
  expect_identical(nrow(peter$search("xylophone")), 0L)
  expect_identical(as.character(peter$help("case120/trial_lookup")), c("peter$case120$trial_lookup(id: string, full?: boolean)  # Look up a clinical trial.",
    "", "Look up a clinical trial. By its id.", "", "Arguments:", "  id (string, required): The id", "  full (boolean)"))
})
