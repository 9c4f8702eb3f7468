#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::registry::kind::builtin_kinds;
use crate::value::{HostData, json};

struct Catalogue;

impl Events for Catalogue {
    fn known(&self, event: &str) -> bool {
        event == "tool_call" || event.split(':').filter(|p| !p.is_empty()).count() == 2
    }

    fn hint(&self, event: &str) -> Option<String> {
        (event == "PreToolUse").then(|| "did you mean 'tool_call'?".to_owned())
    }
}

fn list(fields: &[(&str, HostValue)]) -> HostValue {
    HostValue::named(fields.iter().cloned())
}

fn symbol(name: &str) -> HostValue {
    HostData::Symbol(name.to_owned()).into()
}

fn f(formals: &[&str]) -> HostValue {
    HostValue::function(formals.iter().map(|n| (*n, true)))
}

fn strings(items: &[&str]) -> HostValue {
    HostValue::strings(items.iter().copied())
}

fn frame(columns: &[(&str, HostValue)]) -> HostValue {
    HostValue { class: vec!["data.frame".into()], ..list(columns) }
}

fn try_spec(kind: &str, name: &str, fields: &[(&str, HostValue)]) -> Result<Validated, Error> {
    let kind = builtin_kinds().into_iter().find(|k| k.name == kind).unwrap();
    let mut spec = list(&[("kind", kind.name.as_str().into()), ("name", name.into())]);
    for (field, value) in fields {
        spec.set(field, value.clone());
    }
    validate(&kind, &spec, &Catalogue)
}

fn spec(kind: &str, name: &str, fields: &[(&str, HostValue)]) -> Validated {
    try_spec(kind, name, fields).unwrap()
}

/// The field and the problem of a spec that must be refused.
fn refused(kind: &str, name: &str, fields: &[(&str, HostValue)]) -> (String, String) {
    match try_spec(kind, name, fields) {
        Err(Error::InvalidSpec { field, problem, .. }) => (field, problem),
        other => panic!("{kind} '{name}' gave {other:?}"),
    }
}

fn refused_field(kind: &str, name: &str, fields: &[(&str, HostValue)]) -> String {
    refused(kind, name, fields).0
}

fn tool<'n>(fields: &[(&'n str, HostValue)]) -> Vec<(&'n str, HostValue)> {
    let mut all: Vec<(&str, HostValue)> = vec![("description", "d".into())];
    all.extend(fields.iter().cloned());
    all
}

fn schema_list(properties: &[&str], required: &[&str]) -> HostValue {
    let of_type = || list(&[("type", "string".into())]);
    let properties = HostValue::named(properties.iter().map(|p| (*p, of_type())));
    list(&[("type", "object".into()), ("properties", properties), ("required", strings(required))])
}

#[test]
fn case_1_defaults_and_the_version_are_in_the_patch() {
    let built = spec("env_alias", "SLACK_BOT_TOKEN", &[("aliases", "slack-token".into())]);
    assert_eq!(built.patch, [("api_version".to_owned(), "1.0".into())]);
    assert_eq!(built.spec.names.as_deref().unwrap(), ["kind", "name", "aliases", "api_version"]);
    assert_eq!((built.name.as_str(), built.key.as_str()), ("SLACK_BOT_TOKEN", "SLACK_BOT_TOKEN"));
}

#[test]
fn case_5_a_wrong_type_names_field_kind_and_name() {
    let error = try_spec("router", "r1", &[("route", "x".into())]).unwrap_err();
    assert_eq!(error, Error::spec("router", "r1", "route", "must be a function accepting (request, ctx)"));
}

#[test]
fn case_6_a_required_field_may_be_neither_absent_nor_null() {
    let expected = ("route".to_owned(), "is required".to_owned());
    assert_eq!(refused("router", "r1", &[]), expected);
    assert_eq!(refused("router", "r1", &[("route", HostValue::null())]), expected);
}

#[test]
fn case_7_functions_are_judged_by_position() {
    assert!(refused("policy", "p", &[("check", f(&["call"]))]).1.contains("accepting (call, ctx)"));
    spec("policy", "p", &[("check", f(&["anything", "else"]))]);
    spec("policy", "p", &[("check", HostValue::function([("...", true)]))]);
}

