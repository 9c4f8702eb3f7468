#' What R code would call and bind, found by parsing alone
#'
#' Nothing is evaluated, no package is loaded and no binding is looked at. The engine judges the facts; this function
#' only reports them. An error that is no syntax error (text that is not valid, nesting beyond R's limits) is signalled.
#'
#' @param code One string of R code.
#' @return A list with
#'   * `parse_error`: one string, or NULL;
#'   * `calls`: a list of list(`fn`, `pkg`, `call`, `args`, `computed`, `formal`). `fn` is NULL when the function is
#'     computed, `call` is the call deparsed to 60 characters, `formal` is TRUE for a name that a function around binds,
#'     and each of `args` is list(`name`, `kind`, `value`, `names`, `inside`);
#'   * `assigns`: a list of list(`name`, `how`, `home`, `call`). `how` is "bind", "super", "replace" or "loop"; `home`
#'     is FALSE for a binding local to a function;
#'   * `functions`, `constants`: names bound to nothing but function literals, to nothing but constants;
#'   * `symbols`: names used as values and not certainly bound before, `pkg::name` with a package;
#'   * `members`: a list of list(`path`, `call`, `args`) for `peter$demo$add(...)`.
#' @keywords internal
#' @noRd
code_facts <- function(code) {
  if (!is.character(code) || length(code) != 1L || is.na(code)) {
    stop("`code` must be a single string.", call. = FALSE)
  }
  exprs <- tryCatch(suppressWarnings(parse(text = code, keep.source = FALSE)), error = identity)
  failed <- inherits(exprs, "error")
  if (failed && !grepl("^<text>:[0-9]+:[0-9]+: ", conditionMessage(exprs))) {
    stop(exprs) # not a fault of the code: whoever evaluates it may succeed in parsing it
  }
  facts <- facts_new()
  if (!failed) {
    walk_code(as.list(exprs), facts)
  }
  kinds <- as.list(facts$kinds, all.names = TRUE)
  all_are <- function(kind) {
    as.list(sort(as.character(names(Filter(function(k) all(k == kind), kinds))), method = "radix"))
  }
  list(
    parse_error = if (failed) conditionMessage(exprs),
    calls = facts_items(facts$calls), assigns = facts_items(facts$assigns),
    functions = all_are("function"), constants = all_are("constant"),
    symbols = as.list(unique(unlist(facts_items(facts$symbols)))), members = facts_items(facts$members)
  )
}

# Logs are environments: a list that grows inside an environment is copied at each step.
facts_new <- function() {
  fresh <- function() new.env(parent = emptyenv())
  list(
    calls = fresh(), assigns = fresh(), members = fresh(), symbols = fresh(), # logs
    sure = fresh(), kinds = fresh() # by name
  )
}

facts_add <- function(log, item) {
  log$n <- c(log$n, 0L)[1L] + 1L
  assign(as.character(log$n), item, envir = log)
}

facts_items <- function(log) {
  unname(mget(as.character(seq_len(c(log$n, 0L)[1L])), envir = log))
}

# Depth first, in the order of the text, with a stack of its own: nesting is limited by memory, not by R's own stack.
walk_code <- function(exprs, facts) {
  stack <- rev(lapply(exprs, walk_item, top = TRUE, sure = TRUE))
  n <- length(stack)
  while (n > 0L) {
    item <- stack[[n]]
    n <- n - 1L
    for (child in rev(visit_code(item, facts))) {
      n <- n + 1L
      stack[[n]] <- child
    }
  }
}

# `bound`: formals and locals of the functions around; `top`: binds in the home; `sure`: certainly evaluated.
walk_item <- function(expr, bound = character(), top = FALSE, sure = FALSE, binds = NULL) {
  list(expr = expr, bound = bound, top = top, sure = sure, binds = binds)
}

