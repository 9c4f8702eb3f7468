printed <- function(x) sub("[ ]+$", "", utils::capture.output(print(x)))

registry <- function(...) {
  structure(data.frame(..., stringsAsFactors = FALSE), class = c("gptr_registry", "data.frame"))
}

test_that("the API prints one line", {
  api <- structure(list(version = package_version("1.0"), features = as.character(1:93)), class = "gptr_api")
  expect_identical(printed(api), "<gptr_api 1.0> 93 features")
})

test_that("a registry prints its count and rows, also after subsetting", {
  reg <- registry(
    kind = c("prompt_section", "context_block", "command", "tool"),
    name = c("house_rules", "lab_notebook", "rows", "add"), source = "user", rank = 3L
  )
  part <- reg[reg$kind != "tool", c("kind", "name", "source")]
  expect_identical(class(part), c("gptr_registry", "data.frame"))
  expect_identical(printed(part), c(
    "<gptr_registry> 3 record(s)",
    "           kind         name source",
    " prompt_section  house_rules   user",
    "  context_block lab_notebook   user",
    "        command         rows   user"
  ))
  expect_identical(printed(reg[0, ]), "<gptr_registry> 0 record(s)")
})

test_that("diagnostics print their count", {
  rows <- structure(data.frame(source = "user", class = "collision"), class = c("gptr_diagnostics", "data.frame"))
  expect_identical(printed(rows)[1], "<gptr_diagnostics> 1 row(s)")
  expect_length(printed(rows), 3L)
})

test_that("a check prints a line a row, with the message where there is one", {
  check <- structure(
    data.frame(target = "command:hello", check = c("spec.class", "spec.fields"), ok = c(TRUE, FALSE),
               message = c("", "field 'handler' must be a function accepting (args, ctx)")),
    class = c("gptr_check", "data.frame")
  )
  expect_identical(printed(check), c(
    "<gptr_check> 2 check(s), 1 failed",
    "  ok    command:hello  spec.class",
    "  FAIL  command:hello  spec.fields: field 'handler' must be a function accepting (args, ctx)"
  ))
  expect_identical(printed(check[0, ]), "<gptr_check> 0 check(s), 0 failed")
  expect_false(withVisible(print(check))$visible)
})

test_that("a listing prints at most 20 rows, then how many are left, then its footer", {
  rows <- structure(data.frame(name = sprintf("n%02d", 1:23)), footer = "total 23",
                    class = c("gptr_things", "gptr_listing", "data.frame"))
  lines <- printed(rows)
  expect_identical(lines[21:23], c("  n20", "(+ 3 more rows)", "total 23"))
  expect_identical(printed(rows[1:20, , drop = FALSE])[21], "  n20")
  expect_identical(printed(rows[0, , drop = FALSE]), "(no rows)")
})

test_that("models print their sizes as counts", {
  rows <- structure(data.frame(ref = c("a/b", "a/c"), context = c(200000, NA)),
                    class = c("gptr_models", "gptr_listing", "data.frame"))
  expect_identical(printed(rows), c(" ref context", " a/b  200.0k", " a/c unknown"))
})

test_that("counts and costs have their short forms", {
  expect_identical(short_count(c(0, 950, 999.6, 1200, 999949, 999950, 3.4e6, NA)),
                   c("0", "950", "1.0k", "1.2k", "999.9k", "1.0M", "3.4M", "unknown"))
  expect_identical(format_cost(c(0.01234, NA)), c("$0.0123", "unknown cost"))
})

test_that("a prompt view prints its parts with their sizes", {
  view <- structure(
    list(system = list(t0 = "Zero.", t1 = "One."), tools_json = "[]", first_message = "Hello.",
         sections = data.frame(name = c("a", "b"), tier = c("T0", "T1"), tokens = c(1200, 5)), total_tokens = 1205),
    preset = "minimal", tool_names = c("read", "r"), class = "gptr_prompt_view"
  )
  expect_identical(printed(view), c(
    "gptr prompt, preset minimal (1,205 tokens)", "-- system block T0 (1,200 tokens) --", "Zero.",
    "-- system block T1 (5 tokens) --", "One.", "-- tool array: read, r --", "-- first user message --", "Hello.",
    "-- sections --", " name tier tokens", "    a   T0   1200", "    b   T1      5"
  ))
  view$sections$tokens <- NA_real_
  view$total_tokens <- NA_real_
  attr(view, "tool_names") <- character()
  expect_identical(printed(view)[c(1, 2, 6)], c("gptr prompt, preset minimal", "-- system block T0 --",
                                                "-- tool array: (none) --"))
})

test_that("lines print within the budget and say what is left out", {
  old <- options(gptr.helper_output_tokens = 20L)
  on.exit(options(old))
  text <- structure(rep("ten chars.", 10), class = "gptr_text")
  expect_identical(printed(text), c(rep("ten chars.", 3), "[7 more line(s) not printed: subset the value to see them]"))
  expect_identical(printed(text[1:2]), rep("ten chars.", 2))
  lines <- structure(c("a", "b"), class = "gptr_lines", offset = 11L, total = 40L, truncated = TRUE)
  expect_identical(printed(lines), c("a", "b", "[Lines 11-12 of 40, offset=13 to go on]"))
  expect_identical(printed(lines[2]), "b")
  long <- printed(structure(strrep("x", 1000), class = "gptr_text"))
  expect_match(long[1], "^x{42}[.]{3}$")
})