#[test]
fn case_8_unknown_fields_are_kept() {
    let built = spec("command", "x", &[("handler", f(&["args", "ctx"])), ("colour", "b".into())]);
    assert_eq!(built.spec.field("colour"), Some(&"b".into()));
    let fake =
        [("api", "fake".into()), ("script", HostValue::list([])), ("log", HostData::Opaque(Default::default()).into())];
    assert!(spec("provider", "fake", &fake).spec.get("log").is_some());
}

#[test]
fn case_9_unnamed_and_repeated_fields_are_refused() {
    let kind = builtin_kinds().into_iter().find(|k| k.name == "command").unwrap();
    let unnamed = HostValue::named([("kind", "command".into()), ("name", "x".into()), ("", f(&["args", "ctx"]))]);
    assert_eq!(
        validate(&kind, &unnamed, &Catalogue).unwrap_err(),
        Error::spec("command", "x", "(unnamed)", "is not allowed")
    );
    let twice = HostValue::named([("name", "x".into()), ("handler", f(&["a", "b"])), ("handler", HostValue::null())]);
    assert_eq!(
        validate(&kind, &twice, &Catalogue).unwrap_err(),
        Error::spec("command", "x", "handler", "is given twice")
    );
    assert!(matches!(validate(&kind, &1.into(), &Catalogue), Err(Error::InvalidArgument { .. })));
}

#[test]
fn case_10_the_name_is_a_non_empty_string() {
    let handler = [("handler", f(&["args", "ctx"]))];
    assert_eq!(refused_field("command", "", &handler), "name");
    let kind = builtin_kinds().into_iter().find(|k| k.name == "command").unwrap();
    for bad in [HostValue::null(), 1.into(), strings(&["a", "b"])] {
        let spec = list(&[("name", bad), handler[0].clone()]);
        let error = validate(&kind, &spec, &Catalogue).unwrap_err();
        assert!(error.to_string().starts_with("Invalid command spec '?': field 'name'"), "{error}");
    }
}

#[test]
fn the_api_version_is_a_string() {
    assert_eq!(refused_field("env_alias", "A", &[("aliases", "a".into()), ("api_version", 1.into())]), "api_version");
}

#[test]
fn case_11_whole_numbers_are_stored_as_integers() {
    let provide = ("provide", f(&["ctx", "budget"]));
    let built = spec("context_block", "lab", &[provide.clone(), ("order", 700.0.into())]);
    assert_eq!(built.spec.field("order"), Some(&700.into()));
    let patched: Vec<&str> = built.patch.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(patched, ["api_version", "placement", "authority", "budget", "order"]);
    let expected = [("placement", "turn".into()), ("authority", "data".into()), ("budget", HostValue::from(300))];
    for (field, value) in expected {
        assert_eq!(built.spec.field(field), Some(&value));
    }
    for bad in [7.5, f64::INFINITY, f64::NAN, 2_147_483_648.0] {
        assert_eq!(refused_field("context_block", "lab", &[provide.clone(), ("order", bad.into())]), "order");
    }
    assert_eq!(refused_field("context_block", "lab", &[provide, ("budget", 0.into())]), "budget");
}

fn provider(fields: &[(&str, HostValue)]) -> Result<Validated, Error> {
    let mut all: Vec<(&str, HostValue)> = vec![("api", "openai-completions".into())];
    all.extend(fields.iter().cloned());
    try_spec("provider", "my_cloud", &all)
}

