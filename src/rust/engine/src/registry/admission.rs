//! What may be registered where: rules that hang on the source of a record and on what is there already.

use super::store::{Origin, Record, Snapshot};
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
    let Some(namespace) = text("namespace") else {
        if origin.source.starts_with("plugin:") && text("exposure") == Some("r") {
            return refuse("namespace", "is required for a plugin's tool with exposure \"r\"".into());
        }
        return Ok(());
    };
    if RESERVED.contains(&namespace) {
        return refuse("namespace", format!("must not be '{namespace}', which is reserved for built-in members"));
    }
    if snapshot.winner("tool", namespace).is_some_and(|r| is_plain_member(&r)) {
        return refuse("namespace", format!("must not be '{namespace}', an existing peter$ member"));
    }
    if text("exposure") == Some("direct") {
        return admit_wire_name(snapshot, valid, namespace).or_else(|problem| refuse("name", problem));
    }
    Ok(())
}

fn admit_wire_name(snapshot: &Snapshot, valid: &Validated, namespace: &str) -> Result<(), String> {
    let wire = wire_name(Some(namespace), &valid.name);
    if wire.chars().count() > LONGEST_WIRE_NAME {
        return Err(format!("gives the name '{wire}' on the wire, which has more than {LONGEST_WIRE_NAME} characters"));
    }
    for other in snapshot.list("tool") {
        if other.key != valid.key && record_wire_name(&other) == wire {
            return Err(format!("gives the name '{wire}' on the wire, which '{}' has already", other.key));
        }
    }
    Ok(())
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
    wire_name(record.text("namespace"), record.text("name").unwrap_or_default())
}

/// True for a tool that is a member of `peter$` without a namespace.
pub fn is_plain_member(record: &Record) -> bool {
    let exposure = record.text("exposure").unwrap_or("direct");
    record.text("namespace").is_none()
        && exposure != "hidden"
        && (record.has_function("fun") || (exposure == "deferred" && record.has_function("execute")))
}

/// True for a tool that is a member of `peter$` within its namespace.
pub fn is_namespaced_member(record: &Record) -> bool {
    record.text("namespace").is_some()
        && record.text("exposure") != Some("hidden")
        && (record.has_function("fun") || record.has_function("execute"))
}