# Records what stands here, and returns what is to be visited next.
visit_code <- function(item, facts) {
  if (!is.null(item$binds)) {
    assign(item$binds, TRUE, envir = facts$sure)
    return(list())
  }
  expr <- item$expr
  if (is_missing_arg(expr)) {
    return(list())
  }
  if (is.symbol(expr)) {
    note_symbol(as.character(expr), item, facts)
    return(list())
  }
  if (!is.call(expr)) {
    return(list())
  }
  visitor <- code_visitors[[call_head(expr)]]
  if (is.null(visitor)) visit_call(item, facts) else visitor(item, facts)
}

visit_all <- function(item, facts) {
  walk_children(item, as.list(item$expr)[-1L])
}

visit_operands <- function(item, facts) {
  walk_children(item, Filter(function(a) !is_missing_arg(a) && !is.symbol(a), as.list(item$expr)[-1L]))
}

# `{` and `(` pass on that their parts are certainly evaluated.
visit_block <- function(item, facts) {
  lapply(as.list(item$expr)[-1L], walk_item, bound = item$bound, top = item$top, sure = item$sure)
}

visit_function <- function(item, facts) {
  formals <- as.list(item$expr[[2L]])
  body <- item$expr[[3L]]
  bound <- unique(c(item$bound, names(formals), assigned_names(body)))
  lapply(c(formals, list(body)), walk_item, bound = bound)
}

visit_assign <- function(item, facts) {
  expr <- item$expr
  if (length(expr) != 3L) {
    return(visit_all(item, facts))
  }
  super <- identical(call_head(expr), "<<-")
  target <- expr[[2L]]
  value <- expr[[3L]]
  simple <- is.symbol(target) || is.character(target)
  name <- if (simple) as.character(target) else root_name(target)
  how <- if (super) "super" else if (simple) "bind" else "replace"
  if (length(name) == 1L && nzchar(name)) {
    note_assign(name, how, item, facts)
    note_kind(name, if (simple) value_kind(value) else "other", facts)
  }
  inner <- if (simple) list() else replaced_parts(target, item, facts)
  sure <- item$sure && item$top && simple && !super
  c(
    list(walk_item(value, item$bound, item$top, item$sure && is_assignment(value))),
    if (sure) list(walk_item(NULL, binds = name)),
    walk_children(item, inner)
  )
}

# `names(x$y)[2] <- v` calls `[<-`, `names<-` and `$<-`; what stands beside the target is evaluated.
replaced_parts <- function(target, item, facts) {
  parts <- list()
  while (is.call(target)) {
    head <- target[[1L]]
    args <- as.list(target)[-1L]
    named <- call_target(head)
    if (is.null(named)) {
      parts <- c(parts, list(head))
    } else {
      fn <- paste0(named$fn, "<-")
      note_call(fn, named$pkg, item$expr, args, item, facts)
    }
    rest <- if (call_head(target) %in% c("$", "@")) list() else args[-1L]
    parts <- c(parts, rest)
    target <- if (length(args) && !is_missing_arg(args[[1L]])) args[[1L]] else NULL
  }
  parts
}

visit_for <- function(item, facts) {
  expr <- item$expr
  if (is.symbol(expr[[2L]])) {
    name <- as.character(expr[[2L]])
    note_assign(name, "loop", item, facts)
    note_kind(name, "other", facts)
  }
  walk_children(item, as.list(expr)[-(1:2)])
}

visit_dollar <- function(item, facts) {
  path <- member_path(item$expr)
  if (!is.null(path)) {
    note_member(path, item$expr, list(), facts)
    return(list())
  }
  walk_children(item, list(item$expr[[2L]]))
}

visit_namespace <- function(item, facts) {
  named <- call_target(item$expr)
  if (!is.null(named)) {
    facts_add(facts$symbols, paste0(named$pkg, "::", named$fn))
  }
  list()
}