fn provider_fault(fields: &[(&str, HostValue)]) -> String {
    match provider(fields) {
        Err(Error::InvalidSpec { field, .. }) => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_12_provider_names() {
    for bad in ["Bad Name", "BadName", "-x", "a\n"] {
        assert_eq!(refused_field("provider", bad, &[("api", "x".into())]), "id");
    }
    assert_eq!(provider(&[]).unwrap().spec.field("id"), Some(&"my_cloud".into()));
    assert_eq!(provider_fault(&[("id", "other".into())]), "id");
}

#[test]
fn case_13_models_and_rates_of_a_provider() {
    let record = |fields: &[(&str, HostValue)]| ("models", HostValue::list([list(fields)]));
    assert_eq!(provider_fault(&[record(&[("context", 1.into())])]), "models[[1]]");
    assert_eq!(provider_fault(&[record(&[("id", "m".into()), ("context", "x".into())])]), "models[[1]].context");
    assert_eq!(provider_fault(&[("models", HostValue::list(["m".into()]))]), "models[[1]]");
    assert_eq!(provider_fault(&[("rate", list(&[("rpm", 1.into())]))]), "rate");
    assert_eq!(provider_fault(&[("rate", list(&[("tokens_per_s", "1".into())]))]), "rate");
    provider(&[
        record(&[("id", "m".into()), ("context", 128_000.0.into())]),
        ("rate", list(&[("tokens_per_s", 1.into())])),
    ])
    .unwrap();
}

#[test]
fn models_are_not_empty_not_blank_and_not_repeated() {
    for bad in [strings(&[]), HostValue::list([]), strings(&["a", "a"]), strings(&["a", " "])] {
        assert_eq!(provider_fault(&[("models", bad)]), "models");
    }
    let one = || list(&[("id", "m".into())]);
    assert_eq!(provider_fault(&[("models", HostValue::list([one(), one()]))]), "models");
}

#[test]
fn limits_of_a_model_record_are_stored_as_integers() {
    let decision = |n: f64| list(&[("types", strings(&["choice"])), ("max_options", n.into())]);
    let models = |n: f64| HostValue::list([list(&[("id", "m".into()), ("decision", decision(n))])]);
    let stored = provider(&[("models", models(4.0))]).unwrap().spec;
    let record = &stored.field("models").and_then(HostValue::items).unwrap()[0];
    assert_eq!(record.field("decision").unwrap().field("max_options"), Some(&4.into()));
    assert_eq!(provider_fault(&[("models", models(0.0))]), "models[[1]].decision.max_options");
    let capabilities = HostValue::list([list(&[("id", "m".into()), ("capabilities", list(&[("a", "x".into())]))])]);
    assert_eq!(provider_fault(&[("models", capabilities)]), "models[[1]].capabilities");
}

#[test]
fn an_endpoint_is_checked_when_it_is_built() {
    provider(&[
        ("base_url", "https://api.example.com".into()),
        ("context", 200_000.0.into()),
        ("models", strings(&["big", "small"])),
        ("headers", HostValue::function::<String>([])),
        ("quota", f(&["usage"])),
        (
            "thinking",
            list(&[("none", HostValue::null()), ("high", list(&[("effort", "high".into())])), ("low", "{}".into())]),
        ),
    ])
    .unwrap();
    let wrong = [
        ("base_url", "http://example.com".into()),
        ("base_url", "http://10.0.0.1".into()),
        ("context", HostValue::from(0)),
        ("context", 1.5.into()),
        ("headers", f(&["a", "b"])),
        ("headers", list(&[("X", 1.into())])),
        ("headers", list(&[("X", "a\nb".into())])),
        ("headers", list(&[("X Y", "a".into())])),
        ("thinking", list(&[("turbo", HostValue::list([]))])),
        ("thinking", list(&[("high", "[1]".into())])),
        ("quota", f(&[])),
    ];
    for (field, value) in wrong {
        assert_eq!(provider_fault(&[(field, value.clone())]), field, "{value:?}");
    }
    provider(&[("base_url", "http://10.0.0.1".into()), ("local", true.into())]).unwrap();
    provider(&[("headers", f(&["request"]))]).unwrap();
}

#[test]
fn case_14_adapters_have_the_functions_of_their_transport() {
    let build = ("build", f(&["model", "context", "opts"]));
    assert_eq!(refused_field("adapter", "x", &[("transport", "http_sse".into()), build.clone()]), "parse");
    assert_eq!(refused_field("adapter", "x", &[("transport", "inprocess".into())]), "stream");
    let classify = list(&[("build", f(&["a", "b", "c", "d"]))]);
    let json = ("transport", "http_json".into());
    assert_eq!(refused_field("adapter", "x", &[json.clone(), ("classify", classify)]), "classify");
    let wrong = list(&[("build", f(&["a"])), ("parse", f(&["a", "b", "c", "d", "e"]))]);
    assert_eq!(refused_field("adapter", "x", &[json.clone(), ("classify", wrong)]), "classify.build");
    assert_eq!(refused_field("adapter", "x", &[json.clone(), ("api", "y".into())]), "api");
    let built = spec("adapter", "x", &[json, build, ("parse", f(&["model", "opts"]))]);
    assert_eq!(built.spec.field("api"), Some(&"x".into()));
}

#[test]
fn case_15_a_model_is_named_by_provider_and_id() {
    let built = spec("model", "corp/corp-large", &[]).spec;
    let expected = [("provider", "corp"), ("id", "corp-large"), ("ref", "corp/corp-large")];
    assert!(expected.iter().all(|(field, value)| built.field(field) == Some(&(*value).into())));
    assert_eq!(refused_field("model", "corp-large", &[]), "name");
    assert_eq!(refused_field("model", "/a", &[]), "name");
    assert_eq!(refused_field("model", "corp/a", &[("id", "b".into())]), "id");
    assert_eq!(refused_field("model", "corp/a", &[("digest", "".into())]), "digest");
    let na: HostValue = HostData::Logical(vec![None]).into();
    spec("model", "corp/a/b", &[("context", na), ("release_date", HostData::Character(vec![None]).into())]);
}

#[test]
fn case_16_a_hook_is_for_a_known_event_or_a_channel() {
    let handler = ("handler", f(&["event", "ctx"]));
    let (field, problem) = refused("hook", "PreToolUse", &[("event", "PreToolUse".into()), handler.clone()]);
    assert_eq!((field.as_str(), problem.as_str()), ("event", "is not a gptr event (did you mean 'tool_call'?)"));
    assert_eq!(refused("hook", "x", &[("event", "frobnicate".into()), handler.clone()]).1, "is not a gptr event");
    spec("hook", "x:y", &[("event", "x:y".into()), handler]);
}

#[test]
fn case_17_a_tool_has_a_name_and_a_body() {
    let execute = ("execute", f(&["input", "ctx"]));
    assert_eq!(refused_field("tool", "bad name", &tool(std::slice::from_ref(&execute))), "name");
    assert_eq!(refused_field("tool", &"a".repeat(65), &tool(&[execute])), "name");
    assert_eq!(refused_field("tool", "t", &tool(&[])), "execute");
}

#[test]
fn case_18_parameters_are_derived_from_the_formals() {
    let fun = HostValue::function([("a", true), ("b", false)]);
    let built = spec("tool", "t", &tool(&[("fun", fun), ("exposure", "r".into())]));
    let json =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]});
    assert_eq!(built.schema.as_ref().unwrap().json(), &json);
    assert_eq!(built.spec.field("parameters").unwrap().field("required"), Some(&"a".into()));
    assert!(built.derived && built.generate.is_none());
    let again =
        validate(&builtin_kinds().into_iter().find(|k| k.name == "tool").unwrap(), &built.spec, &Catalogue).unwrap();
    assert!(again.derived && again.patch.is_empty(), "a built spec stays as it is: {:?}", again.patch);
}

