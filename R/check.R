#' Check a spec or an extension before using it
#'
#' Runs conformance checks in a scratch registry; nothing of it stays. Closures of the spec may be called: a tool's
#' function with empty input when its schema allows that, a policy with 40 synthetic calls, a factory once.
#'
#' @param x A spec; an extension factory, `function(gptr)`; or the path of an extension file.
#' @param error `TRUE` raises an error when a check fails.
#' @param tokens `TRUE` adds rows with what a declaration costs in tokens.
#' @return A data frame of class `gptr_check`, a row a check: `target` (`"<kind>:<name>"` or `"factory"`), `check`, `ok`
#'   (logical), `message`.
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `x`); with `error = TRUE` `gptr_error_conformance`
#'   (field `results`, the data frame).
#' @seealso `vignette("extending-gptr")`.
#' @examples
#' gptr_check(gptr_tool("add", "Add two numbers", fun = function(a, b) a + b, exposure = "r", namespace = "demo"))
#' gptr_check(function(gptr) gptr$on("message_end", function(event, ctx) NULL))
#' @export
gptr_check <- function(x, error = FALSE, tokens = FALSE) {
  check_flag(error, "error")
  check_flag(tokens, "tokens")
  ready()
  rows <- check_rows(x, tokens)
  rows <- rows_frame(rows, list(target = "", check = "", ok = TRUE, message = ""))
  class(rows) <- c("gptr_check", "data.frame")
  failed <- rows$check[!rows$ok]
  if (error && length(failed)) {
    gptr_abort("conformance", paste0(length(failed), " check(s) failed: ", paste(unique(failed), collapse = ", "), "."),
      results = rows)
  }
  rows
}

check_rows <- function(x, tokens) {
  if (is.list(x) && !is.data.frame(x)) return(spec_rows(x, tokens))
  if (is.function(x)) return(factory_rows(x, tokens))
  if (is.character(x) && length(x) == 1L && !is.na(x) && (file.exists(x) || grepl("[.][Rr]$", x))) {
    return(file_rows(x, tokens))
  }
  expected <- "a spec, a factory function(gptr) or the path of an extension file"
  gptr_abort("invalid_argument", paste0("`x` must be ", expected, ", not ", describe_argument(x), "."),
    arg = "x", expected = expected)
}

# The rows of one spec. `load` is the number of a scratch load that the spec belongs to.
spec_rows <- function(spec, tokens, load = NULL) {
  the$checks <- (the$checks %||% 0L) + 1L
  id <- paste0("check", the$checks)
  assign(id, spec, envir = the$specs)
  on.exit(rm(list = id, envir = the$specs))
  perform(engine(.Call(wrap__task_check, for_engine(spec), id, tokens, load)))
}

file_rows <- function(path, tokens) {
  factory <- tryCatch(factory_in_file(path), error = function(e) e)
  if (is.function(factory)) return(factory_rows(factory, tokens))
  list(check_row("factory", "factory.load", FALSE, one_message(factory)))
}

factory_rows <- function(factory, tokens) {
  specs <- new.env(parent = emptyenv())
  origin <- list(source = "plugin:gptr-check", rank = 5L, extension = "plugin:gptr-check")
  before <- surroundings()
  failure <- load_factory(factory, origin, specs, registry = "scratch")
  changed <- restore_surroundings(before)
  loaded <- is.null(failure)
  records <- mget(sort_records(names(specs)), envir = specs)
  rows <- list(
    check_row("factory", "factory.load", loaded, if (loaded) "" else one_message(failure)),
    check_row("factory", "factory.registers", length(records) > 0L, paste(length(records), "record(s)")),
    check_row("factory", "factory.no_action", !length(changed), paste(changed, collapse = ", "))
  )
  c(rows, unlist(lapply(records, spec_rows, tokens = tokens), recursive = FALSE, use.names = FALSE))
}

sort_records <- function(ids) ids[order(as.integer(sub("^r", "", ids)))]

check_row <- function(target, check, ok, message) list(target = target, check = check, ok = ok, message = message)

# What a factory must leave alone.
surroundings <- function() {
  list(
    wd = getwd(), search = search(), env = Sys.getenv(), options = options(),
    seed = get0(".Random.seed", envir = globalenv(), inherits = FALSE)
  )
}

# Puts back what changed, and names it.
restore_surroundings <- function(before) {
  now <- surroundings()
  changed <- names(before)[!mapply(identical, before, now[names(before)])]
  if ("wd" %in% changed) setwd(before$wd)
  if ("search" %in% changed) {
    for (name in setdiff(now$search, before$search)) detach(name, character.only = TRUE)
  }
  if ("env" %in% changed) restore_environment(before$env, now$env)
  if ("options" %in% changed) {
    added <- setdiff(names(now$options), names(before$options))
    options(c(before$options, stats::setNames(vector("list", length(added)), added)))
  }
  if ("seed" %in% changed) restore_seed(before$seed)
  changed
}

restore_environment <- function(before, now) {
  added <- setdiff(names(now), names(before))
  if (length(added)) Sys.unsetenv(added)
  differs <- names(before)[is.na(now[names(before)]) | before != now[names(before)]]
  if (length(differs)) do.call(Sys.setenv, as.list(before[differs]))
}

restore_seed <- function(seed) {
  if (is.null(seed)) {
    rm(".Random.seed", envir = globalenv())
  } else {
    assign(".Random.seed", seed, envir = globalenv())
  }
}
