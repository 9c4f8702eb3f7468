#' Check a spec, an extension or a package before using it
#'
#' Runs conformance checks in a scratch registry, which starts with what is registered for the process; nothing of the
#' check stays. Closures of what is checked are called: a tool's function with empty input when its schema allows that
#' (and with its `examples` when `tokens` is `TRUE`), a policy with 40 synthetic calls, a backend with one probe, a
#' factory once. What a factory changed (working directory, options, environment variables, the seed, the search path)
#' is put back and reported.
#'
#' A package is checked by its name: its manifest `gptr/plugin.json`, the version of the API that it asks for, its
#' factory and all that it registers, what the manifest promises, and that its code passes no bare names to [peter()]
#' and [gptr_agent()].
#'
#' An adapter is checked further where somebody registered the service `check.adapter`: a function of the spec that
#' returns rows, a data frame or a list of lists, with `check`, `ok` and `message`.
#'
#' @param x A spec; an extension factory, `function(gptr)`; the path of an extension file; or the name of a package.
#' @param error `TRUE` raises an error when a check fails.
#' @param tokens `TRUE` adds rows with what declarations and the printed results of examples cost in tokens.
#' @return A data frame of class `gptr_check`, a row a check: `target` (`"<kind>:<name>"`, `"factory"` or
#'   `"package:<name>"`), `check`, `ok` (logical), `message`.
#' @section Conditions: `gptr_error_invalid_argument` (`arg` is `x`, `error` or `tokens`); with `error = TRUE`
#'   `gptr_error_conformance` (field `results`, the data frame).
#' @seealso `vignette("extending-gptr")`.
#' @examples
#' gptr_check(gptr_tool("add", "Add two numbers", fun = function(a, b) a + b, exposure = "r", namespace = "demo"))
#' gptr_check(function(gptr) gptr$on("message_end", function(event, ctx) NULL))
#' @export
gptr_check <- function(x, error = FALSE, tokens = FALSE) {
  check_flag(error, "error")
  check_flag(tokens, "tokens")
  ready()
  rows <- mark_children(in_check(check_rows(x, tokens)))
  rows <- rows_frame(rows, list(target = "", check = "", ok = TRUE, message = ""))
  class(rows) <- c("gptr_check", "data.frame")
  failed <- rows$check[!rows$ok]
  if (error && length(failed)) {
    gptr_abort("conformance", paste0(length(failed), " check(s) failed: ", paste(unique(failed), collapse = ", "), "."),
      results = rows)
  }
  rows
}

# While a check runs, API objects of live extensions register nothing.
in_check <- function(expr) {
  outer <- the$checking
  the$checking <- TRUE
  on.exit(the$checking <- outer)
  expr
}

check_rows <- function(x, tokens) {
  if (is.list(x) && !is.data.frame(x)) return(spec_rows(x, tokens))
  if (is.function(x)) return(factory_rows(x, tokens))
  if (is.character(x) && length(x) == 1L && !is.na(x) && nzchar(x)) {
    # A folder may be a package's own, beside which one works.
    if ((file.exists(x) && !dir.exists(x)) || grepl("[.][Rr]$", x)) return(file_rows(x, tokens))
    return(package_rows(x, tokens))
  }
  expected <- "a spec, a factory function(gptr), the path of an extension file or the name of a package"
  gptr_abort("invalid_argument", paste0("`x` must be ", expected, ", not ", describe_argument(x), "."),
    arg = "x", expected = expected)
}

# The rows of one spec. `load` is the number of a scratch load that the spec belongs to.
spec_rows <- function(spec, tokens, load = NULL) {
  the$checks <- (the$checks %||% 0L) + 1L
  id <- paste0("check", the$checks)
  assign(id, spec, envir = the$specs)
  on.exit({
    rm(list = id, envir = the$specs)
    the$probes[[id]] <- NULL
  })
  budget <- if (tokens) print_budget()
  perform(engine(.Call(wrap__task_check, for_engine(spec), id, budget, load)))
}

file_rows <- function(path, tokens) {
  factory <- tryCatch(factory_in_file(path), error = function(e) e)
  if (is.function(factory)) return(factory_rows(factory, tokens))
  list(check_row("factory", "factory.load", FALSE, one_message(factory)))
}

