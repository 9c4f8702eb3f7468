# Kinds that a `kind` record defines: their `validate` runs here, what it means is the engine's to say.

# The load of the extension whose factory runs now, or NULL: its staged kinds count already.
staging_load <- function() current_frame()$load

# A spec as the validator of its kind returned it. `validator` says where that function is: list(record, home, token).
validated_by_kind <- function(spec, validator) {
  load <- staging_load()
  staged <- !is.null(validator$token)
  step <- list(
    record = if (staged) validator$token else validator$record,
    home = if (staged) load_home(load, staged = TRUE) else validator$home,
    field = "validate", role = "validator", style = "plain", args = list(spec), owner = spec$kind,
    session = current_frame()$session, load = load, model_code = isTRUE(current_frame()$model_code),
    timeout = getOption("gptr.hook_timeout", 10)
  )
  reply <- call_handler(step)
  if (identical(reply$type, "interrupt")) resignal_interrupt()
  value <- reply$value
  if (identical(reply$type, "value")) reply["value"] <- list(for_engine(value))
  engine(.Call(wrap__validator_outcome, spec$kind, spec$name, reply))
  value$kind <- spec$kind
  structure(value, class = class(spec))
}

# What the engine is told of an error of class `gptr_error_invalid_spec`: those pass through as they are.
invalid_spec_fields <- function(cond) {
  if (!inherits(cond, "gptr_error_invalid_spec")) return(NULL)
  unclass(cond)[c("kind", "name", "field", "problem")]
}
