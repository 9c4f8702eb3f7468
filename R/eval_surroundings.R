# The surroundings of an evaluation: options, random numbers, and the two names that
# model-written code may always use. Each function here changes one thing and returns the
# function that changes it back.

# Printing as the model reads it, and nothing that would wait for a person at a terminal.
set_options <- function(run) {
  old <- options(
    width = 100L, max.print = 1000L,
    cli.num_colors = 1L, crayon.enabled = FALSE, cli.dynamic = FALSE,
    rlang_interactive = FALSE, askYesNo = no_question, menu.graphics = FALSE,
    pager = print_pages, help_type = "text")
  function() options(old)
}

no_question <- function(...) stop("nobody can be asked while code of the model runs", call. = FALSE)

print_pages <- function(files, header, title, delete.file) {
  for (file in files) {
    cat(gsub("_\b", "", readLines(file, warn = FALSE)), sep = "\n")
    if (isTRUE(delete.file)) unlink(file)
  }
}

# The agent has a stream of random numbers of its own, of the user's kind, that goes on from
# one evaluation to the next; the user's stream does not move.
put_seed_aside <- function(run) {
  state <- run$state
  seed <- user_seed()
  kind <- RNGkind()
  if (!identical(state$rng_kind, kind)) {
    state$rng_kind <- kind
    state$seed <- NULL
  }
  set_user_seed(state$seed)
  function() {
    state$seed <- user_seed()
    # Without a seed R keeps the kind in its own memory, where the code may have changed it.
    if (is.null(seed)) suppressWarnings(RNGkind(kind[1L], kind[2L], kind[3L]))
    set_user_seed(seed)
  }
}

user_seed <- function() get0(".Random.seed", globalenv(), inherits = FALSE)

set_user_seed <- function(seed) {
  home <- globalenv()
  if (!is.null(seed)) {
    assign(".Random.seed", seed, envir = home)
  } else if (exists(".Random.seed", home, inherits = FALSE)) {
    rm(".Random.seed", envir = home)
  }
}

agent_names <- c("peter", "gptr_return")

# Code of the model finds these also when the package is not attached, and the user's
# environment stays free of them.
show_agent_names <- function(run) {
  package <- topenv(environment(eval_code))
  missing <- Filter(function(name) {
    exists(name, package, inherits = FALSE) && !exists(name, run$envir)
  }, agent_names)
  if (length(missing) == 0L) return(function() NULL)
  if (reaches_search_path(run$envir)) {
    attach_agent(missing, package)
  } else {
    splice_agent(missing, package, run$envir)
  }
}

reaches_search_path <- function(envir) {
  while (!identical(envir, emptyenv())) {
    if (identical(envir, globalenv())) return(TRUE)
    envir <- parent.env(envir)
  }
  FALSE
}

# attach() and not a change of parents: R caches where global names are found, and only attach()
# tells the cache. At the end of the path, so that anything of the user's goes before it.
attach_agent <- function(names, package) {
  place <- base::attach
  place(mget(names, envir = package), pos = length(search()), name = "gptr:agent",
    warn.conflicts = FALSE)
  function() {
    if ("gptr:agent" %in% search()) detach("gptr:agent", character.only = TRUE)
  }
}

# A home cut off from the search path gets them before its last parent.
splice_agent <- function(names, package, envir) {
  last <- envir
  ends <- list(baseenv(), emptyenv())
  is_end <- function(env) any(vapply(ends, identical, NA, env))
  if (is_end(last)) return(function() NULL)
  while (!is_end(parent.env(last))) last <- parent.env(last)
  end <- parent.env(last)
  parent.env(last) <- list2env(mget(names, envir = package), parent = end)
  function() parent.env(last) <- end
}
