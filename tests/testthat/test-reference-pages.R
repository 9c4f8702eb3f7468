# The first table of a help page as a list of character vectors, a row each.
page_rows <- function(topic) {
  page <- tools::Rd_db("gptr")[[paste0(topic, ".Rd")]]
  skip_if(is.null(page), paste0("the help page ", topic, " is not installed"))
  rows_of(find_tag(page, "\\tabular")[[1L]][[2L]])
}

find_tag <- function(rd, tag) {
  if (identical(attr(rd, "Rd_tag"), tag)) return(list(rd))
  if (is.list(rd)) do.call(c, lapply(rd, find_tag, tag = tag)) else list()
}

rows_of <- function(cells) {
  tags <- vapply(cells, attr, "", which = "Rd_tag")
  row <- cumsum(c(0L, utils::head(tags == "\\cr", -1L)))
  rows <- lapply(split(seq_along(cells), row), function(at) {
    column <- cumsum(tags[at] == "\\tab")
    text <- tapply(at[tags[at] != "\\tab"], column[tags[at] != "\\tab"], function(i) {
      trimws(paste(unlist(cells[i]), collapse = ""))
    })
    unname(as.vector(text))
  })
  unname(rows[lengths(rows) > 1L])[-1L]
}

field <- function(rows, name) vapply(rows, function(row) row[[name]], rows[[1L]][[name]])

test_that("?gptr_kinds says of every kind what the engine's table says", {
  shown <- page_rows("gptr_kinds")
  kinds <- kind_rows()
  expect_length(kinds, 38L)
  expect_identical(vapply(shown, `[[`, "", 1L), field(kinds, "name"))
  expect_identical(vapply(shown, `[[`, "", 2L), ifelse(field(kinds, "consumed"), "yes", "no"))
  expect_identical(vapply(shown, `[[`, "", 3L), ifelse(field(kinds, "all"), "all count", "one wins"))
})

test_that("?gptr_events says of every event what the catalogue says", {
  shown <- page_rows("gptr_events")
  events <- event_rows()
  expect_identical(vapply(shown, `[[`, "", 1L), field(events, "name"))
  expect_identical(vapply(shown, `[[`, "", 2L), ifelse(field(events, "emitted"), "yes", "no"))
  expect_identical(grepl("a failure refuses", vapply(shown, `[[`, "", 3L)), field(events, "fail_closed"))
})

# Every event that a run can set off, with its payload's names.
seen_events <- function() {
  seen <- new.env()
  offs <- lapply(field(event_rows(), "name"), function(name) {
    gptr_register(gptr_hook(name, function(event, ctx) {
      assign(name, names(event), envir = seen)
      NULL
    }))
  })
  on.exit(for (off in offs) off())
  session <- NULL
  steered <- FALSE
  offs <- c(offs, gptr_register(gptr_hook("turn_start", function(event, ctx) {
    if (!steered) {
      steered <<- TRUE
      peter(session, "One more thing.")
    }
  })))
  other <- gptr_register(gptr_fake_provider(list("child", r_call("1 + 1"), r_call("x <- 1"), "done"),
    name = "other"))
  busy <- gptr_tool("busy", "Do much", parameters = list(type = "object"), annotations = list(read_only = TRUE),
    execute = function(input, ctx) {
      ctx$update("half way")
      ctx$set_model("other/other-1")
      peter("go", model = "other/other-1")
      "done"
    })
  offs <- c(offs, other, gptr_register(busy))
  fake <- gptr_fake_provider(list(
    list(error = "overloaded", status = 529, retry_after = 0),
    list(tool = "busy", input = list())
  ))
  session <- peter("go", model = fake, envir = new.env(), mode = "manual", .run = FALSE)
  tryCatch(gptr_step(session, turns = Inf), gptr_error_permission = function(e) NULL)
  # A call that starts a session of its own, again and again until the budget is used up.
  nested <- gptr_tool("t", "d", parameters = list(type = "object"), execute = function(input, ctx) {
    peter("inner", model = gptr_fake_provider(list("hi")))$text
  })
  calls <- gptr_fake_provider(list(list(tool = "t", input = list())))
  tryCatch(peter("go", model = calls, tools = nested, mode = "auto", budget = list(turns = 5)),
    gptr_error_budget = function(e) NULL)
  as.list(seen)
}