# `provides` is what a manifest promises: a list of list(kind, name).
factory_rows <- function(factory, tokens, provides = list()) {
  specs <- new.env(parent = emptyenv())
  origin <- list(source = "plugin:gptr-check", rank = 5L, extension = "plugin:gptr-check")
  before <- surroundings()
  run <- load_factory(factory, origin, specs, registry = "scratch")
  changed <- restore_surroundings(before)
  failure <- run$failure
  records <- mget(sort_records(names(specs)), envir = specs)
  rows <- list(
    check_row("factory", "factory.load", is.null(failure), if (is.null(failure)) "" else one_message(failure)),
    check_row("factory", "factory.registers", length(records) > 0L, paste(length(records), "record(s)")),
    check_row("factory", "factory.no_action", !length(changed), paste(changed, collapse = ", "))
  )
  there <- vapply(records, function(spec) paste(spec$kind, record_key(spec)), "")
  promised <- lapply(provides, function(promise) {
    here <- paste(promise$kind, promise$name) %in% there
    check <- paste0("provides.", promise$kind, ":", promise$name)
    check_row("factory", check, here, if (here) "" else "is not registered")
  })
  checked <- lapply(records, spec_rows, tokens = tokens, load = run$load)
  # An API object that the factory kept is stale from now on.
  if (is.null(failure)) engine(.Call(wrap__ext_rollback, run$load))
  forget_load(run$load)
  c(rows, promised, unlist(checked, recursive = FALSE, use.names = FALSE))
}

record_key <- function(spec) {
  if (identical(spec$kind, "tool") && !is.null(spec$namespace)) paste0(spec$namespace, "/", spec$name) else spec$name
}

sort_records <- function(ids) ids[order(as.integer(sub("^r", "", ids)))]

check_row <- function(target, check, ok, message) list(target = target, check = check, ok = ok, message = message)

# What a factory must leave alone.
surroundings <- function() {
  list(
    wd = getwd(), search = search(), env = Sys.getenv(), options = options(),
    seed = get0(".Random.seed", envir = globalenv(), inherits = FALSE), processes = child_processes()
  )
}

# Puts back what changed, and names it.
restore_surroundings <- function(before) {
  now <- surroundings()
  changed <- names(before)[!mapply(identical, before, now[names(before)])]
  # A process that ended is no action.
  changed <- setdiff(changed, if (!is.null(before$processes) && all(now$processes %in% before$processes)) "processes")
  if (is.null(before$processes)) changed <- c(changed, "processes (can't be observed)")
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

# ---- what the engine asks of R in a check ---------------------------------------------------------------------------

# The spec of a record of the scratch registry: what the load that is checked registered, or what was there before.
checked_spec <- function(record, load, home = NULL) {
  own <- if (!is.null(load)) spec_home(load_home(load))[[record]]
  own %||% spec_home(home)[[record]]
}

# What the validator of a spec's kind says, see kind_records.R.
validate_in_check <- function(record, home, load, spec) {
  fn <- checked_spec(record, load, home)$validate
  tryCatch(fn(the$specs[[spec]]), gptr_error_invalid_spec = function(e) list(invalid_spec = invalid_spec_fields(e)))
}

# The handle of a probe stays here, under the record of its backend.
start_probe <- function(record) {
  spec <- the$specs[[record]]
  probe <- gptr_agent("probe", description = "A probe of gptr_check().", backend = spec$name)
  probe$prompt <- "Reply with the word ok."
  the$probes[[record]] <- list(handle = spec$start(probe, new_ctx()))
  NULL
}

cancel_probe <- function(record) {
  the$specs[[record]]$cancel(the$probes[[record]]$handle)
  NULL
}

# What an example of a tool prints.
print_example <- function(record, i) {
  spec <- the$specs[[record]]
  paste(utils::capture.output(print(do.call(spec$fun, as.list(spec$examples[[i]]), quote = TRUE))), collapse = "\n")
}

# The rows of the service that checks adapters: a data frame or a list with check, ok and message.
check_adapter_with <- function(service, record, load) {
  rows <- checked_spec(service, load)$fun(the$specs[[record]])
  if (!is.data.frame(rows)) return(rows)
  lapply(seq_len(nrow(rows)), function(i) as.list(rows[i, ]))
}
