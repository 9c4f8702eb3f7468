# The tables of ?gptr_kinds and ?gptr_events, from the engine's own tables and the sentences below. roxygen evaluates
# this file inside the package's namespace (`make docs`); its value is the function that writes the tables of a page.

kind_sentences <- c(
  adapter = "A protocol: turns a request into what goes over the wire; see [gptr_adapter()].",
  agent = "A named way to run a child session; see [gptr_agent()].",
  artifact_type = "A kind of thing that an agent builds and starts, such as an app.",
  backend = "Where an agent runs; see [gptr_backend()].",
  cache_policy = "Which parts of a request are marked for a provider's prompt cache.",
  checkpointer = "Keeps what a call changes, for an undo.",
  child_env = "The environment variables of programs that are started.",
  command = "A slash command of the console; see [gptr_command()].",
  compactor = "Shortens a long conversation.",
  context_block = "Data in the first message or in every turn; see [gptr_context_block()].",
  doc_format = "A document format that answers are written into.",
  env_alias = "Other names of an environment variable that holds a key.",
  estimator = "Estimates tokens.",
  evaluator = "Evaluates code of another language.",
  frontend = "Another face than the console.",
  guidance = "One line of standing guidance in the system prompt, named after its extension.",
  hook = "A handler of an event; see [gptr_hook()].",
  kind = "A kind of a plugin's own; its specs are checked by `validate`.",
  mcp_server = "A server of the model context protocol.",
  model = "A model outside of a provider's spec.",
  policy = "Judges every tool call; see [gptr_policy()].",
  preset = "A choice of tools and prompt sections.",
  prompt_section = "Text in the system prompt; see [gptr_prompt_section()].",
  prompt_template = "A prompt with arguments.",
  provider = "An endpoint with models; see [gptr_provider()].",
  redaction_rule = "A pattern of text that is a secret.",
  renderer = "Shows entries of a session.",
  risk_rule = "Risk levels of functions or shell commands.",
  route = "Takes calls of [peter()].",
  router = "Chooses a model for each request; see [gptr_router()].",
  search_source = "Documents for `peter$search()`.",
  secret_source = "Where secrets come from.",
  service = "A function that other parts look up by name.",
  setting = "A setting with its default and check.",
  skill = "Reusable instructions.",
  store = "Where sessions are kept.",
  tool = "Something that the model can use; see [gptr_tool()].",
  ui = "How the person is asked."
)

event_sentences <- c(
  project_trust = "Whether a project may be trusted is asked.",
  resources_discover = "Skills, templates and agents are looked for.",
  session_start = "The first run of a session begins, before its prompt is frozen.",
  session_before_fork = "A session is about to be forked.",
  session_shutdown = "A session ends.",
  input = "A prompt was given.",
  agent_start = "A run begins.",
  agent_end = "A run ended.",
  turn_start = "A model turn begins.",
  turn_end = "A model turn ended: a reply and the results of its calls.",
  before_request = "A request is about to be sent.",
  request_params = "The parameters of the request are chosen.",
  message_start = "A message begins.",
  message_update = "A piece of the reply came; `kind` is `text`, `thinking` or `toolcall`.",
  message_end = "A message is complete and in the history.",
  tool_call = "The model or its code calls a tool; nothing was run.",
  permission_request = "A call needs approval, before the person is asked.",
  tool_execution_start = "The pipeline of a call begins.",
  tool_execution_update = "A tool tells how far it is.",
  tool_execution_end = "The pipeline of a call ended.",
  tool_result = "A call has its result, which is not stored yet; not for nested calls.",
  queue_update = "A message was queued for a running session.",
  retry_start = "A request failed and will be repeated; `delay` in seconds.",
  retry_end = "The repetition ended.",
  session_before_compact = "The conversation is about to be shortened.",
  session_compact = "The conversation was shortened.",
  session_before_tree = "The history is about to be rewound.",
  session_tree = "The history was rewound.",
  document_write = "Lines are about to be written into a document.",
  decision = "A classifier decided.",
  route = "A model or a way of running was chosen.",
  model_select = "The model of a session changed.",
  subagent_start = "A child session begins.",
  subagent_end = "A child session ended.",
  artifact_start = "An artifact was started.",
  artifact_stop = "An artifact was stopped.",
  usage = "The usage of a request is known.",
  budget_near = "Most of a budget is used.",
  budget_exceeded = "A budget is used up.",
  cache_break = "The front of the prompt changed.",
  bridge_call = "A program was called.",
  checkpoint = "The state before a call was kept.",
  secret_registered = "A secret became known.",
  mcp_servers_change = "MCP servers came or went.",
  mcp_serve_start = "gptr serves as an MCP server.",
  mcp_serve_stop = "It stopped.",
  session_summary = "A summary of a session was made.",
  request_headers = "The headers of a request are about to be sent.",
  request_body = "The body of a request is about to be sent."
)

ways <- c(
  notify = "notify", collect = "collect", transform = "transform", decision = "decision",
  first_decision = "first decision", patch = "patch", block_patch = "block or patch"
)

code <- function(x) if (length(x)) paste0("`", x, "`", collapse = ", ") else ""

sentence_for <- function(name, sentences) {
  if (!name %in% names(sentences)) stop("tools/reference_tables.R has no sentence for ", name)
  sentences[[name]]
}

kind_fields <- function(row) {
  fields <- unlist(row$fields)
  marked <- ifelse(fields %in% unlist(row$required), paste0("**`", fields, "`**"), paste0("`", fields, "`"))
  paste(marked, collapse = ", ")
}

item <- function(name, parts) {
  parts <- parts[nzchar(parts)]
  paste0("* ", code(name), if (length(parts)) ": ", paste(parts, collapse = ". "))
}

kinds <- function() {
  rows <- vapply(kind_rows(), function(row) {
    paste(
      "|", code(row$name), "|", if (row$consumed) "yes" else "no", "|", if (row$all) "all count" else "one wins", "|",
      sentence_for(row$name, kind_sentences), if (row$experimental) "Experimental.", "|"
    )
  }, "")
  fields <- vapply(kind_rows(), function(row) item(row$name, kind_fields(row)), "")
  c(
    "@section Table:", "", "| kind | read today | of one name | what it is |", "|---|---|---|---|", rows, "",
    "@section Fields:", "Required ones are bold.", "", fields
  )
}

events <- function() {
  rows <- vapply(event_rows(), function(row) {
    paste(
      "|", code(row$name), "|", if (row$emitted) "yes" else "no", "|", ways[[row$semantics]],
      if (row$fail_closed) "(a failure refuses)", "|", sentence_for(row$name, event_sentences), "|"
    )
  }, "")
  fields <- vapply(event_rows(), function(row) {
    answer <- if (row$returns == "-") "" else paste("Answer:", gsub("(list\\([^()]*\\))", "`\\1`", row$returns))
    item(row$name, c(code(unlist(row$payload)), answer))
  }, "")
  c(
    "@section Table:", "", "| event | emitted today | answers | when |", "|---|---|---|---|", rows, "",
    "@section Fields and answers:", "", fields
  )
}

function(which) switch(which, kinds = kinds(), events = events())
