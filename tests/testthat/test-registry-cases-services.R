test_that("a service that nobody offers is not available, and says who would bring it", {
  cond <- caught_error(find_service("no.such"))
  expect_s3_class(cond, "gptr_error_not_available")
  expect_identical(cond$member, "no.such")
  expect_null(cond$provided_by)
  cond <- caught_error(gptr_agent("saved"))
  expect_identical(unclass(cond)[c("member", "provided_by")], list(member = "agent_def.get", provided_by = "skills"))
})

test_that("a record replaces the function of a built-in, and gives it back", {
  declare_service("test.service", function() "bootstrap")
  expect_identical(find_service("test.service")(), "bootstrap")
  off <- gptr_register(gptr_spec("service", "test.service", fun = function() "record"))
  expect_identical(find_service("test.service")(), "record")
  session <- peter("go", model = fake("x"), .run = FALSE)
  add_session_record(session, gptr_spec("service", "test.service", fun = function() "session"))
  expect_identical(find_service("test.service", session_data(session)$id)(), "session")
  off()
  expect_identical(find_service("test.service")(), "bootstrap")
})

test_that("a saved agent comes from the service for it", {
  registered(gptr_spec("service", "agent_def.get", fun = function(name, file = NULL) {
    gptr_agent(name %||% "from file", description = file %||% "saved")
  }))
  expect_identical(gptr_agent("rev")$description, "saved")
  expect_identical(gptr_agent(file = "a.md")$description, "a.md")
  expect_identical(gptr_agent("rev", file = "a.md")[c("name", "description")], list(name = "rev", description = "a.md"))
})

test_that("a member of ctx that is absent comes from a service", {
  ctx <- new_ctx()
  cond <- caught_error(ctx$secret("x"))
  expect_s3_class(cond, "gptr_error_not_available")
  expect_identical(cond$member, "ctx$secret()")
  registered(gptr_spec("service", "ctx.secret", fun = function(ctx, name) paste("secret", name)))
  expect_identical(ctx$secret("x"), "secret x")
  expect_error(ctx$nope, class = "gptr_error_unknown_member")
})

test_that("registering what nothing reads says so once a kind", {
  store <- function(name) gptr_spec("store", name, open = identity, append = identity, read = identity, fork = identity)
  if (!is.null(the$unconsumed$store)) rm("store", envir = the$unconsumed)
  said <- NULL
  withCallingHandlers({
    registered(store("one"))
    registered(store("two"))
  }, gptr_message_unconsumed = function(m) {
    said <<- c(said, m$kind)
    invokeRestart("muffleMessage")
  })
  expect_identical(said, "store")
  expect_silent(gptr_register(gptr_prompt_section("quiet", "text"))())
})
