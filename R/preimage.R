#' What an undo can keep of an object
#'
#' Says how the state of an object before a change can be kept. Most objects of R have value
#' semantics: a second reference is a safe copy, made without copying. Packages whose objects
#' change in place provide a method.
#'
#' @param x The object before the change.
#' @param name Name of its binding, a string.
#' @param ctx The context of the call, or `NULL`.
#' @param ... For methods.
#' @return list(`mode`, `reason`, `copy`). `mode` is `"ref"` (`copy` is `x` itself), `"copy"`
#'   (`copy` is independent of `x`) or `"none"` (nothing can be kept, `reason` says why).
#' @examples
#' gptr_preimage(mtcars, "mtcars", NULL)$mode
#' gptr_preimage(new.env(), "e", NULL)$reason
#' @export
gptr_preimage <- function(x, name, ctx, ...) UseMethod("gptr_preimage")

#' @export
gptr_preimage.default <- function(x, name, ctx, ...) {
  problem <- in_place_problem(x)
  if (!is.null(problem)) return(preimage_none(problem))
  held <- held_parts(x)
  problems <- unlist(lapply(held, function(part) in_place[typeof(part)]))
  pointers <- intersect(c("externalptr", "weakref"), names(problems))
  if (length(pointers) > 0L) return(preimage_none(in_place[[pointers[1L]]]))
  holds_environment <- any(vapply(held, is.environment, NA))
  preimage_ref(x, if (holds_environment) "environments inside of it are not kept")
}

#' @export
gptr_preimage.connection <- function(x, name, ctx, ...) {
  preimage_none("a connection is a handle to something outside of R")
}

#' @export
gptr_preimage.R6 <- function(x, name, ctx, ...) {
  preimage_none("an R6 object changes in place")
}

# `:=` and set() write into the columns, so that these have to be copied, too. The mark of
# the original's memory is left out; data.table makes a new one when it needs it.
#' @export
gptr_preimage.data.table <- function(x, name, ctx, ...) {
  columns <- lapply(seq_along(x), function(i) {
    column <- .subset2(x, i)
    fresh <- .subset(column, seq_along(column))
    attributes(fresh) <- attributes(column)
    fresh
  })
  kept <- attributes(x)
  attributes(columns) <- kept[setdiff(names(kept), ".internal.selfref")]
  list(mode = "copy", reason = "data.table changes columns in place", copy = columns)
}

# By type: why no reference keeps such an object.
in_place <- c(
  environment = "an environment changes in place",
  externalptr = "an external pointer refers to memory outside of R",
  weakref = "a weak reference does not keep what it refers to")

in_place_problem <- function(x) {
  # An object of a reference class has type S4, and is an environment.
  type <- if (is.environment(x)) "environment" else typeof(x)
  if (type %in% names(in_place)) in_place[[type]]
}

max_parts_seen <- 1000L

# Elements of a list and slots of an S4 object.
held_parts <- function(x) {
  if (isS4(x)) return(attributes(x))
  if (typeof(x) != "list") return(list())
  lapply(seq_len(min(plain_length(x), max_parts_seen)), function(i) .subset2(x, i))
}

preimage_ref <- function(x, reason = NULL) list(mode = "ref", reason = reason, copy = x)

preimage_none <- function(reason) list(mode = "none", reason = reason, copy = NULL)