#[test]
fn case_18_without_fun_there_are_no_properties() {
    let built = spec("tool", "t", &tool(&[("execute", f(&["input", "ctx"]))]));
    assert_eq!(built.schema.unwrap().json(), &json!({"type": "object", "properties": {}}));
    assert!(!built.derived);
}

#[test]
fn case_19_schema_and_formals_must_match() {
    let with =
        |fun: HostValue, schema: HostValue| tool(&[("fun", fun), ("parameters", schema), ("exposure", "r".into())]);
    assert_eq!(refused_field("tool", "t", &with(f(&["a"]), schema_list(&["a", "b"], &[]))), "fun");
    assert_eq!(refused_field("tool", "t", &with(f(&["a", "b"]), schema_list(&["a"], &[]))), "fun");
    spec("tool", "t", &with(HostValue::function([("a", true), ("...", true)]), schema_list(&["a", "b"], &[])));
    let array = list(&[("type", "array".into())]);
    assert_eq!(refused_field("tool", "t", &with(f(&[]), array)), "parameters");
    let execute = ("execute", f(&["input", "ctx"]));
    for bad in ["1bad", "a/b", "a\n"] {
        assert_eq!(refused_field("tool", "t", &tool(&[execute.clone(), ("namespace", bad.into())])), "namespace");
    }
    let long = [execute, ("namespace", "n".repeat(60).into())];
    assert_eq!(refused_field("tool", "long", &tool(&long)), "namespace");
}