test_that("the events that are said to be emitted are those that a run emits, with the fields that are said", {
  events <- event_rows()
  seen <- seen_events()
  expect_setequal(names(seen), field(events, "name")[field(events, "emitted")])
  for (event in events[field(events, "emitted")]) {
    expect_length(setdiff(unlist(event$payload), seen[[event$name]]), 0L)
  }
})

# Something that raises each class of ?gptr_conditions that needs no network and no fault of gptr's own.
raised <- list(
  gptr_error_invalid_argument = quote(gptr_register(1)),
  gptr_error_invalid_identifier = quote(peter("x", model = mtcars)),
  gptr_error_invalid_spec = quote(gptr_tool("x", "X")),
  gptr_error_unknown_kind = quote(gptr_spec("widget", "x")),
  gptr_error_unknown_member = quote(peter$nothing),
  gptr_error_readonly = quote(peter$x <- 1),
  gptr_error_conformance = quote(gptr_check(function(gptr) stop("no"), error = TRUE)),
  gptr_error_not_available = quote(peter("x", agents = "a")),
  gptr_error_unknown_model = quote(peter("x", model = "no/where")),
  gptr_error_noninteractive = quote(peter()),
  gptr_error_extension = quote(peter("x", model = says("a"), extensions = function(gptr) stop("no"))),
  gptr_error_api_version = quote(
    stop(catch(peter("x", model = says("a"), extensions = function(gptr) gptr$require(">= 2")))$parent)
  ),
  gptr_error_stale_api = quote({
    api <- NULL
    peter("x", model = says("a"), extensions = function(gptr) api <<- gptr)
    gptr_reload()
    api$has("kind.tool")
  }),
  gptr_error_permission = quote(peter("x", model = says(list(tool = "r", input = list(code = "y <- 1"))))),
  gptr_error_max_turns = quote(
    peter("x", model = says(list(tool = "r", input = list(code = "1"))), .opts = list(max_turns = 1))
  ),
  gptr_error_budget_tokens = quote(peter("x", model = says("a"), budget = list(tokens = 1))),
  gptr_error_provider = quote(peter("x", model = fails(400))),
  gptr_error_auth = quote(peter("x", model = fails(401))),
  gptr_error_rate_limit = quote(peter("x", model = fails(429))),
  gptr_error_overloaded = quote(peter("x", model = fails(529))),
  gptr_error_context_overflow = quote(peter("x", model = says(list(overflow = TRUE))))
)

says <- function(reply) gptr_fake_provider(list(reply))

fails <- function(status) says(list(error = "no", status = status))

catch <- function(code) tryCatch(code, error = function(e) e)

test_that("conditions have the classes and fields of ?gptr_conditions", {
  page <- tools::Rd_db("gptr")[["gptr_conditions.Rd"]]
  skip_if(is.null(page), "the help page is not installed")
  rows <- do.call(c, lapply(find_tag(page, "\\tabular"), function(table) rows_of(table[[2L]])))
  rows <- rows[lengths(rows) >= 4L]
  names(rows) <- vapply(rows, `[[`, "", 1L)
  withr::local_options(gptr.max_attempts = 1L, gptr.interactive = FALSE)
  expect_identical(setdiff(names(raised), names(rows)), character())
  for (class in names(raised)) {
    e <- catch(eval(raised[[class]], list(says = says, fails = fails, catch = catch)))
    row <- rows[[class]]
    fields <- setdiff(strsplit(gsub("[()]|below", "", row[[3L]]), ",[[:space:]]*")[[1L]], "")
    expect_identical(class(e)[[1L]], class)
    expect_s3_class(e, "gptr_error")
    if (nzchar(row[[2L]])) expect_s3_class(e, row[[2L]])
    expect_identical(setdiff(fields, names(e)), character(), label = class)
  }
})
