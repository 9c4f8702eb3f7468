//! The rows that users see of the registry, as columns: a table of 10,000 rows crosses a border as a few vectors.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::error::Error;
use crate::hook::catalogue::EVENTS;
use crate::prompt::estimate::{self, CharCounts, Class};
use crate::registry::filter::Effective;
use crate::registry::kind::{Kind, Resolve};
use crate::registry::store::{Record, Registry, Snapshot};
use crate::value::{HostData, HostValue, Value, json};

/// The columns of `gptr_registry()`: kinds in the order asked, else in byte order; records of the process in the order
/// of registration.
///
/// # Errors
/// `UnknownKind`.
pub fn records(registry: &Registry, kinds: Option<&[String]>) -> Result<HostValue, Error> {
    let names = kinds.map_or_else(|| registry.kind_names(), <[String]>::to_vec);
    let snapshot = registry.snapshot(None);
    let mut rows: Vec<(Rc<Record>, &'static str, bool)> = Vec::new();
    for name in names {
        let kind = registry.kind(&name)?;
        for record in snapshot.every(&name) {
            let state = state(&snapshot, &kind, &record);
            rows.push((record, state, kind.experimental));
        }
    }
    let column = |f: fn(&Record) -> &str| HostValue::strings(rows.iter().map(|(r, _, _)| f(r)));
    Ok(HostValue::named([
        ("kind", column(|r| &r.kind)),
        ("name", column(|r| &r.key)),
        ("source", column(|r| &r.source)),
        ("rank", HostData::Integer(rows.iter().map(|(r, _, _)| Some(i64::from(r.rank))).collect()).into()),
        ("state", HostValue::strings(rows.iter().map(|(_, state, _)| *state))),
        ("tokens", HostData::Double(rows.iter().map(|(r, _, _)| Some(r.tokens() as f64)).collect()).into()),
        ("experimental", HostData::Logical(rows.iter().map(|(_, _, e)| Some(*e)).collect()).into()),
    ]))
}

/// `lazy`, `disabled`, `overridden` or `active`.
fn state(snapshot: &Snapshot, kind: &Kind, record: &Rc<Record>) -> &'static str {
    if record.lazy {
        "lazy"
    } else if snapshot.is_disabled(record) {
        "disabled"
    } else if kind.resolve == Resolve::First && !wins(snapshot, record) {
        "overridden"
    } else {
        "active"
    }
}

fn wins(snapshot: &Snapshot, record: &Rc<Record>) -> bool {
    snapshot.winner(&record.kind, &record.key).is_some_and(|winner| Rc::ptr_eq(&winner, record))
}

/// The columns of `gptr_why()`: every record whose key is `name` or ends in `/name`, kinds in byte order, within a kind
/// what wins first.
pub fn why(registry: &Registry, name: &str, session: Option<&str>) -> HostValue {
    let snapshot = registry.snapshot(session);
    let mut rows: Vec<Explained> = Vec::new();
    for kind in snapshot.kinds() {
        let found = snapshot.every(&kind.name);
        let found = found.into_iter().filter(|r| r.key == name || r.key.rsplit('/').next() == Some(name));
        let mut of_key: BTreeMap<String, Vec<Rc<Record>>> = BTreeMap::new();
        for record in found {
            of_key.entry(record.key.clone()).or_default().push(record);
        }
        let mut explained: Vec<Explained> =
            of_key.into_values().flat_map(|same| explain(&snapshot, kind, same)).collect();
        explained.sort_by_key(|e| !e.wins);
        rows.extend(explained);
    }
    let texts = |f: fn(&Explained) -> &str| HostValue::strings(rows.iter().map(f));
    HostValue::named([
        ("kind", texts(|e| &e.record.kind)),
        ("name", texts(|e| &e.record.key)),
        ("source", texts(|e| &e.record.source)),
        ("rank", HostData::Integer(rows.iter().map(|e| Some(i64::from(e.record.rank))).collect()).into()),
        ("state", texts(|e| e.state)),
        (
            "file",
            HostData::Character(rows.iter().map(|e| e.record.place.as_ref().map(|p| p.file.clone())).collect()).into(),
        ),
        ("line", HostData::Integer(rows.iter().map(|e| line_of(&e.record)).collect()).into()),
        ("loaded", HostData::Double(rows.iter().map(|e| Some(e.record.time)).collect()).into()),
        ("extension", texts(|e| &e.record.extension)),
        ("reason", texts(|e| &e.reason)),
        ("wins", HostData::Logical(rows.iter().map(|e| Some(e.wins)).collect()).into()),
        ("shadows", texts(|e| &e.shadows)),
    ])
}

