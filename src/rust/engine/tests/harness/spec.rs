//! From the JSON of a table to what a host hands to the engine.

use gptr_engine::value::{HostData, HostValue, Value, json};

/// A record as a table writes it: `[origin] kind name [=closure] [fields]`. `native:<name>` in place of a closure is a
/// body of the engine's.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// `user` (the default), `session`, `builtin` or `plugin:<name>`.
    pub origin: String,
    /// The kind.
    pub kind: String,
    /// The name; the event of a hook.
    pub name: String,
    /// What `remove` and `released` call it: the closure, else the name.
    pub label: String,
    /// The fields; a string `=f` stands for the closure `f`.
    pub fields: Value,
}

/// The field that `=closure` fills, and the formals of closures, by kind and field.
const MAIN: &[(&str, &str)] = &[
    ("tool", "execute"),
    ("hook", "handler"),
    ("policy", "check"),
    ("prompt_section", "text"),
    ("context_block", "provide"),
];
const FORMALS: &[(&str, &[&str])] = &[
    ("execute", &["input", "ctx"]),
    ("risk", &["input", "ctx"]),
    ("handler", &["event", "ctx"]),
    ("check", &["call", "ctx"]),
    ("provide", &["ctx", "budget"]),
    ("script", &["request"]),
    ("matcher", &["event"]),
];
const ORIGINS: [&str; 3] = ["user", "session", "builtin"];

impl Entry {
    /// Reads a line of a table.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (head, json) = match line.find('{') {
            Some(at) => line.split_at(at),
            None => (line, "{}"),
        };
        let mut words: Vec<&str> = head.split_whitespace().collect();
        let named = words.first().is_some_and(|w| ORIGINS.contains(w) || w.starts_with("plugin:"));
        let origin = if named { words.remove(0) } else { "user" };
        let (kind, name) = match words[..] {
            [kind, name] | [kind, name, _] => (kind, name),
            _ => return Err(format!("not a record: {line}")),
        };
        let mut fields: Value = serde_json::from_str(json).map_err(|e| format!("{e} in {json}"))?;
        let mut label = name;
        if let Some(closure) = words.get(2) {
            let main = MAIN.iter().find(|m| m.0 == kind).ok_or_else(|| format!("no closure for a {kind}"))?;
            fields[main.1] = json!(closure);
            label = closure.trim_start_matches("native:").trim_start_matches('=');
        }
        if let Some(params) = fields.as_object_mut().and_then(|f| f.remove("params")) {
            fields["parameters"] = parameters(&params);
        }
        Ok(Entry { origin: origin.into(), kind: kind.into(), name: name.into(), label: label.into(), fields })
    }

    /// The spec as the host would hand it over.
    pub fn spec(&self) -> HostValue {
        let mut spec = HostValue::named([("kind", self.kind.as_str().into()), ("name", self.name.as_str().into())]);
        spec.class = vec![format!("gptr_{}", self.kind), "gptr_spec".into()];
        if self.kind == "hook" {
            spec.set("event", self.name.as_str().into());
        }
        if self.kind == "tool" {
            spec.set("description", "A tool.".into());
        }
        for (field, value) in self.fields.as_object().into_iter().flatten() {
            spec.set(field, field_value(field, value));
        }
        spec
    }

    /// The closure in a field.
    pub fn closure(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()?.strip_prefix('=').map(|c| c.split('(').next().unwrap_or(c))
    }
}

/// `{"x": "integer", "y": "string?"}` as a schema; what ends in `?` is optional.
fn parameters(params: &Value) -> Value {
    let mut properties = json!({});
    let mut required = Vec::new();
    for (name, kind) in params.as_object().into_iter().flatten() {
        let kind = kind.as_str().unwrap_or("string");
        if !kind.ends_with('?') {
            required.push(name.clone());
        }
        properties[name] = json!({"type": kind.trim_end_matches('?')});
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn field_value(field: &str, value: &Value) -> HostValue {
    if let Some(closure) = value.as_str().and_then(|s| s.strip_prefix('=')) {
        return signature(field, closure);
    }
    if let Some(native) = value.as_str().and_then(|s| s.strip_prefix("native:")) {
        let mut handler = signature(field, field);
        handler.class = vec![format!("gptr_native_{native}"), "gptr_native".into(), "function".into()];
        return handler;
    }
    if field == "parameters" && value.is_object() {
        return value.to_string().as_str().into();
    }
    host(value)
}

/// `f(x, y)` has these formals, `f` those of its field; the field `fun` may leave out a default.
fn signature(field: &str, closure: &str) -> HostValue {
    if let Some((_, formals)) = closure.split_once('(') {
        let formals = formals.trim_end_matches(')').split(',').map(str::trim).filter(|f| !f.is_empty());
        return HostValue::function(formals.map(|f| (f.trim_end_matches('?').to_owned(), !f.ends_with('?'))));
    }
    let formals = FORMALS.iter().find(|f| f.0 == field).map_or(&["ctx"][..], |f| f.1);
    HostValue::function(formals.iter().map(|f| ((*f).to_owned(), true)))
}

/// JSON as a host's value: objects are named lists, arrays of strings character vectors, other arrays lists.
pub fn host(value: &Value) -> HostValue {
    match value {
        Value::Null => HostValue::null(),
        Value::Bool(b) => (*b).into(),
        Value::String(s) => s.as_str().into(),
        Value::Number(n) => match n.as_i64().and_then(|i| i32::try_from(i).ok()) {
            Some(i) => i.into(),
            None => n.as_f64().unwrap_or_default().into(),
        },
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            let mut strings = HostValue::strings(items.iter().filter_map(Value::as_str));
            strings.class = vec!["AsIs".into()];
            strings
        }
        Value::Array(items) => HostValue::list(items.iter().map(host)),
        Value::Object(fields) => HostValue::named(fields.iter().map(|(k, v)| (k.as_str(), host(v)))),
    }
}

/// A spec of a fake provider.
pub fn provider(name: &str, function: bool) -> HostValue {
    let model = json!({"id": format!("{name}-1"), "context": 200_000, "max_output": 8192});
    let mut spec = host(&json!({
        "kind": "provider", "name": name, "id": name, "api": "fake", "local": true, "offline": true, "models": [model]
    }));
    spec.class = vec!["gptr_provider".into(), "gptr_spec".into()];
    if function {
        spec.set("script", signature("script", "script"));
    }
    spec
}

/// A vector as a list that names nothing, for a malformed answer.
pub fn data_frame() -> HostValue {
    let mut frame = HostValue::named([("decision", "allow".into())]);
    frame.class = vec!["data.frame".into()];
    frame
}

/// A character vector with NA.
pub fn missing_string() -> HostValue {
    HostData::Character(vec![None]).into()
}
