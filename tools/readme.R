# Puts the output of README.md's R chunks into README.md, as `#>` lines: Rscript tools/readme.R
#
# Chunks that open with "```r" run one after another in one environment; those that open with "```r not run" need a key
# or a server and are only parsed. tests/testthat/test-readme.R holds README.md to what these functions give.

readme_open <- c(run = "```r", parsed = "```r not run")

# The chunks of `lines`: a list of list(kind = "run" or "parsed", at = numbers of the lines between the fences).
readme_chunks <- function(lines) {
  opens <- which(lines %in% readme_open)
  lapply(opens, function(open) {
    close <- open + which(lines[-seq_len(open)] == "```")[[1L]]
    list(kind = names(readme_open)[match(lines[[open]], readme_open)], at = seq_len(close - open - 1L) + open)
  })
}

readme_code <- function(lines) lines[!startsWith(lines, "#>")]

# The lines of one chunk with the output behind each expression. Messages and warnings are not output.
readme_run <- function(lines, envir) {
  code <- readme_code(lines)
  exprs <- parse(text = code, keep.source = TRUE)
  ends <- vapply(attr(exprs, "srcref"), function(ref) ref[[3L]], 0L)
  starts <- c(1L, ends[-length(ends)] + 1L)
  chunk <- lapply(seq_along(exprs), function(i) {
    output <- utils::capture.output({
      value <- withVisible(eval(exprs[[i]], envir))
      if (value$visible) print(value$value)
    })
    c(code[starts[[i]]:ends[[i]]], if (length(output)) trimws(paste("#>", output), "right"))
  })
  unlist(chunk)
}

# All of README.md with its chunks run.
readme_filled <- function(lines) {
  # As in a script with nobody at the keyboard, wherever this runs.
  old <- options(useFancyQuotes = FALSE, width = 100, gptr.verbose = 0, gptr.interactive = FALSE, gptr.model = NULL)
  on.exit(options(old))
  envir <- new.env(parent = globalenv())
  filled <- as.list(lines)
  for (chunk in readme_chunks(lines)) {
    if (chunk$kind == "parsed") {
      parse(text = readme_code(lines[chunk$at]))
    } else {
      filled[chunk$at] <- list(character())
      filled[[chunk$at[[1L]]]] <- readme_run(lines[chunk$at], envir)
    }
  }
  unlist(filled)
}

if (sys.nframe() == 0L) {
  library(gptr)
  writeLines(readme_filled(readLines("README.md", encoding = "UTF-8")), "README.md", useBytes = TRUE)
}
