//! `edit`: exact replacements in a file, all or none.

mod apply;
mod diff;
mod fuzzy;

use super::encoding::Document;
use super::text::{BYTES, failed, string};
use super::write::replace;
use super::{Answer, Context, Output};
use crate::error::Error;
use crate::value::{HostValue, Map, Value, json};
use apply::{Edit, Outcome};

/// Tokens of a diff that a model reads.
const DIFF_TOKENS: u64 = 400;

/// The input of a model in its usual form: `edits`, a list of `{oldText, newText}`. Also taken are one edit in place of
/// a list, an edit at the top, JSON text, and the names of R.
pub fn tidy(mut input: Value) -> Value {
    let Some(fields) = input.as_object_mut() else { return input };
    let mut top = Map::new();
    for (name, usual) in
        [("oldText", "oldText"), ("old_text", "oldText"), ("newText", "newText"), ("new_text", "newText")]
    {
        if let Some(value) = fields.remove(name) {
            top.insert(usual.to_owned(), value);
        }
    }
    if let Some(Value::String(text)) = fields.get("edits")
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
        && (parsed.is_array() || parsed.is_object())
    {
        fields.insert("edits".into(), parsed);
    }
    if fields.get("edits").is_some_and(Value::is_object) {
        let one = fields.remove("edits");
        fields.insert("edits".into(), Value::Array(one.into_iter().collect()));
    }
    for edit in fields.get_mut("edits").and_then(Value::as_array_mut).into_iter().flatten() {
        usual_names(edit);
    }
    if !top.is_empty() {
        let edits = fields.entry("edits").or_insert_with(|| json!([]));
        if let Some(edits) = edits.as_array_mut() {
            edits.push(Value::Object(top));
        }
    }
    input
}

fn usual_names(edit: &mut Value) {
    let Some(fields) = edit.as_object_mut() else { return };
    for (name, usual) in [("old_text", "oldText"), ("new_text", "newText"), ("replace_all", "replaceAll")] {
        if !fields.contains_key(usual)
            && let Some(value) = fields.remove(name)
        {
            fields.insert(usual.to_owned(), value);
        }
    }
}

/// Replaces `oldText` by `newText`, for each of `edits`, in the file at `path`. `replaceAll` at the top goes for all.
///
/// # Errors
/// Argument `edits`, `edits[i]` or `path`: see the texts. Nothing is written then.
pub fn edit(input: &Value, context: &Context) -> Answer {
    let path = context.site.path(string(input, "path").unwrap_or_default());
    let shown = path.to_string_lossy().into_owned();
    let edits = edits_of(input, &shown)?;
    let meta = path.metadata().map_err(|e| failed("path", &path, &e))?;
    if meta.is_dir() {
        return Err(failed("path", &path, &std::io::ErrorKind::IsADirectory.into()));
    }
    if !meta.is_file() {
        return Err(Error::argument_message("path", format!("EINVAL: not a regular file: {shown}")));
    }
    let bytes = std::fs::read(&path).map_err(|e| failed("path", &path, &e))?;
    let document = Document::read(&bytes);
    if document.text.contains(&0) {
        return Err(Error::argument_message("path", format!("A binary file can't be edited: {shown}")));
    }
    context.check()?;
    let outcome = apply::all(&document.text, &edits, &shown, &|| context.check())?;
    let (new, encoding) = document.write(&outcome.text);
    if new == bytes {
        let message = format!("The edits change nothing in {shown}: newText is what is there already.");
        return Err(Error::argument_message("edits", message));
    }
    context.check()?;
    replace(&path, &new)?;
    let mut reasons = outcome.reasons();
    if encoding != document.encoding {
        reasons.push(format!("file re-encoded as {}", encoding.name()));
    }
    if document.invalid {
        reasons.push("invalid UTF-8 bytes kept".to_owned());
    }
    let diff = diff::unified(&document.text, &outcome.text, outcome.touched());
    Ok(report(Report { path: &shown, outcome: &outcome, reasons, diff, encoding: encoding.name() }, context))
}

fn edits_of(input: &Value, path: &str) -> Result<Vec<Edit>, Error> {
    let given = input.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if given.is_empty() {
        return Err(Error::argument_message("edits", format!("There are no edits for {path}.")));
    }
    let every = input.get("replaceAll").and_then(Value::as_bool).unwrap_or(false);
    let read = |(i, edit): (usize, &Value)| {
        let arg = apply::name(i, given.len());
        let field = |name: &str| {
            let text = edit.get(name).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| {
                Error::argument_message(&arg, format!("`{arg}`: `{name}` must be a string (editing {path})."))
            })
        };
        let own = edit.get("replaceAll").and_then(Value::as_bool).unwrap_or(false);
        let edit = Edit { old: field("oldText")?, new: field("newText")?, all: every || own };
        if edit.old.is_empty() {
            let message = format!("`{arg}`: oldText is empty (editing {path}). Use write to make a file.");
            return Err(Error::argument_message(&arg, message));
        }
        Ok(edit)
    };
    given.iter().enumerate().map(read).collect()
}

struct Report<'a> {
    path: &'a str,
    outcome: &'a Outcome,
    reasons: Vec<String>,
    diff: String,
    encoding: &'static str,
}

fn report(report: Report<'_>, context: &Context) -> Output {
    let Report { path, outcome, reasons, diff, encoding } = report;
    let blocks = outcome.spans.len();
    let mut text = format!("Successfully replaced {blocks} block(s) in {path}.");
    if !reasons.is_empty() {
        text.push_str(&format!("\n[{}]", reasons.join("; ")));
    }
    if context.asker.takes_value() {
        return Output::value(HostValue::named([
            ("path", path.into()),
            ("message", text.into()),
            ("diff", diff::within_bytes(&diff, BYTES).into()),
            ("n_edits", (blocks as f64).into()),
            ("fuzzy", outcome.fuzzy.into()),
        ]));
    }
    let short = diff::within_tokens(&diff, DIFF_TOKENS);
    let details = json!({
        "path": path, "n_edits": blocks, "fuzzy": outcome.fuzzy, "diff": short, "document": Value::Null,
        "deviated": !reasons.is_empty(), "reasons": reasons, "encoding": encoding
    });
    let mut output = Output::text(format!("{text}\n{short}"));
    output.details = details.as_object().cloned().unwrap_or_default();
    output
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
