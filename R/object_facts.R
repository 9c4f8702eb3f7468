# Class, shape and size of objects, without forcing, copying or expanding them.

# One list(name, class, shape, bytes) for each binding of `envir`; class "promise" or "active
# binding", and bytes NA, for those that are not looked into.
object_facts <- function(envir) {
  names <- ls(envir, sorted = TRUE)
  kinds <- binding_kinds(envir, names)
  lapply(seq_along(names), function(i) {
    if (kinds[[i]] != "value") {
      return(list(name = names[i], class = kinds[[i]], shape = "", bytes = NA_real_))
    }
    x <- get(names[i], envir, inherits = FALSE)
    list(name = names[i], class = class(x)[1L], shape = shape_text(x), bytes = estimate_bytes(x)$bytes)
  })
}

# "value", "promise" (not forced yet) or "active binding" for each name.
#
# Base R has no way to see a promise in the global environment. Elsewhere substitute() shows its
# expression; a language object looks the same and is then taken for one.
binding_kinds <- function(envir, names) {
  active <- vapply(names, bindingIsActive, NA, env = envir)
  kinds <- ifelse(active, "active binding", "value")
  rest <- names[!active]
  if (length(rest) == 0L) return(unname(kinds))
  lazy <- if (has_rlang()) {
    rlang::env_binding_are_lazy(envir, rest)
  } else if (identical(envir, globalenv())) {
    FALSE
  } else {
    vapply(rest, function(name) is.language(eval(call("substitute", as.name(name), envir))), NA)
  }
  kinds[!active][lazy] <- "promise"
  unname(kinds)
}

# `<class> shape, size`: the first line of every description.
first_line <- function(x) {
  size <- estimate_bytes(x)
  parts <- c(shape_text(x), paste0(if (!size$exact) "~", size_text(size$bytes)))
  paste0("<", shown_text(class(x)[1L], 60L), "> ", paste(parts[nzchar(parts)], collapse = ", "))
}

# "<integer length 3>", "<data.frame 32 x 11>", "<function>": an object in a list of changes.
object_label <- function(x) {
  shape <- if (is.environment(x) || is.function(x)) "" else shape_text(x)
  paste0("<", shown_text(class(x)[1L], 60L), if (nzchar(shape)) " ", shape, ">")
}

class_label <- function(x) paste0("<", shown_text(class(x)[1L], 60L), ">")

shape_text <- function(x) {
  dims <- plain_dims(x)
  if (!is.null(dims)) return(paste(plain_count(dims), collapse = " x "))
  if (is.environment(x)) return(paste(object_count(x), "objects"))
  if (is.function(x)) return(paste(length(formals(args(x))), "arguments"))
  if (isS4(x)) return(paste(length(attributes(x)) - 1L, "slots"))
  if (is.language(x)) return(typeof(x))
  if (typeof(x) %in% c("externalptr", "weakref")) return(typeof(x))
  paste("length", plain_count(plain_length(x)))
}

# Not length(): classes made of environments define their own.
object_count <- function(x) {
  length(ls(if (isS4(x)) as.environment(x) else x, all.names = TRUE, sorted = FALSE))
}

# Not dim(): a class may ask a data base for it.
plain_dims <- function(x) {
  if (is.data.frame(x)) return(c(abs(.row_names_info(x, 2L)), plain_length(x)))
  dims <- attr(x, "dim", exact = TRUE)
  if (is.numeric(dims) && length(dims) > 0L) dims
}

# A length that a class defines counts (date-times kept as lists), else the plain one.
plain_length <- function(x) {
  if (is.null(oldClass(x)) || is.data.frame(x)) return(length(x))
  n <- tryCatch(length(x), error = function(e) NULL)
  if (is.numeric(n) && length(n) == 1L && !is.na(n)) n else 1L
}

plain_count <- function(n) format(n, scientific = FALSE, trim = TRUE)

vector_header <- 48
pointer_bytes <- 8
cell_bytes <- c(logical = 4, integer = 4, double = 8, complex = 16, raw = 1)
parts_weighed <- 200L
strings_weighed <- 1000L

# list(bytes, exact). Numeric vectors by length alone (1:1e9 stays what it is); strings and long
# lists from a sample; what environments hold down to one level, for they may be cyclic.
estimate_bytes <- function(x, depth = 0L) {
  type <- typeof(x)
  if (type == "NULL") return(list(bytes = 0, exact = TRUE))
  own <- own_bytes(x, type, depth)
  attributes <- attribute_bytes(x, type, depth)
  list(bytes = own$bytes + attributes$bytes, exact = own$exact && attributes$exact)
}

