//! The manifest of a plugin package, `gptr/plugin.json`: what it may say, and what is wrong with one.

use crate::prompt::estimate::{Class, estimate};
use crate::value::{Map, Value, json};

/// What a manifest says, as far as a check needs it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Manifest {
    /// The required version of the API.
    pub api: Option<String>,
    /// The function that is the package's factory, as `pkg::fun`.
    pub entry: Option<String>,
    /// Kind and name of each record that it promises, in the order written.
    pub provides: Vec<(String, String)>,
    /// Name, signature and description of each declaration.
    pub declarations: Vec<Declaration>,
    /// What is wrong with it; a part that is wrong is absent above.
    pub problems: Vec<String>,
}

/// What the prompt shows of a record that is not loaded yet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Declaration {
    /// The name.
    pub name: String,
    /// The signature line.
    pub signature: Option<String>,
    /// The description.
    pub description: Option<String>,
}

impl Manifest {
    /// What a check shows: `{problems, api, entry, provides, tokens}`; `tokens` is the cost of the declarations.
    pub fn to_json(&self) -> Value {
        let provides: Vec<Value> =
            self.provides.iter().map(|(kind, name)| json!({"kind": kind, "name": name})).collect();
        let tokens: u64 = self.declarations.iter().map(Declaration::tokens).sum();
        json!({"problems": self.problems, "api": self.api, "entry": self.entry, "provides": provides, "tokens": tokens})
    }
}

impl Declaration {
    fn tokens(&self) -> u64 {
        let words: Vec<&str> = [&self.signature, &self.description].into_iter().flatten().map(String::as_str).collect();
        estimate(&words.join(" "), Class::Prose)
    }
}

/// Reads a manifest. It never fails: all that is wrong is in [`Manifest::problems`].
pub fn read(text: &str) -> Manifest {
    let mut out = Manifest::default();
    let json: Value = match serde_json::from_str(text) {
        Ok(json) => json,
        Err(error) => {
            out.problems.push(format!("is not JSON: {error}"));
            return out;
        }
    };
    let Value::Object(fields) = json else {
        out.problems.push("must be a JSON object".to_owned());
        return out;
    };
    if fields.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
        out.problems.push("'name' must be a string".to_owned());
    }
    if let Some(gptr) = fields.get("gptr") {
        out.api = requirement(gptr, &mut out.problems);
    }
    match fields.get("extension") {
        None => {}
        Some(Value::Object(extension)) => read_extension(extension, &mut out),
        Some(_) => out.problems.push("'extension' must be an object".to_owned()),
    }
    out
}

/// `{"api": "1.0"}`, or the requirement alone.
fn requirement(gptr: &Value, problems: &mut Vec<String>) -> Option<String> {
    let found = gptr.as_str().or_else(|| gptr.as_object()?.get("api")?.as_str());
    if found.is_none() {
        problems.push("'gptr' must be an object with the string 'api'".to_owned());
    }
    found.map(str::to_owned)
}

fn read_extension(extension: &Map<String, Value>, out: &mut Manifest) {
    out.entry = extension.get("entry").and_then(Value::as_str).filter(|e| is_entry(e)).map(str::to_owned);
    if out.entry.is_none() {
        out.problems.push("'extension.entry' must be pkg::fun".to_owned());
    }
    if extension.get("activation").is_some_and(|a| !a.is_string()) {
        out.problems.push("'extension.activation' must be a string".to_owned());
    }
    if let Some(provides) = extension.get("provides") {
        read_provides(provides, out);
    }
    if let Some(declarations) = extension.get("declarations") {
        read_declarations(declarations, out);
    }
}

/// An exported function of a package: a package's name, two colons, a syntactic name.
fn is_entry(text: &str) -> bool {
    let word = |s: &str| {
        let starts = s.starts_with(|c: char| c.is_ascii_alphabetic());
        starts && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
    };
    text.split_once("::").is_some_and(|(package, function)| word(package) && !package.contains('_') && word(function))
}

fn read_provides(provides: &Value, out: &mut Manifest) {
    let Some(kinds) = provides.as_object() else {
        out.problems.push("'extension.provides' must be an object of arrays of names".to_owned());
        return;
    };
    for (kind, names) in kinds {
        let names: Option<Vec<&str>> = names.as_array().and_then(|a| a.iter().map(Value::as_str).collect());
        let Some(names) = names.filter(|n| !kind.is_empty() && n.iter().all(|name| !name.is_empty())) else {
            out.problems.push(format!("'extension.provides.{kind}' must be an array of names"));
            continue;
        };
        for (i, name) in names.iter().enumerate() {
            if names[..i].contains(name) {
                out.problems.push(format!("'extension.provides.{kind}' has '{name}' twice"));
            } else {
                out.provides.push((kind.clone(), (*name).to_owned()));
            }
        }
    }
}

