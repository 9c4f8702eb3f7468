//! What may be registered where: rules that hang on the source of a record and on what is there already.

use std::rc::Rc;

use super::origin::Origin;
use super::record::Record;
use super::snapshot::Snapshot;
use super::validate::Validated;
use crate::error::Error;
use crate::value::HostValue;

/// Namespaces that built-in members have or will have.
pub const RESERVED: [&str; 20] = [
    "read", "write", "edit", "grep", "find", "ls", "help", "search", "describe", "plot", "out", "sh", "script", "bg",
    "jobs", "py", "sql", "knit", "app", "mcp",
];

/// Names on the wire have at most this many characters.
const LONGEST_WIRE_NAME: usize = 64;

/// Checks a validated spec against its origin and against what is registered.
///
/// # Errors
/// `invalid_spec` with the field that is refused.
pub fn admit(snapshot: &Snapshot, kind: &str, valid: &Validated, origin: &Origin) -> Result<(), Error> {
    let refuse = |field: &str, problem: String| Err(Error::spec(kind, &valid.name, field, problem));
    let text = |field: &str| valid.spec.field(field).and_then(HostValue::as_str);
    if kind == "context_block" && text("authority") == Some("operator") && origin.rank < 3 {
        let problem = format!("may be \"operator\" only from rank 3 on, but this record has rank {}", origin.rank);
        return refuse("authority", problem);
    }
    if kind != "tool" {
        return Ok(());
    }
    if let Some(namespace) = text("namespace") {
        if RESERVED.contains(&namespace) {
            return refuse("namespace", format!("must not be '{namespace}', which is reserved for built-in members"));
        }
        if snapshot.winner("tool", namespace).is_some_and(|r| is_plain_member(&r)) {
            return refuse("namespace", format!("must not be '{namespace}', an existing peter$ member"));
        }
    } else if origin.source.starts_with("plugin:") && text("exposure") == Some("r") {
        return refuse("namespace", "is required for a plugin's tool with exposure \"r\"".into());
    }
    admit_wire_name(snapshot, valid).or_else(|problem| refuse("name", problem))
}

/// Two tools of which a model may call one directly must not have one name on the wire, whichever came first, and
/// whether or not a filter turns one off now.
fn admit_wire_name(snapshot: &Snapshot, valid: &Validated) -> Result<(), String> {
    let text = |field: &str| valid.spec.field(field).and_then(HostValue::as_str);
    let exposure = text("exposure").unwrap_or("direct");
    if exposure == "hidden" {
        return Ok(());
    }
    let wire = wire_name(text("namespace"), &valid.name);
    if exposure == "direct" && wire.chars().count() > LONGEST_WIRE_NAME {
        return Err(format!("gives the name '{wire}' on the wire, which has more than {LONGEST_WIRE_NAME} characters"));
    }
    let offered = |r: &&Rc<Record>| !r.lazy && r.text("exposure") != Some("hidden") && r.key != valid.key;
    let clashes = |r: &&Rc<Record>| exposure == "direct" || r.text("exposure").unwrap_or("direct") == "direct";
    let others = snapshot.all_on_wire(&wire).chain(snapshot.all_of_key("tool", &wire));
    match others.filter(offered).find(clashes) {
        Some(other) => Err(format!("gives the name '{wire}' on the wire, which '{}' has already", other.key)),
        None => Ok(()),
    }
}

/// The name of a direct tool on the wire.
pub fn wire_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(ns) => format!("{}__{name}", ns.replace('.', "_")),
        None => name.to_owned(),
    }
}

/// The name of a record's tool on the wire.
pub fn record_wire_name(record: &Record) -> String {
    wire_name(record.namespace(), record.local_name())
}

/// True for a tool that is a member of `peter$` without a namespace.
pub fn is_plain_member(record: &Record) -> bool {
    let exposure = record.text("exposure").unwrap_or("direct");
    record.namespace().is_none()
        && exposure != "hidden"
        && (record.has_function("fun") || (exposure == "deferred" && record.has_function("execute")))
}

/// True for a namespace that has the name of a member, or is reserved for one.
pub fn is_taken(snapshot: &Snapshot, namespace: &str) -> bool {
    RESERVED.contains(&namespace) || snapshot.winner("tool", namespace).is_some_and(|r| is_plain_member(&r))
}

/// True for a tool that is a member of `peter$` within its namespace; one that is only promised counts.
pub fn is_namespaced_member(record: &Record) -> bool {
    record.namespace().is_some()
        && record.text("exposure") != Some("hidden")
        && (record.lazy || record.has_function("fun") || record.has_function("execute"))
}

#[cfg(test)]
mod tests;
