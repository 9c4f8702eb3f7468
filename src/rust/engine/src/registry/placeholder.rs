//! What an extension promises before its code runs: names, and what a catalogue says of them.

use super::origin::Origin;
use super::record::NewRecord;
use crate::error::Error;
use crate::value::HostValue;

/// One promised record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// Its kind.
    pub kind: String,
    /// Its key: `<namespace>/<name>` for a tool with a namespace, the event for a hook.
    pub key: String,
}

/// Reads `provides`: a named list from kinds to names.
///
/// # Errors
/// `InvalidArgument` (`provides`): no named list, a kind or a name that is empty or comes twice.
pub fn promises(provides: &HostValue) -> Result<Vec<Promise>, Error> {
    let expected = "a named list from kinds to unique, non-empty names";
    let wrong = || Error::argument("provides", expected, &provides.describe());
    if provides.is_null() {
        return Ok(Vec::new());
    }
    if !provides.is_plain_list() || !provides.uniquely_named() {
        return Err(wrong());
    }
    let mut out: Vec<Promise> = Vec::new();
    for (kind, keys) in provides.names.iter().flatten().zip(provides.items().unwrap_or_default()) {
        for key in texts(keys).ok_or_else(wrong)? {
            let promise = Promise { kind: kind.clone(), key: key.to_owned() };
            if key.is_empty() || out.contains(&promise) {
                return Err(wrong());
            }
            out.push(promise);
        }
    }
    Ok(out)
}

/// Strings of a character vector, or of a list of single strings as JSON gives it.
fn texts(v: &HostValue) -> Option<Vec<&str>> {
    match v.items() {
        Some(items) => items.iter().map(HostValue::as_str).collect(),
        None => v.as_strings(),
    }
}

/// The placeholder for a promise. `declarations` is a named list from names to list(`signature`, `description`).
pub fn placeholder(promise: &Promise, declarations: &HostValue, origin: Origin) -> NewRecord {
    let local = promise.key.split_once('/').map_or(promise.key.as_str(), |(_, name)| name);
    let declaration =
        declarations.field(&promise.key).or_else(|| declarations.field(local)).cloned().unwrap_or_default();
    let spec = HostValue::named([
        ("kind", promise.kind.as_str().into()),
        ("name", promise.key.as_str().into()),
        ("lazy", true.into()),
        ("source", origin.source.as_str().into()),
        ("declaration", declaration),
    ]);
    NewRecord {
        kind: promise.kind.clone(),
        key: promise.key.clone(),
        spec,
        schema: None,
        origin,
        attachment: None,
        lazy: true,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn provides_names_each_thing_once() {
        let good = HostValue::named([
            ("tool", HostValue::strings(["t/search", "t/get"])),
            ("hook", HostValue::list(["input".into()])),
        ]);
        let keys: Vec<String> = promises(&good).unwrap().into_iter().map(|p| format!("{}:{}", p.kind, p.key)).collect();
        assert_eq!(keys, ["tool:t/search", "tool:t/get", "hook:input"]);
        let bad = [
            HostValue::named([("tool", HostValue::strings(["a", "a"]))]),
            HostValue::named([("tool", "".into())]),
            HostValue::named([("tool", 1.into())]),
            HostValue::named([("tool", "a".into()), ("tool", "b".into())]),
            HostValue::named([("", "a".into())]),
            HostValue::list(["a".into()]),
            "tool".into(),
        ];
        for provides in bad {
            assert!(
                matches!(promises(&provides), Err(Error::InvalidArgument { arg, .. }) if arg == "provides"),
                "{provides:?}"
            );
        }
    }
}
