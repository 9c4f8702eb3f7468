# What the session of another locale prints, as lines, and its warnings.
in_locale <- function(locale) {
  callr::r(function() {
    library(gptr)
    warnings <- character()
    lines <- withCallingHandlers(
      {
        gptr_register(gptr_command("caf\u00e9_\u65e5\u672c", function(args, ctx) 1, "r\u00e9sum\u00e9"))
        gptr_register(gptr_tool("plain", "Z\u00e4hlt \u2026", fun = function(a) a))
        shown <- list(gptr_registry(), gptr_why("plain"), gptr_registry(diagnostics = TRUE), gptr_check("gptr"))
        unlist(lapply(shown, function(x) utils::capture.output(print(x))))
      },
      warning = function(w) {
        warnings <<- c(warnings, conditionMessage(w))
        invokeRestart("muffleWarning")
      }
    )
    list(lines = enc2utf8(lines), warnings = warnings)
  }, env = c(LC_ALL = locale, LANG = locale))
}

test_that("the listing prints without a warning in a UTF-8 and in a C locale", {
  skip_on_cran()
  out <- in_locale("C")
  expect_identical(out$warnings, character())
  expect_match(out$lines[[1L]], "^<gptr_registry> [0-9]+ record\\(s\\)$")
  expect_true(any(grepl("plain", out$lines)))
  skip_if_not("C.utf8" %in% tolower(system("locale -a", intern = TRUE)) || l10n_info()[["UTF-8"]])
  out <- in_locale("C.UTF-8")
  expect_identical(out$warnings, character())
  expect_true(any(grepl("caf\u00e9_\u65e5\u672c", out$lines)))
})
