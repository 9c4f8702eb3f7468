# Native tools: their bodies are functions of the engine, here behind R functions.

# An `execute` whose body is the engine's function of that name. In a run the engine calls its function itself, beside
# others where that is allowed; this one is for whoever calls `execute` from R.
native_handler <- function(name) {
  body <- function(input, ctx) native_result(name, input)
  structure(body, class = c(paste0("gptr_native_", name), "gptr_native", "function"))
}

# What a model would get of a call.
native_result <- function(name, input) {
  output <- native_output(name, input, "model")
  result <- gptr_tool_result(details = output$details, gloss = output$gloss)
  result$content <- output$content
  result
}

# What R code gets of a call: the parts of a value. An image goes to the result of the code that runs.
native_value <- function(name, input) {
  output <- native_output(name, input, if (is.null(current_frame())) "person" else "code")
  for (block in output$content) if (identical(block[["type"]], "image")) attach_image(block)
  output$value
}

# Runs a body: list(content, details, gloss, value). Its error is raised; Ctrl-C ends it and goes on to the caller.
native_output <- function(name, input, asker) {
  call <- engine(.Call(wrap__native_call, name, input, site_facts(), asker))
  perform(call$task)
  engine(.Call(wrap__native_output, call$slot))
}

# Where R is: paths of tools start there.
site_facts <- function() {
  root <- getOption("gptr.project_root") %||% Sys.getenv("GPTR_PROJECT_ROOT")
  list(
    cwd = enc2utf8(getwd() %||% ""), home = enc2utf8(path.expand("~")), temp = enc2utf8(tempdir()),
    config = enc2utf8(tools::R_user_dir("gptr", "config")), root = enc2utf8(path.expand(root)),
    read_tokens = getOption("gptr.read_max_tokens", 12000L), fetch_private = isTRUE(getOption("gptr.fetch_private"))
  )
}
