//! Redaction of JSON: every string but the opaque replay fields of a provider, which must come back byte for byte.

use crate::redact::Redactor;
use crate::value::Value;

/// Fields that a provider wants back unchanged.
const OPAQUE: [&str; 6] = ["signature", "thinking_signature", "encrypted_content", "thought_signature", "data", "json"];
/// Within these nothing is exempt.
const PLAIN: [&str; 8] = ["input", "arguments", "raw_arguments", "details", "params", "attrs", "headers", "settings"];

/// Secrets in the strings of a value become markers.
pub fn redact(redactor: &Redactor, value: &mut Value) {
    walk(redactor, value, true);
}

fn walk(redactor: &Redactor, value: &mut Value, exempt: bool) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(clean) = redactor.redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(redactor, item, exempt)),
        Value::Object(fields) => {
            for (name, item) in fields.iter_mut() {
                if exempt && item.is_string() && OPAQUE.contains(&name.as_str()) {
                    continue;
                }
                walk(redactor, item, exempt && !PLAIN.contains(&name.as_str()));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn case_96_strings_are_redacted_and_signatures_untouched() {
        let mut redactor = Redactor::default();
        redactor.add_secret("KEY", "hunter2-hunter2");
        let mut payload = json!({
            "text": "x hunter2-hunter2", "signature": "hunter2-hunter2",
            "input": {"signature": "hunter2-hunter2", "list": ["hunter2-hunter2"]}
        });
        redact(&redactor, &mut payload);
        assert_eq!(
            payload,
            json!({
                "text": "x [secret:KEY]", "signature": "hunter2-hunter2",
                "input": {"signature": "[secret:KEY]", "list": ["[secret:KEY]"]}
            })
        );
    }
}
