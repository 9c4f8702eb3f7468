# README.md is not where an installed package's tests run; in a checkout it is two folders up.
readme_root <- function() {
  root <- normalizePath(test_path("..", ".."), mustWork = FALSE)
  skip_if_not(all(file.exists(file.path(root, c("README.md", "tools/readme.R")))), "no README.md: not a checkout")
  root
}

# What differs from run to run: ids of sessions, counts of tokens (the directory is part of the prompt), times, the
# separator of the footer.
unvarying <- function(lines) {
  lines <- gsub("\\bs[0-9a-f]{10}\\b", "<id>", lines)
  lines <- gsub("[0-9.]+k tokens", "<n> tokens", lines)
  lines <- gsub("median [0-9.]+ ms", "median <t> ms", lines)
  gsub(" (\u00b7|[.]) ", " . ", lines)
}

test_that("the R chunks of README.md run and give the output that it shows", {
  root <- readme_root()
  lines <- readLines(file.path(root, "README.md"), encoding = "UTF-8")
  tools <- new.env()
  sys.source(file.path(root, "tools", "readme.R"), envir = tools)
  expect_gt(length(tools$readme_chunks(lines)), 3L)
  expect_identical(unvarying(tools$readme_filled(lines)), unvarying(lines))
})

test_that("every function of gptr that README.md names is exported", {
  lines <- readLines(file.path(readme_root(), "README.md"), encoding = "UTF-8")
  named <- unique(unlist(regmatches(lines, gregexpr("\\bgptr_[a-z_]+(?=\\()", lines, perl = TRUE))))
  absent <- "gptr_config" # named among what is not there yet
  expect_identical(setdiff(named, c(getNamespaceExports("gptr"), absent)), character())
  expect_false(absent %in% getNamespaceExports("gptr"))
})
