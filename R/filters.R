# Filters hide records without removing them: "-command:grep", "+command:grep", "-builtin:mcp".

# Sets the filters of a scope ("user", "project", "session"); NULL or none lifts them. Returns invisibly the effective
# keys, with the strings that were refused in the attribute `refused`.
set_filters <- function(filters, scope) {
  ready()
  set <- engine(.Call(wrap__registry_filters, filters, scope))
  if (length(set$pending)) load_builtins()
  invisible(structure(as.character(unlist(set$effective)), refused = as.character(unlist(set$refused))))
}

# Adds filters to those that a scope has.
add_filters <- function(filters, scope) {
  check_characters(filters, "filters")
  ready()
  set_filters(c(as.character(unlist(engine(.Call(wrap__registry_filter_list, scope)))), filters), scope)
}
