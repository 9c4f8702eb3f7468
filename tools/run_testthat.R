# Runs tests/testthat against the installed package; the last line is "N passed, N failed".
# Here the tests that install packages or start further R processes run, too.
Sys.setenv(NOT_CRAN = "true")
results <- testthat::test_dir(
  "tests/testthat", package = "gptr", load_package = "installed",
  reporter = testthat::CheckReporter$new(), stop_on_failure = FALSE
)
counts <- as.data.frame(results)
failed <- sum(counts$failed) + sum(counts$error)
cat(sprintf("%d passed, %d failed, %d skipped\n", sum(counts$passed), failed, sum(counts$skipped)))
quit(status = as.integer(failed > 0))
