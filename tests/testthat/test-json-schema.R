# JSON Schema by way of a registered tool and R values: what a schema accepts when the arguments come from R.

schema_of <- function(...) list(type = "object", properties = list(...))

# A member `peter$schema$probe` with these parameters for the rest of the calling test. It returns its arguments.
probe <- function(parameters, env = parent.frame(), ...) {
  registered(gptr_tool("probe", "Takes arguments", parameters = parameters, exposure = "r", namespace = "schema", execute = function(input, ctx) {
    gptr_tool_result("fine", value = list(input = input))
  }, ...), env = env)
}

# "" when the member takes the arguments, else what it says.
said <- function(...) {
  cond <- tryCatch({
    peter$schema$probe(...)
    NULL
  }, gptr_error = identity)
  if (is.null(cond)) "" else sub("^Invalid arguments for schema/probe: ", "", conditionMessage(cond))
}

# What the tool body gets when the model sends this JSON text.
from_model <- function(json, parameters, ...) {
  got <- NULL
  tool <- gptr_tool("probe", "d", parameters = parameters, execute = function(input, ctx) {
    got <<- input
    "ok"
  }, ...)
  session <- run(fake(call_of("probe", json), "end"), tools = tool)
  list(input = got, text = result_text(session), failed = result_failed(session))
}

empty_input <- function() structure(list(), names = character())

test_that("case 106: a missing property is named, and extras are kept by a schema that is open", {
  schema <- c(schema_of(code = list(type = "string")), list(required = "code", additionalProperties = TRUE))
  probe(schema)
  expect_identical(from_model("{\"n\":3}", schema)$text, "Invalid arguments for probe: missing required property 'code'.")
  expect_identical(from_model("{\"n\":3,\"code\":\"x\"}", schema)$input, list(n = 3L, code = "x"))
})

test_that("case 107: whole numbers become integers and scalars arrays, from R and from a model", {
  schema <- schema_of(timeout = list(type = "integer"), tags = list(type = "array", items = list(type = "string")))
  got <- from_model("{\"timeout\":30.0,\"tags\":\"a\"}", schema)
  expect_identical(got$input, list(timeout = 30L, tags = list("a")))
  probe(schema)
  expect_identical(said(timeout = 30, tags = "a"), "")
  expect_identical(said(timeout = 30L, tags = c("a", "b")), "")
  expect_identical(said(timeout = "30"), "'timeout' must be integer, not character of length 1.")
})

test_that("case 107: four wrong values are four errors", {
  probe(schema_of(code = list(type = "string"), n = list(type = "integer"), size = list(enum = c("small", "large")), ok = list(type = "boolean")))
  expect_identical(said(code = 1, n = 2.5, size = "medium", ok = "yes"), paste(
    "'code' must be string, not numeric of length 1.; 'n' must be integer, not numeric of length 1.;",
    "'size' must be one of \"small\", \"large\".; 'ok' must be boolean, not character of length 1."))
})

test_that("cases 108 and 109: paths name unknown and missing properties, items count from 1", {
  edit <- list(type = "object", required = I(c("old", "new")), properties = list(old = list(type = "string"), new = list(type = "string")),
    additionalProperties = FALSE)
  probe(schema_of(edits = list(type = "array", items = edit)))
  expect_identical(said(edits = list(list(old = "a"))), "missing required property 'edits[1].new'.")
  expect_identical(said(edits = list(list(old = "a", new = "b"), list(old = "a", new = "b", extra = 1))), "unknown property 'edits[2].extra'.")
  expect_identical(said(edits = data.frame(old = "a", new = "b")), "")
  expect_identical(said(edits = "x"), "'edits' must be array, not character of length 1.")
})

test_that("case 110: NULL counts as {} at the root only", {
  schema <- schema_of(a = list(type = "object"))
  off <- gptr_register(gptr_tool("probe", "d", parameters = schema, fun = function(a = NULL) "ok", exposure = "r", namespace = "schema"))
  expect_identical(said(), "")
  expect_identical(said(a = list()), "")
  # To an R function, NULL is no argument.
  expect_identical(said(a = NULL), "")
  off()
  probe(c(schema, list(required = "a")))
  expect_identical(said(a = NULL), "'a' must be object, not null.")
  for (json in c("", "null", "{}")) expect_identical(from_model(json, schema)$input, empty_input())
  expect_match(from_model("{\"a\":null}", schema)$text, "'a' must be object, not null.", fixed = TRUE)
})