#[test]
fn a_malformed_schema_fails_when_the_tool_is_built() {
    let execute = ("execute", f(&["input", "ctx"]));
    for bad in ["{\"type\":", "[1]", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"nonsense\"}}}", "{}"] {
        assert_eq!(
            refused_field("tool", "t", &tool(&[execute.clone(), ("parameters", bad.into())])),
            "parameters",
            "{bad}"
        );
    }
    let text = "{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"}},\"required\":[\"q\"]}";
    let built = spec("tool", "t", &tool(&[execute, ("parameters", text.into())]));
    let patched = built.patch.iter().find(|(n, _)| n == "parameters").unwrap();
    assert_eq!(patched.1.field("properties").unwrap().field("q").unwrap().field("type"), Some(&"string".into()));
}

#[test]
fn case_20_annotations_get_their_short_names() {
    let annotations = list(&[("readOnlyHint", true.into()), ("requires_user", false.into())]);
    let built = spec("tool", "t", &tool(&[("execute", f(&["input", "ctx"])), ("annotations", annotations)]));
    assert_eq!(built.spec.field("annotations").unwrap().names.as_deref().unwrap(), ["read_only", "requires_user"]);
}

#[test]
fn case_21_names_and_lengths() {
    let description = |n: usize| [("description", HostValue::from("\u{e4}".repeat(n)))];
    assert_eq!(refused_field("skill", "Bad", &description(1)), "name");
    assert_eq!(refused_field("skill", "good", &description(1025)), "description");
    spec("skill", "good", &description(1024));
    assert_eq!(refused_field("command", "/rows", &[("handler", f(&["args", "ctx"]))]), "name");
    assert_eq!(refused_field("setting", "Panel Size", &[]), "name");
    spec("setting", "panel.size", &[("default", HostData::Opaque(Default::default()).into())]);
}

#[test]
fn case_22_redaction_patterns_compile_and_spare_their_marker() {
    let rule = |pattern: &str| vec![("pattern", pattern.into()), ("marker", HostValue::from("key"))];
    for bad in [".*", "(", "secret", "(?=a)b", "(a)\\1"] {
        assert_eq!(refused_field("redaction_rule", "r", &rule(bad)), "pattern", "{bad}");
    }
    let built = spec("redaction_rule", "r", &rule("sk-[a-z0-9]{6,}"));
    assert_eq!(built.spec.field("profiles").unwrap().len(), 5);
}

#[test]
fn case_23_risk_rules_have_their_columns_and_levels() {
    let rows = |level: HostValue| frame(&[("package", "p".into()), ("function", "f".into()), ("level", level)]);
    assert_eq!(refused_field("risk_rule", "r", &[("rows", rows(7.into()))]), "rows");
    assert_eq!(refused_field("risk_rule", "r", &[("rows", rows(HostData::Integer(vec![None]).into()))]), "rows");
    assert_eq!(refused_field("risk_rule", "r", &[("rows", rows(1.into())), ("target", "command".into())]), "rows");
    assert_eq!(refused_field("risk_rule", "r", &[("rows", list(&[]))]), "rows");
    spec("risk_rule", "r", &[("rows", rows(4.0.into()))]);
}

#[test]
fn case_24_an_mcp_server_is_reached_one_way() {
    let url = ("url", "https://x".into());
    assert_eq!(refused_field("mcp_server", "m", &[url.clone(), ("type", "sse".into())]), "type");
    assert_eq!(refused_field("mcp_server", "m", &[]), "command");
    assert_eq!(refused_field("mcp_server", "m", &[url.clone(), ("command", "x".into())]), "command");
    spec("mcp_server", "m", &[("enabled", false.into())]);
    spec("mcp_server", "m", &[url]);
}

#[test]
fn case_25_missing_methods_of_a_ui_are_to_be_made() {
    let built = spec("ui", "u", &[("has_ui", f(&[])), ("select", f(&["x"])), ("input", f(&["prompt"]))]);
    let missing = ["questions", "notify", "permission"].map(str::to_owned).to_vec();
    assert_eq!(built.generate, Some(Generate::UiDefaults(missing)));
}

#[test]
fn case_26_a_trailing_newline_fails_in_every_name() {
    let handler = ("handler", f(&["args", "ctx"]));
    let execute = tool(&[("execute", f(&["input", "ctx"]))]);
    let cases: Vec<(&str, Vec<(&str, HostValue)>)> = vec![
        ("provider", vec![("api", "x".into())]),
        ("tool", execute),
        ("skill", vec![("description", "d".into())]),
        ("command", vec![handler]),
        ("setting", vec![]),
        ("env_alias", vec![("aliases", "a".into())]),
        ("kind", vec![("validate", f(&["spec"]))]),
    ];
    for (kind, fields) in cases {
        spec(kind, "good", &fields);
        refused(kind, "good\n", &fields);
    }
}