own_bytes <- function(x, type, depth) {
  if (type %in% names(cell_bytes)) {
    return(list(bytes = vector_bytes(storage_length(x), cell_bytes[[type]]), exact = TRUE))
  }
  switch(type,
    character = string_bytes(x),
    list = , expression = list_bytes(x, depth),
    environment = environment_bytes(x, depth),
    # These hold code and constants: weighing them whole is cheap, attributes included.
    closure = , language = list(bytes = as.numeric(utils::object.size(x)), exact = TRUE),
    list(bytes = 56, exact = TRUE))
}

# Small vectors come from pools of these sizes.
vector_bytes <- function(n, cell) {
  bytes <- n * cell
  pools <- c(0, 8, 16, 32, 48, 64, 128)
  vector_header + if (bytes <= 128) pools[pools >= bytes][1L] else 8 * ceiling(bytes / 8)
}

# A class does not change how much is stored.
storage_length <- function(x) {
  dims <- attr(x, "dim", exact = TRUE)
  if (is.numeric(dims)) prod(dims) else plain_length(x)
}

string_bytes <- function(x) {
  n <- storage_length(x)
  if (n <= strings_weighed) {
    return(list(bytes = as.numeric(utils::object.size(.subset(x, seq_len(n)))), exact = TRUE))
  }
  index <- unique(floor(seq(1, n, length.out = strings_weighed)))
  seen <- .subset(x, index)
  each <- (as.numeric(utils::object.size(unname(seen))) - vector_header) / length(index)
  list(bytes = vector_header + n * each, exact = FALSE)
}

max_weighing_depth <- 6L

list_bytes <- function(x, depth) {
  n <- element_count(x)
  if (depth >= max_weighing_depth) return(list(bytes = vector_bytes(n, pointer_bytes), exact = FALSE))
  index <- if (n <= parts_weighed) seq_len(n)
    else unique(floor(seq(1, n, length.out = parts_weighed)))
  sizes <- lapply(index, function(i) estimate_bytes(.subset2(x, i), depth + 1L))
  sum <- sum(vapply(sizes, `[[`, 0, "bytes"))
  exact <- n <= parts_weighed && all(vapply(sizes, `[[`, NA, "exact"))
  list(bytes = vector_bytes(n, pointer_bytes) + sum * (if (length(index) > 0L) n / length(index) else 0),
    exact = exact)
}

# A shallow copy of a list costs its pointers, not its elements.
element_count <- function(x) {
  if (is.object(x) && !is.data.frame(x)) length(unclass(x)) else length(x)
}

environment_bytes <- function(x, depth) {
  if (depth > 0L) return(list(bytes = 56, exact = FALSE))
  names <- utils::head(ls(x, all.names = TRUE, sorted = FALSE), parts_weighed)
  kinds <- binding_kinds(x, names)
  sizes <- vapply(names[kinds == "value"], function(name) {
    estimate_bytes(get(name, x, inherits = FALSE), depth + 1L)$bytes
  }, 0)
  list(bytes = 56 + sum(sizes), exact = FALSE)
}

attribute_bytes <- function(x, type, depth) {
  if (type %in% c("environment", "closure", "language")) return(list(bytes = 0, exact = TRUE))
  values <- attribute_values(x)
  if (depth >= max_weighing_depth) return(list(bytes = 0, exact = length(values) == 0L))
  sizes <- lapply(values, estimate_bytes, depth = depth + 1L)
  node <- 112 # a node of a linked list, and its name
  list(bytes = sum(0, vapply(sizes, function(size) size$bytes + node, 0)),
    exact = all(vapply(sizes, `[[`, NA, "exact")))
}

# The row names of a data frame are made anew when one asks for them; they are stored as two
# integers where they only count.
attribute_values <- function(x) {
  values <- attributes(x)
  if (is.data.frame(x) && .row_names_info(x, 1L) < 0L) values$row.names <- c(NA, -1L)
  values
}

size_units <- c(B = 1, KB = 1024, MB = 1024^2, GB = 1024^3, TB = 1024^4)

size_text <- function(bytes) {
  unit <- sum(bytes >= size_units)
  unit <- max(unit, 1L)
  value <- bytes / size_units[[unit]]
  digits <- if (unit <= 2L || value >= 100) 0L else 1L
  paste(plain_count(round(value, digits)), names(size_units)[unit])
}