test_that("case 111: the empty object and the empty array differ", {
  probe(schema_of(o = list(type = "object"), a = list(type = "array")))
  expect_identical(said(o = empty_input()), "")
  expect_identical(said(a = empty_input()), "'a' must be array, not list of length 0.")
  parameters <- schema_of(o = list(type = "object"), a = list(type = "array"))
  expect_identical(from_model("{\"o\":{},\"a\":[]}", parameters)$input, list(o = empty_input(), a = list()))
  expect_match(from_model("{\"o\":[]}", parameters)$text, "'o' must be object, not list of length 0.", fixed = TRUE)
  expect_match(from_model("{\"a\":{}}", parameters)$text, "'a' must be array, not list of length 0.", fixed = TRUE)
})

test_that("case 112: enums compare without changing types, and Inf is no number", {
  probe(schema_of(x = list(enum = list(1, NULL, list(a = 1, b = 2))), n = list(type = "number")))
  for (good in list(1L, 1, NULL, list(b = 2L, a = 1L))) expect_identical(said(x = good), "")
  for (bad in list("1", TRUE, Inf, NA_character_, list(1))) {
    # A missing value is null.
    expect_identical(nzchar(said(x = bad)), !identical(bad, NA_character_))
  }
  expect_identical(said(n = Inf), "'n' must be number, not numeric of length 1.")
  expect_identical(said(n = NaN), "'n' must be number, not numeric of length 1.")
})

test_that("an array of one is no scalar, strings are no numbers, digits beyond 2^53 are integers", {
  probe(schema_of(s = list(type = "string"), n = list(type = "number"), i = list(type = "integer")))
  expect_identical(said(s = list("a")), "'s' must be string, not list of length 1.")
  expect_identical(said(n = "1"), "'n' must be number, not character of length 1.")
  expect_identical(said(i = "9007199254740993"), "")
  got <- from_model("{\"i\":9007199254740993,\"n\":1e2}", schema_of(n = list(type = "number"), i = list(type = "integer")))
  expect_identical(got$input, list(i = "9007199254740993", n = 100))
})

test_that("arguments that a schema does not declare are named with those it does", {
  schema <- schema_of(a = list(type = "string"))
  expect_identical(from_model("{\"b\":1,\"c\":2}", schema)$text, "Invalid arguments for probe: unknown argument: b, c (accepted: a)")
  expect_identical(from_model("{\"b\":1}", list(type = "object"))$text, "Invalid arguments for probe: unknown argument: b (accepted: none)")
})

test_that("parameters may be a string of JSON, and mean the same as a list", {
  text <- "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"maxItems\":2}},\"required\":[\"x\"]}"
  as_list <- list(type = "object", properties = list(x = list(type = "array", items = list(type = "integer"), maxItems = 2)), required = "x")
  for (parameters in list(text, as_list)) {
    off <- gptr_register(gptr_tool("probe", "d", parameters = parameters, fun = function(x) x, exposure = "r", namespace = "schema"))
    expect_identical(peter$schema$probe(x = 1:2), 1:2)
    expect_match(said(x = 1:3), "'x'", fixed = TRUE)
    expect_identical(said(x = c(1, 2.5)), "'x[2]' must be integer, not numeric of length 1.")
    off()
  }
  for (bad in c("[1]", "{\"type\":", "", "{\"type\":\"object\",\"type\":\"object\"} x")) {
    expect_s3_class(caught(gptr_tool("p", "d", parameters = bad, fun = function() 1)), "gptr_error_invalid_spec")
  }
})

test_that("schemas that nothing could be checked against are refused when the spec is built", {
  of <- function(x) caught(gptr_tool("p", "d", parameters = schema_of(x = x), execute = function(input, ctx) "x"))
  bad <- list(list(`$ref` = "https://example.org/schema.json"), list(type = "string", pattern = "(?=a)b"), list(type = "string", pattern = "(a)\\1"),
    list(type = "text"), list(`$ref` = "#/nowhere"), list(minimum = "1"))
  for (x in bad) {
    cond <- of(x)
    expect_s3_class(cond, "gptr_error_invalid_spec")
    expect_identical(cond$field, "parameters")
  }
  loop <- list(type = "object", properties = list(x = list(`$ref` = "#/$defs/a")), `$defs` = list(a = list(`$ref` = "#/$defs/a")))
  expect_match(conditionMessage(caught(gptr_tool("p", "d", parameters = loop, execute = function(input, ctx) "x"))), "leads back to itself")
})

