test_that("a model given by reference is no mode", {
  off <- gptr_register(gptr_fake_provider(list("hello"), name = "by-reference"))
  on.exit(off())
  reference <- gptr_models(provider = "by-reference")$ref[[1L]]
  session <- peter("Say hello.", model = reference)
  expect_identical(session$text, "hello")
  expect_identical(session$mode, "manual")
})