#[test]
fn case_27_agents_keep_what_is_written_and_have_free_names() {
    let built = spec("agent", "rev", &[("description", "d".into()), ("model", symbol("opus"))]);
    assert_eq!(built.spec.field("model"), Some(&symbol("opus")));
    assert_eq!(refused_field("agent", "rev", &[("mode", "yolo".into())]), "mode");
    assert_eq!(refused_field("agent", "text", &[]), "name");
    let whole = HostValue { class: vec!["gptr_provider".into(), "gptr_spec".into()], ..list(&[]) };
    spec("agent", "rev", &[("model", whole)]);
}

#[test]
fn case_30_a_tool_needs_a_description_and_a_known_exposure() {
    assert_eq!(refused("tool", "t", &[]), ("description".to_owned(), "is required".to_owned()));
    let (field, problem) = refused("tool", "t", &tool(&[("exposure", "public".into())]));
    assert_eq!((field.as_str(), problem.as_str()), ("exposure", "must be one of direct, r, deferred, hidden"));
}

#[test]
fn case_34_a_direct_tool_with_only_fun_gets_an_execute() {
    let fun = ("fun", f(&["a"]));
    let generate = |exposure: &str| spec("tool", "t", &tool(&[fun.clone(), ("exposure", exposure.into())])).generate;
    assert_eq!(generate("direct"), Some(Generate::Execute));
    assert_eq!((generate("r"), generate("deferred"), generate("hidden")), (None, None, None));
}

#[test]
fn case_35_an_r_tool_with_only_execute_gets_a_fun() {
    let base = [("execute", f(&["input", "ctx"])), ("exposure", HostValue::from("r"))];
    let generate = |parameters: HostValue| {
        let mut fields = base.to_vec();
        fields.push(("parameters", parameters));
        spec("tool", "t", &tool(&fields)).generate.unwrap()
    };
    let formals = [("x", true), ("note", false)].map(|(n, r)| (n.to_owned(), r)).to_vec();
    assert_eq!(generate(schema_list(&["note", "x"], &["x"])), Generate::Fun { formals });
    assert_eq!(generate(f(&[])), Generate::Fun { formals: vec![("...".to_owned(), false)] });
}

#[test]
fn a_tool_with_a_namespace_has_it_in_its_key() {
    let built = spec("tool", "search", &tool(&[("execute", f(&["input", "ctx"])), ("namespace", "trials".into())]));
    assert_eq!((built.name.as_str(), built.key.as_str()), ("search", "trials/search"));
}

#[test]
fn a_line_of_guidance_is_trimmed_and_shows_all_of_itself() {
    let text = |t: &str| [("text", HostValue::from(t))];
    assert_eq!(spec("guidance", "one", &text("  Ask first.  ")).spec.field("text"), Some(&"Ask first.".into()));
    spec("guidance", "one", &text(&"a".repeat(200)));
    for bad in ["   ", &"a".repeat(201), "two\nlines", "a\u{2028}b", "a\u{202e}b", "a\u{200b}b"] {
        assert_eq!(refused_field("guidance", "one", &text(bad)), "text", "{bad:?}");
    }
}

#[test]
fn the_name_of_the_kind_is_forced() {
    let kind = builtin_kinds().into_iter().find(|k| k.name == "setting").unwrap();
    let built = validate(&kind, &list(&[("kind", "other".into()), ("name", "a".into())]), &Catalogue).unwrap();
    assert_eq!(built.spec.field("kind"), Some(&"setting".into()));
}

#[test]
fn child_environments_and_presets() {
    assert_eq!(refused_field("child_env", "c", &[("drop", "(".into())]), "drop");
    let flags = HostValue { names: Some(vec!["house".into()]), ..true.into() };
    spec("preset", "p", &[("tools", f(&["human", "model"])), ("sections", flags)]);
    let (field, problem) = refused("preset", "p", &[("tools", f(&["human", "model", "mode"]))]);
    assert_eq!(
        (field.as_str(), problem.as_str()),
        ("tools", "must be a character vector or a function accepting (human, model)")
    );
    assert_eq!(refused_field("router", "r", &[("route", f(&["request", "ctx"])), ("timeout", 0.into())]), "timeout");
}