test_that("a pattern that others would never end on is decided at once, and recursion that doubles is refused", {
  probe(schema_of(s = list(type = "string", pattern = "^(a+)+$")))
  expect_match(said(s = paste0(strrep("a", 4000), "!")), "'s'", fixed = TRUE)
  branch <- function(extra) list(properties = list(x = list(`$ref` = "#/$defs/a")), required = I(extra))
  parameters <- list(type = "object", properties = list(top = list(`$ref` = "#/$defs/a")), `$defs` = list(a = list(anyOf = list(branch("p"), branch("q")))))
  nested <- Reduce(function(inner, i) list(x = inner, q = 1L), 1:80, list(q = 1L))
  expect_identical(from_model(gptr:::value_to_json(list(top = nested)), parameters)$text,
    "Invalid arguments for probe: the input is too much work to check against the schema.")
  expect_false(from_model(gptr:::value_to_json(list(top = nested$x)), schema_of(top = list()))$failed)
})

test_that("a plain function gets atomic vectors for arrays of scalars, execute gets lists", {
  got <- NULL
  items <- function(...) list(type = "array", items = list(...))
  schema <- schema_of(n = items(type = "number"), s = items(type = "string"), b = items(type = "boolean"), i = items(type = c("integer", "null")),
    e = items(enum = c("u", "v")), free = list(type = "array"), mixed = items(type = c("string", "number")), deep = items(type = "array", items = list(type = "number")))
  json <- paste0("{\"n\":[1,2.5,3],\"s\":[\"a\"],\"b\":[true,false],\"i\":[1,null],\"e\":[\"u\"],\"free\":[1,2],\"mixed\":[\"a\",1],\"deep\":[[1,2]]}")
  tool <- gptr_tool("probe", "d", parameters = schema, fun = function(n, s, b, i, e, free, mixed, deep) got <<- list(n, s, b, i, e, free, mixed, deep))
  run(fake(call_of("probe", json), "end"), tools = tool)
  expect_identical(got, list(c(1, 2.5, 3), "a", c(TRUE, FALSE), c(1L, NA), "u", list(1L, 2L), list("a", 1L), list(list(1L, 2L))))
  expect_identical(from_model(json, schema)$input[c("n", "s")], list(n = list(1L, 2.5, 3L), s = list("a")))
  mean_tool <- gptr_tool("avg", "d", parameters = c(schema_of(x = items(type = "number")), list(required = "x")), fun = function(x) mean(x))
  expect_identical(result_text(run(fake(call_of("avg", "{\"x\":[1,2,6]}"), "end"), tools = mean_tool)), "[1] 3")
  expect_identical(result_text(run(fake(call_of("avg", "{\"x\":[]}"), "end"), tools = mean_tool)), "[1] NaN")
  expect_identical(result_text(run(fake(call_of("avg", "{\"x\":4}"), "end"), tools = mean_tool)), "[1] 4")
})

# ---- the official suite -------------------------------------------------------------------------------------------------

suite_folder <- function() {
  folder <- testthat::test_path("../../../shared/fixtures/json-schema/tests")
  skip_if_not(dir.exists(folder), "no ../shared/fixtures/json-schema beside the repository")
  folder
}

uses <- function(schema, keywords) is.list(schema) && (any(keywords %in% names(schema)) || any(vapply(schema, uses, NA, keywords)))

# Why R values are accepted or refused where JSON is not, by intent; "" when there is no reason.
r_differs <- function(schema, data, accepted) {
  text <- gptr:::value_to_json(schema)
  if (accepted && grepl("\"array\"", text) && length(unlist(data))) return("a scalar is an array of one")
  if (identical(data, list()) && grepl("\"properties\"|\"object\"", text)) return("an empty list is an empty object where one may be meant")
  ""
}

test_that("the official suite holds for R values: differences are those that R makes", {
  folder <- suite_folder()
  files <- list.files(file.path(folder, "draft2020-12"), "\\.json$", full.names = TRUE)
  # References and vocabularies concern whole documents; here each schema is that of one property.
  files <- files[!basename(files) %in% c("format.json", "vocabulary.json", "content.json")]
  agree <- 0L
  differ <- character()
  for (file in files) {
    for (group in gptr:::value_from_json(paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n"))) {
      schema <- group$schema
      if (is.list(schema)) schema[["$schema"]] <- NULL
      if (uses(schema, c("$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor"))) next
      # With a description it is not taken for one derived from formals.
      parameters <- gptr:::value_to_json(list(type = "object", description = "d", properties = list(data = schema), required = list("data")))
      off <- gptr_register(gptr_tool("probe", "d", parameters = parameters, fun = function(data) data, exposure = "r", namespace = "schema"))
      for (test in group$tests) {
        valid <- identical(said(data = test[["data"]]), "")
        if (identical(valid, test$valid)) {
          agree <- agree + 1L
        } else if (!nzchar(r_differs(schema, test[["data"]], valid))) {
          differ <- c(differ, paste(basename(file), group$description, test$description, sep = " | "))
        }
      }
      off()
    }
  }
  expect_identical(differ, character())
  expect_gt(agree, 700L)
})