fn read_declarations(declarations: &Value, out: &mut Manifest) {
    let Some(entries) = declarations.as_object() else {
        out.problems.push("'extension.declarations' must be an object of objects".to_owned());
        return;
    };
    for (name, entry) in entries {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
        let wrong = |field: &str| entry.get(field).is_some_and(|v| !v.is_string());
        if !entry.is_object() || wrong("signature") || wrong("description") {
            out.problems
                .push(format!("'extension.declarations.{name}' may have the strings 'signature' and 'description'"));
            continue;
        }
        let (signature, description) = (text("signature"), text("description"));
        out.declarations.push(Declaration { name: name.clone(), signature, description });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_manifest_is_read() {
        let read = read(
            r#"{"name": "trials", "gptr": {"api": ">= 1.0, < 2"}, "extension": {"entry": "trials::gptr_extension",
                "activation": "lazy", "provides": {"tool": ["trials/search"], "hook": ["tool_result"]},
                "declarations": {"trials/search": {"signature": "peter$trials$search(words: string)"}}}}"#,
        );
        assert_eq!(read.problems, Vec::<String>::new());
        assert_eq!(read.api.as_deref(), Some(">= 1.0, < 2"));
        assert_eq!(read.entry.as_deref(), Some("trials::gptr_extension"));
        let provides: Vec<(&str, &str)> = read.provides.iter().map(|(k, n)| (k.as_str(), n.as_str())).collect();
        assert_eq!(provides, [("tool", "trials/search"), ("hook", "tool_result")]);
        assert_eq!(read.declarations.len(), 1);
    }

    #[test]
    fn a_requirement_may_stand_alone() {
        let read = read(r#"{"name": "x", "gptr": "1.0"}"#);
        assert_eq!((read.api.as_deref(), read.problems.len()), (Some("1.0"), 0));
    }

    #[test]
    fn case_129_what_is_no_object_has_one_problem() {
        for text in ["\"x\"", "1", "[]", "null", "{", ""] {
            assert_eq!(read(text).problems.len(), 1, "{text}");
        }
    }

    #[test]
    fn each_wrong_part_is_named() {
        for (text, part) in [
            (r#"{}"#, "'name'"),
            (r#"{"name": 1}"#, "'name'"),
            (r#"{"name": "x", "gptr": {}}"#, "'gptr'"),
            (r#"{"name": "x", "extension": "f"}"#, "'extension'"),
            (r#"{"name": "x", "extension": {}}"#, "entry"),
            (r#"{"name": "x", "extension": {"entry": "a:::f"}}"#, "entry"),
            (r#"{"name": "x", "extension": {"entry": "a::f()"}}"#, "entry"),
            (r#"{"name": "x", "extension": {"entry": "a::f\n"}}"#, "entry"),
            (r#"{"name": "x", "extension": {"entry": "f"}}"#, "entry"),
            (r#"{"name": "x", "extension": {"entry": "a::f", "activation": true}}"#, "activation"),
            (r#"{"name": "x", "extension": {"entry": "a::f", "provides": ["tool"]}}"#, "provides"),
            (r#"{"name": "x", "extension": {"entry": "a::f", "provides": {"tool": "x"}}}"#, "provides.tool"),
            (r#"{"name": "x", "extension": {"entry": "a::f", "provides": {"tool": ["x", "x"]}}}"#, "'x' twice"),
            (r#"{"name": "x", "extension": {"entry": "a::f", "provides": {"tool": [""]}}}"#, "provides.tool"),
            (r#"{"name": "x", "extension": {"entry": "a::f", "declarations": []}}"#, "declarations"),
            (
                r#"{"name": "x", "extension": {"entry": "a::f", "declarations": {"x": {"signature": 1}}}}"#,
                "declarations.x",
            ),
            (r#"{"name": "x", "extension": {"entry": "a::f", "declarations": {"x": "s"}}}"#, "declarations.x"),
        ] {
            let problems = read(text).problems;
            assert!(problems.len() == 1 && problems[0].contains(part), "{text}: {problems:?}");
        }
    }
}
