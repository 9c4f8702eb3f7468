# Built-ins: extensions that come with the package, through the same factories and API object as everyone's.

# Declares a built-in for load_builtins(). `after` names those that load before it; without `replaceable` no filter
# turns it off as a whole.
declare_builtin <- function(name, factory, after = character(), replaceable = TRUE) {
  check_function(factory, "factory")
  engine(.Call(wrap__builtin_declare, list(list(name = name, after = after, replaceable = replaceable))))
  # The first declaration of a name stays, as in the engine.
  if (is.null(the$builtins[[name]])) the$builtins[[name]] <- factory
  invisible(NULL)
}

# Loads what is declared, enabled and was not tried before, in the engine's order. A failing one leaves the others
# alone.
load_builtins <- function() {
  while (!is.null(name <- engine(.Call(wrap__builtin_next)))) {
    source <- paste0("builtin:", name)
    origin <- list(source = source, rank = 6L, extension = source)
    report_load(origin, load_factory(the$builtins[[name]], origin, the$specs)$failure)
  }
  invisible(NULL)
}

# Registers the built-ins, once, when the registry is first needed.
ready <- function() {
  if (isTRUE(the$ready)) return(invisible(NULL))
  the$ready <- TRUE
  declare_builtin("permissions", builtin_permissions, replaceable = FALSE)
  declare_builtin("plan", builtin_plan, after = "permissions", replaceable = FALSE)
  declare_builtin("tools", builtin_tools, after = "permissions")
  load_builtins()
}

builtin_tools <- function(gptr) {
  gptr$register(r_tool())
  tools <- c(member_specs(), command_specs(), file_tool_specs(), list(web_tool(), ask_user_tool()))
  for (spec in tools) gptr$register(spec)
}

# Policies that the engine decides itself: their `check` is a description, never called.
builtin_permissions <- function(gptr) {
  gptr$register(gptr_policy("mode", native_check, "What the mode (plan, manual, edits, auto) lets run", order = 100L))
  gptr$register(gptr_policy("critical_guard", native_check, "Critical actions need a person", order = 300L))
}

builtin_plan <- function(gptr) {
  gptr$register(gptr_policy("plan", native_check, "Plan mode runs only what is known to be read-only", order = 600L))
}

native_check <- function(call, ctx) NULL
