# What a call may use, and what was used.

test_that("case_28: a budget of tokens counts the request to come", {
  model <- fake("hi")
  cond <- caught(peter("x", model = model, budget = list(tokens = 500)))
  expect_identical(class(cond)[1:2], c("gptr_error_budget_tokens", "gptr_error_budget"))
  expect_identical(cond$kind, "tokens")
  expect_identical(cond$budget, 500)
  expect_gt(cond$used, 500)
  expect_identical(model$log$n, 0L)
  expect_identical(cond$session$status, "budget")
  # The session can go on with more to use.
  expect_identical(peter(cond$session, "again", budget = list(tokens = NULL))$text, "hi")
})

test_that("a budget of model requests ends a run that goes on, and is near before", {
  model <- fake(r_call("1"))
  s <- peter("x", model = model, mode = "auto", budget = list(turns = 5), .run = FALSE)
  heard <- list()
  for (event in c("budget_near", "budget_exceeded", "agent_end")) {
    gptr_on(s, event, function(event, ctx) heard[[length(heard) + 1L]] <<- event)
  }
  cond <- caught(gptr_wait(s))
  expect_s3_class(cond, "gptr_error_budget_turns")
  expect_identical(model$log$n, 5L)
  expect_identical(vapply(heard, function(e) e$type, ""), c("budget_near", "budget_exceeded", "agent_end"))
  expect_equal(heard[[1]][c("kind", "budget", "used")], list(kind = "turns", budget = 5, used = 4))
  expect_identical(heard[[3]]$status, "budget")
  expect_balanced(s)
})

test_that("what children use counts for the call around them", {
  inner <- fake(r_call("1"))
  tool <- gptr_tool("t", "d", parameters = list(type = "object"), execute = function(input, ctx) {
    tryCatch(peter("inner", model = inner, mode = "auto"), error = function(e) conditionMessage(e))
    "x"
  })
  cond <- caught(peter("x", model = fake(call_of("t"), "end"), tools = tool, mode = "auto", budget = list(turns = 4)))
  expect_s3_class(cond, "gptr_error_budget_turns")
  expect_identical(inner$log$n, 3L)
})

test_that("a model that costs nothing keeps within a budget of no money", {
  s <- peter("x", model = fake(r_call("1"), "hi"), mode = "auto", budget = list(cost = 0))
  expect_identical(s$text, "hi")
})

test_that("a wrong budget is refused", {
  for (wrong in list(5, list(5), list(days = 1), list(tokens = -1), list(tokens = "many"), list(tokens = 1, tokens = 2))) {
    cond <- caught(peter("x", model = fake("hi"), budget = wrong))
    expect_identical(cond$arg, "budget")
  }
})

test_that("usage is summed by session, agent, model and route", {
  one <- peter("x", model = fake("hi"))
  two <- peter("y", model = fake("hi")) |> peter("z")
  by_session <- gptr_usage(list(one, two))
  expect_s3_class(by_session, c("gptr_usage", "gptr_listing", "data.frame"), exact = TRUE)
  expect_named(by_session, c("group", "requests", "input", "output", "cache_read", "cache_write", "cost"))
  expect_identical(by_session$group, c(one$id, two$id))
  expect_identical(by_session$requests, c(1L, 2L))
  expect_identical(by_session$input, c(sum(one$usage$input), sum(two$usage$input)))
  expect_identical(attr(by_session, "totals")$requests, 3L)
  by_model <- gptr_usage(list(one, two), by = "model")
  expect_identical(by_model$group, "fake/fake-1")
  expect_output(print(by_model), "total  3 requests  ")
  expect_identical(nrow(gptr_usage(one, detail = TRUE)), 1L)
  expect_s3_class(gptr_usage(detail = TRUE), "gptr_ledger")
  expect_true(all(one$usage$request_id %in% gptr_usage(detail = TRUE)$request_id))
  empty <- gptr_usage(list())
  expect_identical(dim(empty), c(0L, 7L))
  expect_identical(attr(empty, "totals")$requests, 0L)
  expect_error(gptr_usage("x"), class = "gptr_error_invalid_argument")
  expect_error(gptr_usage(one, by = "day"), class = "gptr_error_invalid_argument")
})

test_that("a list is fanned out: a child an element", {
  echo <- gptr_fake_provider(function(request) request$last_user)
  data <- list(a = 1:3, b = letters)
  many <- peter("Describe it", data, model = echo, parallel = 2)
  expect_identical(many$kind, "fanout")
  expect_identical(names(many$children), c("a", "b"))
  expect_identical(names(many$text), c("a", "b"))
  first <- texts_of(many$a$messages[[1]])
  expect_match(first, "data$a", fixed = TRUE)
  expect_no_match(first, "data$b", fixed = TRUE)
  columns <- peter("Describe it", mtcars[1:3], model = echo, parallel = 8)
  expect_identical(names(columns$children), names(mtcars)[1:3])
  unnamed <- peter("Describe it", list(1, 2), model = echo, parallel = 1)
  expect_identical(names(unnamed$children), c("..1", "..2"))
  waiting <- peter("Describe it", data, model = echo, parallel = 2, .run = FALSE)
  expect_identical(waiting$status, "idle")
  gptr_wait(waiting)
  expect_identical(waiting$turns, 1L)
  for (wrong in list(quote(peter("x", 1:3, model = echo, parallel = 2)), quote(peter("x", list(1), list(2), model = echo, parallel = 2)),
    quote(peter("x", list(1), model = echo, parallel = 0)))) {
    expect_identical(caught(eval(wrong))$arg, "parallel")
  }
})