visit_call <- function(item, facts) {
  expr <- item$expr
  head <- expr[[1L]]
  args <- as.list(expr)[-1L]
  named <- call_target(head)
  path <- if (is.null(named)) member_path(head)
  if (!is.null(path)) {
    note_member(path, expr, args, facts)
    return(walk_children(item, args))
  }
  if (is.null(named)) {
    literal <- is_function_literal(head)
    if (!literal) note_call(NULL, NULL, expr, args, item, facts)
    return(walk_children(item, c(list(head), args)))
  }
  note_call(named$fn, named$pkg, expr, args, item, facts)
  if (identical(named$fn, "local")) {
    bound <- unique(c(item$bound, assigned_names(expr)))
    return(lapply(args, walk_item, bound = bound))
  }
  if (named$fn %in% takes_names) {
    args <- Filter(function(a) !is_missing_arg(a) && !is.symbol(a), args)
  }
  walk_children(item, args)
}

# Forms that R itself evaluates: their own call says nothing about risk. What an operator takes is data, so that a
# column called `source` in a formula or a comparison is no use of the function.
control_forms <- c("if", "while", "repeat", "next", "break")
operator_forms <- c(
  "[", "[[", "+", "-", "*", "/", "^", "==", "!=", "<", ">", "<=", ">=", "!", "&", "&&", "|", "||", ":", "~", "%%",
  "%/%", "%in%", "%*%", "%o%", "%x%"
)
code_visitors <- c(
  stats::setNames(rep(list(visit_all), length(control_forms)), control_forms),
  stats::setNames(rep(list(visit_operands), length(operator_forms)), operator_forms),
  list(
    "{" = visit_block, "(" = visit_block, "function" = visit_function, "<-" = visit_assign, "<<-" = visit_assign,
    "=" = visit_assign, "for" = visit_for, "$" = visit_dollar, "@" = visit_dollar, "::" = visit_namespace,
    ":::" = visit_namespace
  )
)

# Functions that take a bare name for itself and not for its value.
takes_names <- c("library", "require", "rm", "remove", "data", "help", "quote", "missing", "vignette")

walk_children <- function(item, exprs) {
  lapply(unname(exprs), walk_item, bound = item$bound, top = item$top)
}

note_symbol <- function(name, item, facts) {
  if (!(name %in% c("...", "T", "F", item$bound)) && !exists(name, envir = facts$sure, inherits = FALSE)) {
    facts_add(facts$symbols, name)
  }
}

note_call <- function(fn, pkg, expr, args, item, facts) {
  facts_add(facts$calls, list(
    fn = fn, pkg = pkg, call = call_line(expr), args = describe_args(args),
    computed = is.null(fn), formal = !is.null(fn) && is.null(pkg) && fn %in% item$bound
  ))
}

note_member <- function(path, expr, args, facts) {
  facts_add(facts$members, list(
    path = path, call = call_line(expr), args = describe_args(args)
  ))
}

note_assign <- function(name, how, item, facts) {
  facts_add(facts$assigns, list(
    name = name, how = how, home = item$top, call = call_line(item$expr)
  ))
}

note_kind <- function(name, kind, facts) {
  assign(name, unique(c(get0(name, envir = facts$kinds, inherits = FALSE), kind)), envir = facts$kinds)
}

describe_args <- function(args) {
  names <- names(args)
  if (is.null(names)) names <- rep("", length(args))
  unname(Map(function(arg, name) c(list(name = name), describe_arg(arg)), args, names))
}

# One argument: its kind, its value when that is text or a name, and for a call the names inside it.
describe_arg <- function(arg) {
  if (is_missing_arg(arg)) {
    return(list(kind = "missing"))
  }
  if (is.symbol(arg)) {
    return(list(kind = "symbol", value = as.character(arg)))
  }
  if (is.character(arg)) {
    return(list(kind = "string", value = arg))
  }
  if (is.call(arg)) {
    if (is_function_literal(arg)) {
      return(list(kind = "function"))
    }
    parts <- as.list(arg)[-1L]
    if (identical(arg[[1L]], quote(c)) && length(parts) && all(vapply(parts, is.character, NA))) {
      return(list(kind = "strings", value = unlist(parts, use.names = FALSE)))
    }
    given <- names(parts)
    return(list(
      kind = "call", value = call_head(arg),
      names = as.list(given[nzchar(given)]), inside = as.list(unique(all.names(arg)))
    ))
  }
  list(kind = if (is.null(arg)) "null" else if (is.logical(arg)) "logical" else "number")
}

