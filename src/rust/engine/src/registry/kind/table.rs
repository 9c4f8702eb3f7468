//! The built-in kinds.

use super::{BUILTIN_SOURCE, Kind, Resolve};
use crate::registry::field::{Field, FieldType as T};
use crate::registry::rules;
use crate::value::HostValue;

fn kind<const N: usize>(name: &str, fields: [Field; N]) -> Kind {
    Kind {
        name: name.to_owned(),
        resolve: Resolve::First,
        order_field: None,
        experimental: false,
        source: BUILTIN_SOURCE.to_owned(),
        fields: fields.into(),
        validator: None,
        consumed: true,
        rule: rules::none,
    }
}

/// The fields of a model record, alone or inside a provider.
pub(crate) fn model_fields() -> Vec<Field> {
    let texts = ["ref", "provider", "id", "label", "family", "api", "thinking", "digest", "server_version"];
    let flags = ["reasoning", "tool_call", "structured_output", "local"];
    let lists = ["thinking_levels", "input", "aliases"];
    let mut fields: Vec<Field> = texts.iter().map(|n| chr1(n)).collect();
    fields.push(one_of("type", &["chat", "classifier", "cli"]));
    fields.push(Field::new("release_date", [T::TextOrNa, T::NumberOrNa]));
    fields.extend(["context", "max_output", "cache_min"].iter().map(|n| Field::new(n, [T::NumberOrNa])));
    fields.extend(flags.iter().map(|n| lgl1(n)));
    fields.extend(lists.iter().map(|n| chr(n)));
    fields.push(Field::new("prices", [T::DataFrame]));
    fields.push(nlist("capabilities"));
    fields.push(nlist("decision"));
    fields.push(one_of("locality", &["local", "remote", "unknown"]));
    fields.push(one_of("status", &["active", "deprecated", "preview"]));
    fields
}

fn chr1(name: &str) -> Field {
    Field::new(name, [T::Text])
}

fn chr(name: &str) -> Field {
    Field::new(name, [T::Texts])
}

fn lgl1(name: &str) -> Field {
    Field::new(name, [T::Flag])
}

fn num1(name: &str) -> Field {
    Field::new(name, [T::Number])
}

fn int1(name: &str) -> Field {
    Field::new(name, [T::Whole])
}

fn nlist(name: &str) -> Field {
    Field::new(name, [T::NamedList])
}

