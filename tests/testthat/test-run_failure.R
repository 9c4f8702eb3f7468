test_that("a run that failed raises its condition with the session, and the session goes on", {
  fake <- gptr_fake_provider(list(list(error = "bad key", status = 401), "better"))
  failure <- tryCatch(peter("Say hello.", model = fake), gptr_error_provider = function(e) e)
  expect_s3_class(failure, "gptr_error_auth")
  expect_s3_class(failure$session, "gptr_session")
  expect_identical(failure$session$status, "error")
  expect_identical(peter(failure$session, "Again.")$text, "better")
})

test_that("a run that needs too many requests ends with gptr_error_max_turns", {
  tick <- gptr_tool("tick", "Tick", parameters = list(type = "object"), exposure = "direct",
    execute = function(input, ctx) "ticked")
  fake <- gptr_fake_provider(list(list(tool = "tick", input = list())))
  failure <- tryCatch(
    peter("Tick.", model = fake, mode = "auto", tools = list(tick), .opts = list(max_turns = 3)),
    gptr_error_max_turns = function(e) e
  )
  expect_s3_class(failure, "gptr_error_max_turns")
  expect_identical(failure$max_turns, 3L)
  expect_s3_class(failure$session, "gptr_session")
})
