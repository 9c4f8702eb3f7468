//! The rows that users see of the registry.

use std::rc::Rc;

use crate::error::Error;
use crate::hook::catalogue::EVENTS;
use crate::prompt::estimate::{CharCounts, Class};
use crate::registry::kind::Resolve;
use crate::registry::store::{Record, Registry};
use crate::registry::tokens;
use crate::value::{HostData, HostValue, Value, json};

/// The rows of `gptr_registry()`: kinds in the order asked, else in byte order; records in registration order.
///
/// # Errors
/// `UnknownKind`.
pub fn records(registry: &Registry, kinds: Option<&[String]>) -> Result<Value, Error> {
    let names = kinds.map_or_else(|| registry.kind_names(), <[String]>::to_vec);
    let snapshot = registry.snapshot(None);
    let mut rows = Vec::new();
    for name in names {
        let kind = registry.kind(&name)?;
        for record in registry.process_records(&name) {
            let overridden = kind.resolve == Resolve::First
                && snapshot.winner(&name, &record.key).is_some_and(|winner| !Rc::ptr_eq(&winner, &record));
            rows.push(row(&record, kind.experimental, overridden));
        }
    }
    Ok(Value::Array(rows))
}

fn row(record: &Record, experimental: bool, overridden: bool) -> Value {
    json!({
        "kind": record.kind, "name": record.key, "source": record.source, "rank": record.rank,
        "state": if overridden { "overridden" } else { "active" },
        "tokens": tokens::declaration(&record.kind, &record.spec, record.schema.as_ref()), "experimental": experimental
    })
}

/// The rows of `gptr_registry(diagnostics = TRUE)`, oldest first.
pub fn diagnostics(registry: &Registry) -> Value {
    let rows = registry.diagnostics();
    let rows = rows
        .iter()
        .map(|d| json!({"time": d.time, "source": d.source, "event": d.event, "class": d.class, "message": d.message}));
    Value::Array(rows.collect())
}

/// The rows of the table of kinds, in byte order. `fields` are the names, `required` those that have no default.
///
/// # Errors
/// `UnknownKind`, never for the registry's own names.
pub fn kinds(registry: &Registry) -> Result<Value, Error> {
    let rows = registry.kind_names().into_iter().map(|name| {
        let kind = registry.kind(&name)?;
        let fields: Vec<&str> = kind.fields.iter().map(|f| f.name.as_str()).collect();
        let required: Vec<&str> = kind.fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect();
        Ok(json!({
            "name": name, "all": kind.is_additive(), "experimental": kind.experimental, "consumed": kind.consumed,
            "fields": fields, "required": required
        }))
    });
    Ok(Value::Array(rows.collect::<Result<_, Error>>()?))
}

/// The rows of the catalogue of events, in its order.
pub fn events() -> Value {
    let rows = EVENTS.iter().map(|e| {
        json!({
            "name": e.name, "semantics": e.semantics.as_str(), "fail_closed": e.fail_closed, "payload": e.payload,
            "returns": e.returns, "emitted": e.emitted
        })
    });
    Value::Array(rows.collect())
}

/// The estimate of texts joined by newline; NA counts as "NA".
///
/// # Errors
/// `InvalidArgument` for anything but text, and for an unknown class.
pub fn estimate_tokens(text: &HostValue, class: &str) -> Result<Value, Error> {
    let HostData::Character(items) = &text.data else {
        return Err(Error::argument("x", "a character vector", &text.describe()));
    };
    let class = Class::from_name(class).ok_or_else(|| {
        let known: Vec<String> = Class::names().map(|n| format!("\"{n}\"")).collect();
        Error::argument("class", &format!("one of {}", known.join(", ")), &format!("\"{class}\""))
    })?;
    Ok(json!(CharCounts::of_elements(items.iter().map(|s| s.as_deref())).tokens(class)))
}