is_missing_arg <- function(expr) {
  missing(expr) || identical(expr, quote(expr = ))
}

is_function_literal <- function(expr) {
  while (is.call(expr) && identical(expr[[1L]], quote(`(`)) && length(expr) == 2L) {
    expr <- expr[[2L]]
  }
  is.call(expr) && identical(expr[[1L]], quote(`function`))
}

is_assignment <- function(expr) {
  is.call(expr) && call_head(expr) %in% c("<-", "=", "<<-")
}

value_kind <- function(expr) {
  if (is_function_literal(expr)) {
    return("function")
  }
  if (is.call(expr) || is.symbol(expr)) "other" else "constant"
}

# "f" for f(...) and `f`(...), "" when the function is anything but a bare name.
call_head <- function(expr) {
  head <- expr[[1L]]
  if (is.symbol(head) || is.character(head)) as.character(head)[1L] else ""
}

# f -> list(fn = "f"), pkg::f -> list(fn = "f", pkg = "pkg"), anything else -> NULL
call_target <- function(head) {
  if (is.symbol(head) || is.character(head)) {
    return(list(fn = as.character(head)[1L], pkg = NULL))
  }
  if (is.call(head) && call_head(head) %in% c("::", ":::") && length(head) == 3L) {
    return(list(fn = as.character(head[[3L]])[1L], pkg = as.character(head[[2L]])[1L]))
  }
  NULL
}

# peter$demo$add -> "demo/add"; NULL for what does not begin with peter$
member_path <- function(expr) {
  parts <- character()
  while (is.call(expr) && identical(call_head(expr), "$") && length(expr) == 3L) {
    part <- expr[[3L]]
    if (!is.symbol(part) && !is.character(part)) {
      return(NULL)
    }
    parts <- c(as.character(part), parts)
    expr <- expr[[2L]]
  }
  if (!length(parts)) {
    return(NULL)
  }
  of_gptr <- is.symbol(expr) && identical(as.character(expr), "peter")
  named <- if (is.call(expr)) call_target(expr)
  if (!of_gptr && !(identical(named$fn, "peter") && identical(named$pkg, "gptr"))) {
    return(NULL)
  }
  paste(parts, collapse = "/")
}

# names(x$y)[2] -> "x"
root_name <- function(target) {
  while (is.call(target) && length(target) > 1L && !is_missing_arg(target[[2L]])) {
    target <- target[[2L]]
  }
  if (is.symbol(target) || is.character(target)) as.character(target)[1L] else character()
}

assigned_names <- function(expr) {
  found <- character()
  stack <- list(expr)
  n <- 1L
  while (n > 0L) {
    item <- stack[[n]]
    n <- n - 1L
    if (!is.call(item)) {
      next
    }
    if ((call_head(item) %in% c("<-", "=")) && length(item) == 3L) {
      target <- item[[2L]]
      if (is.symbol(target) || is.character(target)) found <- c(found, as.character(target)[1L])
    }
    if (identical(call_head(item), "for")) {
      found <- c(found, as.character(item[[2L]]))
    }
    for (part in as.list(item)) {
      if (!is_missing_arg(part) && is.call(part)) {
        n <- n + 1L
        stack[[n]] <- part
      }
    }
  }
  unique(found)
}

call_line <- function(expr) {
  lines <- deparse(expr, width.cutoff = 60L, nlines = 3L)
  text <- gsub("[[:space:]]+", " ", paste(lines, collapse = " "))
  if (nchar(text) > 60L || length(lines) == 3L) paste0(trimws(substr(text, 1L, 57L)), "...") else text
}