fn any_fn(name: &str) -> Field {
    Field::new(name, [T::AnyFunction])
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

fn accepting(arguments: &[&str]) -> T {
    T::Function(owned(arguments))
}

fn function(name: &str, arguments: &[&str]) -> Field {
    Field::new(name, [accepting(arguments)])
}

fn one_of(name: &str, options: &[&str]) -> Field {
    Field::new(name, [T::OneOf(owned(options))])
}

fn no_list() -> HostValue {
    HostValue::list([])
}

fn no_strings() -> HostValue {
    HostValue::strings::<String>([])
}

const EXPOSURES: [&str; 4] = ["direct", "r", "deferred", "hidden"];
const PROFILES: [&str; 5] = ["persist", "context", "stream", "code", "user_data"];

/// The built-in kinds, sorted by name.
pub fn builtin_kinds() -> Vec<Kind> {
    let mut kinds = model_kinds();
    kinds.extend(tool_kinds());
    kinds.extend(decision_kinds());
    kinds.extend(prompt_kinds());
    kinds.extend(host_kinds());
    kinds.extend(secret_kinds());
    kinds.extend(experimental_kinds());
    kinds.sort_by(|a, b| a.name.cmp(&b.name));
    kinds
}

fn model_kinds() -> Vec<Kind> {
    let transports = ["http_sse", "http_ndjson", "http_json", "process_jsonl", "inprocess"];
    let model = Kind { fields: model_fields(), ..kind("model", []) };
    vec![
        kind(
            "provider",
            [
                chr1("id"),
                chr1("api").required(),
                chr1("base_url"),
                Field::new("auth", [T::Texts, T::AnyFunction]),
                Field::new("models", [T::List, T::Texts]),
                nlist("compat").or(no_list()),
                one_of("type", &["chat", "classifier", "cli"]).or("chat"),
                Field::new("headers", [T::NamedList, T::AnyFunction]).or(no_list()),
                any_fn("discover"),
                any_fn("status"),
                chr("aliases").or(no_strings()),
                lgl1("local").or(false),
                lgl1("offline").or(false),
                nlist("rate"),
                num1("context"),
                function("quota", &["usage"]),
                nlist("thinking"),
            ],
        )
        .rule(rules::provider::check),
        kind(
            "adapter",
            [
                chr1("api"),
                one_of("transport", &transports).required(),
                function("build", &["model", "context", "opts"]),
                function("parse", &["model", "opts"]),
                function("stream", &["model", "context", "opts"]),
                nlist("classify"),
                nlist("capabilities").or(no_list()),
            ],
        )
        .unread()
        .rule(rules::adapter::check),
        model.unread().rule(rules::model::check),
        kind(
            "router",
            [function("route", &["request", "ctx"]).required(), chr1("description"), num1("timeout").or(2.0)],
        )
        .unread()
        .rule(rules::model::check_router),
        kind(
            "estimator",
            [
                function("estimate", &["x", "class"]).required(),
                function("calibrate", &["state", "estimated", "reported"]),
            ],
        )
        .unread(),
        kind("cache_policy", [function("plan", &["parts", "caps", "session"]).required()]).unread(),
    ]
}

fn tool_kinds() -> Vec<Kind> {
    vec![
        kind(
            "tool",
            [
                chr1("description").required(),
                Field::new("parameters", [T::List, T::AnyFunction, T::Text]),
                function("execute", &["input", "ctx"]),
                any_fn("fun"),
                one_of("exposure", &EXPOSURES).or("direct"),
                chr1("namespace"),
                one_of("execution", &["sequential", "concurrent"]).or("sequential"),
                function("risk", &["input", "ctx"]),
                chr1("snippet"),
                chr("guidelines"),
                chr1("signature"),
                int1("output_tokens"),
                lgl1("record").or(true),
                function("render", &["call", "result", "width"]),
                function("available", &["ctx"]),
                nlist("annotations").or(no_list()),
                num1("timeout"),
            ],
        )
        .rule(rules::tool::check),
        kind(
            "mcp_server",
            [
                chr1("command"),
                chr1("url"),
                chr1("type"),
                Field::new("args", [T::Texts, T::List]),
                Field::new("env", [T::NamedList, T::Texts]),
                Field::new("headers", [T::NamedList, T::Texts]),
                chr1("cwd"),
                num1("timeout"),
                one_of("protocol", &["auto", "modern", "legacy"]),
                one_of("exposure", &EXPOSURES),
                Field::new("toolExposure", [T::NamedList, T::Texts]),
                lgl1("enabled"),
                lgl1("trusted"),
                nlist("oauth"),
                chr1("transport"),
                chr1("source"),
                chr("also_in"),
            ],
        )
        .unread()
        .rule(rules::tool::check_mcp_server),
        kind(
            "preset",
            [
                Field::new("tools", [T::Texts, accepting(&["human", "model"])]).required(),
                Field::new("sections", [T::NamedFlags, accepting(&["name"])]),
                one_of("preamble", &["standard", "short"]).or("standard"),
            ],
        )
        .unread(),
        kind(
            "risk_rule",
            [
                Field::new("rows", [T::DataFrame]).required(),
                one_of("target", &["function", "command"]).or("function"),
                lgl1("lower").or(false),
            ],
        )
        .unread()
        .all()
        .rule(rules::risk::check),
    ]
}

fn decision_kinds() -> Vec<Kind> {
    vec![
        kind(
            "hook",
            [
                chr1("event").required(),
                function("handler", &["event", "ctx"]).required(),
                Field::new("matcher", [T::Text, T::AnyFunction]),
            ],
        )
        .all()
        .rule(rules::named::check_hook),
        kind(
            "policy",
            [
                function("check", &["call", "ctx"]).required(),
                chr1("description"),
                int1("order").or(500),
                lgl1("required").or(false),
            ],
        )
        .ordered(),
        kind(
            "kind",
            [
                function("validate", &["spec"]).required(),
                one_of("resolve", &["first", "all"]).or("first"),
                chr("fields").or(no_strings()),
                chr1("order_field"),
                lgl1("experimental").or(true),
            ],
        )
        .rule(rules::named::check_kind),
        kind(
            "setting",
            [
                Field::new("default", [T::Any]),
                chr1("description"),
                one_of("scope", &["both", "user"]).or("both"),
                function("validate", &["value"]),
                chr("tighten"),
            ],
        )
        .unread()
        .rule(rules::named::check_setting),
    ]
}

fn prompt_kinds() -> Vec<Kind> {
    vec![
        kind(
            "skill",
            [
                chr1("description").required(),
                chr1("path"),
                chr1("dir"),
                chr1("source"),
                lgl1("disable_model_invocation").or(false),
                chr("allowed_tools"),
                num1("tokens"),
            ],
        )
        .unread()
        .rule(rules::prompt::check_skill),
        kind("prompt_template", [chr1("text").required(), chr1("description"), chr1("argument_hint"), chr1("source")])
            .unread(),
        kind(
            "command",
            [
                function("handler", &["args", "ctx"]).required(),
                chr1("description"),
                function("complete", &["prefix", "ctx"]),
            ],
        )
        .unread()
        .rule(rules::named::check_command),
        kind(
            "context_block",
            [
                function("provide", &["ctx", "budget"]).required(),
                one_of("placement", &["turn", "first", "both"]).or("turn"),
                one_of("authority", &["data", "operator"]).or("data"),
                int1("budget").or(300),
                int1("order").or(650),
            ],
        )
        .ordered()
        .rule(rules::prompt::check_budget),
        kind(
            "prompt_section",
            [
                Field::new("text", [T::Text, accepting(&["ctx"])]).required(),
                one_of("tier", &["T0", "T1"]).or("T0"),
                int1("order").or(500),
                int1("budget").or(300),
                chr1("parent"),
            ],
        )
        .ordered()
        .rule(rules::prompt::check_budget),
        kind("guidance", [chr1("text").required()]).all().experimental().rule(rules::prompt::check_guidance),
        kind(
            "compactor",
            [function("should", &["session", "ctx"]).required(), function("compact", &["session", "ctx"]).required()],
        )
        .unread(),
        kind(
            "doc_format",
            [
                chr("ext").required(),
                function("locate", &["text", "site"]).required(),
                function("render", &["block", "site"]).required(),
                function("upsert", &["text", "site", "lines", "block_id"]).required(),
                function("inert", &["lines"]).required(),
            ],
        )
        .unread(),
    ]
}

fn host_kinds() -> Vec<Kind> {
    vec![
        kind(
            "backend",
            [
                function("start", &["spec", "ctx"]).required(),
                any_fn("poll"),
                function("cancel", &["handle"]).required(),
                nlist("capabilities").or(no_list()),
            ],
        )
        .unread(),
        kind(
            "agent",
            [
                chr1("description"),
                Field::new("model", [T::Reference]),
                Field::new("tools", [T::Texts, T::List]),
                Field::new("skills", [T::Reference]),
                chr1("system"),
                chr1("backend").or("auto"),
                chr1("preset").or("minimal"),
                int1("max_turns"),
                one_of("mode", &["plan", "manual", "edits", "auto"]),
                chr("objects"),
                chr("export"),
                Field::new("returns", [T::List]),
                chr1("file"),
            ],
        )
        .unread()
        .rule(rules::named::check_agent),
        kind(
            "ui",
            [
                any_fn("has_ui").required(),
                any_fn("select").required(),
                any_fn("input"),
                any_fn("questions"),
                any_fn("notify"),
                function("permission", &["request"]),
            ],
        )
        .rule(rules::named::check_ui),
    ]
}

fn secret_kinds() -> Vec<Kind> {
    vec![
        kind(
            "secret_source",
            [
                function("resolve", &["name", "ctx"]).required(),
                function("list", &["ctx"]).required(),
                any_fn("store"),
                any_fn("forget"),
            ],
        )
        .unread()
        .all(),
        kind(
            "redaction_rule",
            [
                chr1("pattern").required(),
                chr("anchor"),
                chr1("marker").required(),
                Field::new("profiles", [T::SomeOf(owned(&PROFILES))]).or(HostValue::strings(PROFILES)),
            ],
        )
        .unread()
        .all()
        .rule(rules::secret::check_redaction_rule),
        kind("env_alias", [chr("aliases").required()]).unread().all().rule(rules::secret::check_env_alias),
        kind(
            "child_env",
            [
                one_of("base", &["inherit", "allowlist"]).or("inherit"),
                chr("keep").or(no_strings()),
                chr("drop").or(no_strings()),
                Field::new("set", [T::NamedList, T::Texts]),
                nlist("billing"),
            ],
        )
        .unread()
        .rule(rules::secret::check_child_env),
    ]
}

fn experimental_kinds() -> Vec<Kind> {
    let undo = ["fragment", "ctx", "force"];
    let kinds = vec![
        kind(
            "artifact_type",
            [
                function("build", &["id", "dir", "data", "ctx"]).required(),
                function("check", &["dir", "ctx"]).required(),
                function("launch", &["version_dir", "ctx"]).required(),
                function("stop", &["handle"]).required(),
            ],
        )
        .unread(),
        kind("frontend", [function("run", &["session"]).required()]).unread(),
        kind(
            "checkpointer",
            [
                one_of("scope", &["objects", "files", "state", "artifacts", "other"]).required(),
                function("before", &["call", "ctx"]).required(),
                function("after", &["call", "ctx", "token"]).required(),
                function("undo", &undo).required(),
                function("redo", &undo).required(),
                function("prune", &["live_keys", "ctx"]),
                function("describe", &["fragment"]),
            ],
        )
        .all()
        .unread(),
        kind(
            "route",
            [
                num1("order").required(),
                function("match", &["call"]).required(),
                function("run", &["call"]).required(),
                chr1("description"),
            ],
        )
        .unread()
        .ordered(),
        kind("service", [any_fn("fun").required()]),
        kind(
            "renderer",
            [function("render", &["entry", "width", "ctx"]).required(), function("doc", &["entry", "format"])],
        )
        .unread(),
        kind("search_source", [function("docs", &["ctx"]).required()]).all(),
        kind("store", ["open", "append", "read", "fork"].map(|n| any_fn(n).required())).unread(),
        kind("evaluator", [any_fn("eval").required()]).unread(),
    ];
    kinds.into_iter().map(Kind::experimental).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keep: impl Fn(&Kind) -> bool) -> Vec<String> {
        builtin_kinds().into_iter().filter(|k| keep(k)).map(|k| k.name).collect()
    }

    #[test]
    fn case_4_the_kinds_are_the_known_ones_sorted() {
        let all = "adapter agent artifact_type backend cache_policy checkpointer child_env command compactor context_block \
                   doc_format env_alias estimator evaluator frontend guidance hook kind mcp_server model policy preset \
                   prompt_section prompt_template provider redaction_rule renderer risk_rule route router search_source \
                   secret_source service setting skill store tool ui";
        assert_eq!(names(|_| true).join(" "), all);
        let experimental =
            "artifact_type checkpointer evaluator frontend guidance renderer route search_source service store";
        assert_eq!(names(|k| k.experimental).join(" "), experimental);
        let additive = "checkpointer context_block env_alias guidance hook policy prompt_section redaction_rule risk_rule \
                        route search_source secret_source";
        assert_eq!(names(|k| k.resolve == Resolve::All).join(" "), additive);
        assert_eq!(names(|k| k.order_field.is_some()).join(" "), "context_block policy prompt_section route");
    }

    #[test]
    fn kinds_that_something_reads_are_marked() {
        let read = "context_block guidance hook kind policy prompt_section provider search_source service tool ui";
        assert_eq!(names(|k| k.consumed).join(" "), read);
    }

    #[test]
    fn no_kind_has_a_field_twice() {
        for kind in builtin_kinds() {
            let mut names: Vec<&str> = kind.fields.iter().map(|f| f.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), kind.fields.len(), "{}", kind.name);
        }
    }
}
