printed_lines <- function(x) utils::capture.output(print(x))

test_that("where a thing comes from prints as a tree, what is shadowed below the winner", {
  rows <- structure(
    data.frame(kind = "tool", name = "add", source = c("user", "plugin:p", "builtin:tools"), rank = c(3L, 5L, 6L),
               state = c("active", "overridden", "overridden"), file = c("origin.R", "p.R", NA), line = c(2L, NA, NA),
               loaded = as.POSIXct(c("2026-01-31 10:00:00", NA, NA), tz = "UTC")),
    class = c("gptr_why", "gptr_listing", "data.frame"), reason = c("first", "second", "third")
  )
  expect_identical(printed_lines(rows), c(
    "<gptr_why> 3 record(s)", "tool add",
    "`- user, rank 3, active, origin.R:2, loaded 2026-01-31 10:00:00",
    "   (first)",
    "   |- plugin:p, rank 5, overridden, p.R",
    "   |  (second)",
    "   `- builtin:tools, rank 6, overridden",
    "      (third)"
  ))
  expect_identical(printed_lines(rows[0, ]), "<gptr_why> 0 record(s)")
  expect_identical(printed_lines(rows[3, ]), c(
    "<gptr_why> 1 record(s)", "tool add", "   `- builtin:tools, rank 6, overridden"
  ))
  expect_identical(printed_lines(rows[c("kind", "source")])[[1L]], " kind        source")
})

test_that("every record of a name is explained, the winner first", {
  local_record(gptr_tool("why_add", "built-in", fun = function(a) a), "builtin:x")
  registered(gptr_tool("why_add", "mine", fun = function(a) a))
  local_record(gptr_tool("why_add", "theirs", fun = function(a) a, namespace = "demo"), "plugin:demo")
  registered(a_command("why_add"))
  why <- gptr_why("why_add")
  expect_identical(class(why), c("gptr_why", "gptr_listing", "data.frame"))
  expect_identical(names(why), c("kind", "name", "source", "rank", "state", "file", "line", "loaded"))
  expect_identical(why$kind, c("command", "tool", "tool", "tool"))
  expect_setequal(why$name, c("why_add", "demo/why_add"))
  own <- why[why$kind == "tool" & why$name == "why_add", ]
  expect_identical(own$source, c("user", "builtin:x"))
  expect_identical(own$state, c("active", "overridden"))
  expect_s3_class(why$loaded, "POSIXct")
  expect_lt(abs(as.numeric(Sys.time()) - as.numeric(why$loaded[[1L]])), 60)
  expect_identical(nrow(gptr_why("demo/why_add")), 1L)
  expect_identical(nrow(gptr_why("no such name")), 0L)
  expect_match(paste(printed_lines(why), collapse = "\n"), "comes before", fixed = TRUE)
  for (bad in list("", NA_character_, 1, NULL, c("a", "b"))) {
    expect_error(gptr_why(bad), class = "gptr_error_invalid_argument")
  }
})

test_that("a filter and a lazy extension are told, too", {
  registered(a_command("why_off"))
  withr::defer(set_filters(NULL, "session"))
  set_filters("-command:why_off", "session")
  why <- gptr_why("why_off")
  expect_identical(why$state, "disabled")
  expect_match(attr(why, "reason"), "command:why_off", fixed = TRUE)
  local_lazy(function(gptr) stop("not now"), list(command = "why_lazy"))
  expect_identical(gptr_why("why_lazy")$state, "lazy")
})

in_file <- function(..., keep = TRUE, env = parent.frame()) {
  file <- withr::local_tempfile(lines = c(...), fileext = ".R", .local_envir = env)
  source(file, local = new.env(parent = globalenv()), keep.source = keep)
  normalizePath(file)
}

place_of <- function(name) {
  why <- gptr_why(name)
  list(file = if (is.na(why$file)) NA else normalizePath(why$file), line = why$line)
}

test_that("a record made in a sourced file has its file and line", {
  withr::defer(remove_commands("placed"))
  file <- in_file("", "gptr::gptr_register(gptr::gptr_command('placed1', function(args, ctx) 1))",
    "add <- function(name) {", "  gptr::gptr_register(gptr::gptr_command(name, function(args, ctx) 1))", "}", "",
    "add('placed2')")
  expect_identical(place_of("placed1"), list(file = file, line = 2L))
  expect_identical(place_of("placed2"), list(file = file, line = 4L))
  file <- in_file("gptr::gptr_register(gptr::gptr_command('placed3', function(args, ctx) 1))", keep = FALSE)
  expect_identical(place_of("placed3"), list(file = file, line = NA_integer_))
})

test_that("a record of an extension file has its file, and the line where it is known", {
  file <- withr::local_tempfile(fileext = ".R", lines = c(
    "helper <- function(gptr, name) {", "  gptr$register(gptr::gptr_command(name, function(args, ctx) 1))", "}",
    "function(gptr) {", "  gptr$register_command('filed1', handler = function(args, ctx) 1)",
    "  gptr$on('message_end', function(event, ctx) NULL)", "  helper(gptr, 'filed2')", "}"
  ))
  session <- peter("go", model = fake("hello"), extensions = file, .run = FALSE)
  id <- session_data(session)$id
  why <- in_frame(gptr_why("filed1"), session = id)
  expect_identical(normalizePath(why$file), normalizePath(file))
  expect_identical(why$line, 5L)
  why <- in_frame(gptr_why("filed2"), session = id)
  expect_identical(why$line, 2L)
  why <- in_frame(gptr_why("message_end"), session = id)
  expect_identical(why$line[basename(why$file) %in% basename(file)], 6L)
})

test_that("at the console there is no file", {
  code <- quote(gptr_register(gptr_command("consoled", function(args, ctx) 1)))
  out <- callr::r(function(code) {
    library(gptr)
    options(keep.source = TRUE)
    eval(parse(text = deparse(code), keep.source = TRUE), globalenv())
    gptr_why("consoled")
  }, list(code))
  expect_identical(out$file, NA_character_)
  expect_identical(out$line, NA_integer_)
})