#[test]
fn no_spec_makes_validation_panic() {
    let odd = [
        HostValue::null(),
        HostValue::list([]),
        strings(&[]),
        f64::NAN.into(),
        HostData::Logical(vec![]).into(),
        HostData::Call("f(x)".into()).into(),
        frame(&[]),
    ];
    for kind in builtin_kinds() {
        for value in &odd {
            let mut spec = list(&[("kind", kind.name.as_str().into()), ("name", "x".into())]);
            kind.fields.iter().for_each(|field| spec.set(&field.name, value.clone()));
            if let Ok(built) = validate(&kind, &spec, &Catalogue) {
                assert_eq!(built.spec.field("kind").and_then(HostValue::as_str), Some(kind.name.as_str()));
            }
        }
    }
}

fn judged(reply: &HostReply, fields: &HostValue) -> (String, String) {
    match judge("reviewer", "stats", reply, fields) {
        Ok(()) => ("fine".into(), String::new()),
        Err(Error::InvalidSpec { kind, name, field, problem }) => {
            assert_eq!((kind.as_str(), name.as_str()), ("reviewer", "stats"));
            (field, problem)
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn case_28_a_kinds_own_validator_accepts_by_giving_the_spec_back() {
    let null = HostValue::null();
    let list = HostReply::Value(HostValue::named([("name", "stats".into())]));
    assert_eq!(judged(&list, &null).0, "fine");
    let (field, problem) = judged(&HostReply::error("no"), &null);
    assert_eq!((field.as_str(), problem.contains("no")), ("(validate)", true));
    let frame = HostValue { class: vec!["data.frame".into()], ..HostValue::list([]) };
    for no_list in [HostValue::from("yes"), true.into(), null.clone(), frame] {
        assert_eq!(judged(&HostReply::Value(no_list), &null).0, "(validate)");
    }
    for left in [HostReply::Interrupt, HostReply::Abort, HostReply::Timeout] {
        assert_eq!(judged(&left, &null).0, "(validate)");
    }
}

#[test]
fn an_invalid_spec_of_a_validator_passes_through() {
    let classes = ["gptr_error_invalid_spec", "gptr_error", "error", "condition"];
    let class: Vec<String> = classes.iter().map(|c| (*c).to_owned()).collect();
    let raised = HostReply::Condition { class, message: "Invalid".into() };
    let fields = HostValue::named([("field", "ask".into()), ("problem", "must be a question".into())]);
    assert_eq!(judged(&raised, &fields), ("ask".into(), "must be a question".into()));
    assert_eq!(judged(&raised, &HostValue::null()).0, "(validate)");
}

/// Kind, a good name, and the other fields that a spec of the kind needs.
type Named<'a> = (&'a str, &'a str, Vec<(&'a str, HostValue)>);

#[test]
fn case_26_names_with_a_trailing_newline_or_worse_are_refused_by_every_kind_with_a_pattern() {
    let named: [Named; 7] = [
        ("provider", "corp", vec![("api", "x".into())]),
        ("tool", "add", vec![("description", "d".into()), ("execute", f(&["input", "ctx"]))]),
        ("skill", "stats", vec![("description", "d".into())]),
        ("command", "rows", vec![("handler", f(&["args", "ctx"]))]),
        ("setting", "panel.size", vec![]),
        ("env_alias", "TOKEN", vec![("aliases", "t".into())]),
        ("kind", "reviewer", vec![("validate", f(&["spec"]))]),
    ];
    for (kind, name, fields) in named {
        assert!(try_spec(kind, name, &fields).is_ok(), "{kind}");
        for bad in ["", "\n", &format!("{name}\n"), &format!("{name}\r\n"), &format!("\n{name}")] {
            let refused = try_spec(kind, bad, &fields);
            assert!(matches!(refused, Err(Error::InvalidSpec { .. })), "{kind} {bad:?}: {refused:?}");
        }
    }
    let tool = [("description", "d".into()), ("execute", f(&["input", "ctx"]))];
    for namespace in ["demo\n", "de\u{200b}mo", "d\u{e9}mo", "demo ", &"n".repeat(65)] {
        let fields: Vec<(&str, HostValue)> = tool.iter().cloned().chain([("namespace", namespace.into())]).collect();
        assert!(
            matches!(try_spec("tool", "add", &fields), Err(Error::InvalidSpec { field, .. }) if field == "namespace")
        );
    }
}