fn line_of(record: &Record) -> Option<i64> {
    record.place.as_ref().and_then(|p| p.line.map(i64::from))
}

struct Explained {
    record: Rc<Record>,
    state: &'static str,
    wins: bool,
    reason: String,
    shadows: String,
}

/// The records of one kind and key, in the order in which they count.
fn explain(snapshot: &Snapshot, kind: &Kind, mut same: Vec<Rc<Record>>) -> Vec<Explained> {
    let listed = if kind.is_additive() { snapshot.list(&kind.name) } else { Vec::new() };
    let place = |r: &Rc<Record>| listed.iter().position(|l| Rc::ptr_eq(l, r)).unwrap_or(usize::MAX);
    same.sort_by_key(|r| (snapshot.is_disabled(r), place(r), r.precedence()));
    let enabled: Vec<Rc<Record>> = same.iter().filter(|r| !snapshot.is_disabled(r)).cloned().collect();
    same.into_iter()
        .map(|record| {
            let is_disabled = snapshot.is_disabled(&record);
            let first = enabled.first().filter(|w| !kind.is_additive() && !Rc::ptr_eq(w, &record));
            let reason = match (is_disabled, first, kind.is_additive()) {
                (true, _, _) => turned_off(snapshot.filter(), &record),
                (_, Some(winner), _) => loses(winner, &record),
                (_, None, true) => "every record of this kind counts".to_owned(),
                (_, None, false) => prevails(&record, enabled.get(1)),
            };
            let wins = !is_disabled && first.is_none();
            let hidden = enabled.iter().filter(|r| wins && !kind.is_additive() && !Rc::ptr_eq(r, &record));
            let shadows = hidden.map(|r| r.source.as_str()).collect::<Vec<_>>().join(";");
            Explained { state: state(snapshot, kind, &record), wins, reason, shadows, record }
        })
        .collect()
}

fn turned_off(filter: Option<&Effective>, record: &Record) -> String {
    let hit = filter.and_then(|f| f.hits(record).next());
    hit.map_or_else(String::new, |(aim, scope)| {
        format!("turned off by -{} ({} filters)", aim.key(record), scope.as_str())
    })
}

fn loses(winner: &Record, record: &Record) -> String {
    if winner.rank == record.rank {
        format!("{} registered it first at the same rank {}", winner.extension, record.rank)
    } else {
        format!("{} (rank {}) comes before rank {}", winner.extension, winner.rank, record.rank)
    }
}

fn prevails(record: &Record, next: Option<&Rc<Record>>) -> String {
    let lazy = if record.lazy { "; its code runs at first use" } else { "" };
    match next {
        None => format!("nothing else of this name counts{lazy}"),
        Some(other) if other.rank == record.rank => {
            format!("registered before {} at the same rank{lazy}", other.extension)
        }
        Some(other) => format!("rank {} comes before {} (rank {}){lazy}", record.rank, other.extension, other.rank),
    }
}

/// The columns of `gptr_registry(diagnostics = TRUE)`, oldest first.
pub fn diagnostics(registry: &Registry) -> HostValue {
    let rows = registry.diagnostics();
    HostValue::named([
        ("time", HostData::Double(rows.iter().map(|d| Some(d.time)).collect()).into()),
        ("source", HostValue::strings(rows.iter().map(|d| d.source.as_str()))),
        ("event", HostValue::strings(rows.iter().map(|d| d.event.as_str()))),
        ("class", HostValue::strings(rows.iter().map(|d| d.class.as_str()))),
        ("message", HostValue::strings(rows.iter().map(|d| d.message.as_str()))),
    ])
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

/// The estimate of an image of this size in pixels.
pub fn image_tokens(width: Option<u32>, height: Option<u32>) -> u64 {
    estimate::image(width, height)
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

#[cfg(test)]
mod tests;
