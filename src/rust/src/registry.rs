//! Specs, records, listings.

use std::any::Any;
use std::rc::Rc;

use extendr_api::prelude::*;
use gptr_engine::engine::Registered;
use gptr_engine::error::Error;
use gptr_engine::listing;
use gptr_engine::provider::fake::Fake;
use gptr_engine::registry::store::Origin;
use gptr_engine::registry::validate::Generate;
use gptr_engine::value::{HostValue, Value, json};

use crate::answer::{answer, engine, guarded};
use crate::arg;
use crate::value::{host_value, named_list, robj, robj_host};

/// The features of the API.
#[extendr]
fn engine_features() -> Robj {
    answer(|| Ok(json!(engine().features())))
}

/// Validates a spec: what to set in it, and which function to generate.
#[extendr]
fn spec_validate(spec: Robj) -> Robj {
    guarded(|| {
        let engine = engine();
        let valid = engine.validate(&engine.registry, &host_value(&spec))?;
        Ok(named_list(vec![("patch", patch(&valid.patch)), ("generate", robj(&generate(valid.generate.as_ref())))]))
    })
}

/// The changes to a spec as a named list.
pub fn patch(patch: &[(String, HostValue)]) -> Robj {
    robj_host(&HostValue::named(patch.iter().cloned()))
}

/// The function that is missing in a spec.
pub fn generate(generate: Option<&Generate>) -> Value {
    match generate {
        None => Value::Null,
        Some(Generate::Execute) => json!({"type": "execute"}),
        Some(Generate::Fun { formals }) => {
            let (names, required): (Vec<&String>, Vec<bool>) = formals.iter().map(|(n, r)| (n, *r)).unzip();
            json!({"type": "fun", "formals": names, "required": required})
        }
        Some(Generate::UiDefaults(methods)) => json!({"type": "ui", "methods": methods}),
    }
}

/// Stores a spec. `origin` is list(source, rank, extension, session, place).
#[extendr]
fn registry_add(spec: Robj, origin: Robj, fake: Robj) -> Robj {
    guarded(|| {
        let engine = engine();
        let origin = read_origin(&host_value(&origin));
        let added = engine.register(&engine.registry, &host_value(&spec), origin, attachment(&fake))?;
        Ok(registered(&added))
    })
}

/// What R does after a registration: the record's id, the patch, what was released.
pub fn registered(added: &Registered) -> Robj {
    let released = engine().registry.released();
    named_list(vec![
        ("id", robj(&json!(added.record.id))),
        ("patch", patch(&added.patch)),
        ("generate", robj(&generate(added.generate.as_ref()))),
        ("released", robj(&json!(released))),
    ])
}

/// The state of a fake provider that a spec carries.
pub fn attachment(fake: &Robj) -> Option<Rc<dyn Any>> {
    let pointer: ExternalPtr<Rc<Fake>> = fake.clone().try_into().ok()?;
    let state: Rc<Fake> = (*pointer).clone();
    Some(state)
}

/// Where a record comes from, as R says it.
pub fn read_origin(v: &HostValue) -> Origin {
    let text = |name: &str| v.field(name).and_then(HostValue::as_str).map(str::to_owned);
    let source = text("source").unwrap_or_else(|| "user".into());
    let place = v
        .field("place")
        .and_then(|p| Some((p.field("file")?.as_str()?.to_owned(), p.field("line")?.as_number()? as u32)));
    Origin {
        rank: v.field("rank").and_then(HostValue::as_number).map_or(3, |x| x as u8),
        extension: text("extension").unwrap_or_else(|| source.clone()),
        source,
        session: text("session"),
        load: None,
        place,
    }
}

/// Removes a record.
#[extendr]
fn registry_remove(id: Robj) -> Robj {
    answer(|| {
        let id = &arg::text(&id, "id")?;
        let registry = engine().registry.clone();
        let removed = registry.remove(id);
        Ok(json!({"removed": removed, "released": registry.released()}))
    })
}

/// Removes all records of a source.
#[extendr]
fn registry_unload(source: Robj) -> Robj {
    answer(|| {
        let source = &arg::text(&source, "source")?;
        let registry = engine().registry.clone();
        let count = registry.remove_where(|r| r.source == *source);
        registry.diagnose(source, "unload", "unloaded", &format!("{count} record(s) removed"));
        Ok(json!({"count": count, "released": registry.released()}))
    })
}

/// The rows of `gptr_registry()`.
#[extendr]
fn registry_list(kinds: Robj) -> Robj {
    answer(|| {
        let kinds = host_value(&kinds);
        let asked: Option<Vec<String>> = kinds.as_strings().map(|k| k.into_iter().map(str::to_owned).collect());
        listing::records(&engine().registry, asked.as_deref())
    })
}

/// The table of kinds.
#[extendr]
fn registry_kinds() -> Robj {
    answer(|| listing::kinds(&engine().registry))
}

/// The catalogue of events.
#[extendr]
fn event_catalogue() -> Robj {
    answer(|| Ok(listing::events()))
}

/// Changes whenever a listing may have changed.
#[extendr]
fn registry_version() -> f64 {
    engine().registry.version() as f64
}

/// The diagnostics.
#[extendr]
fn registry_diagnostics() -> Robj {
    answer(|| Ok(listing::diagnostics(&engine().registry)))
}

/// Writes a diagnostic.
#[extendr]
fn registry_diagnose(source: Robj, event: Robj, class: Robj, message: Robj) -> Robj {
    answer(|| {
        let source = &arg::text(&source, "source")?;
        let event = &arg::text(&event, "event")?;
        let class = &arg::text(&class, "class")?;
        let message = &arg::text(&message, "message")?;
        let engine = engine();
        let text = engine.redactor.borrow().redact(message).into_owned();
        engine.registry.diagnose(source, event, class, &text);
        Ok(Value::Null)
    })
}

/// Starts the next generation.
#[extendr]
fn registry_reload() -> Robj {
    answer(|| Ok(json!(engine().registry.next_generation())))
}

/// Id and home of the record that wins, or NULL.
#[extendr]
fn registry_winner(kind: Robj, name: Robj, session: Robj) -> Robj {
    answer(|| {
        let kind = &arg::text(&kind, "kind")?;
        let name = &arg::text(&name, "name")?;
        let session = host_value(&session);
        let engine = engine();
        engine.registry.kind(kind)?;
        let winner = engine.registry.snapshot(session.as_str()).winner(kind, name);
        Ok(winner.map_or(Value::Null, |r| json!({"id": r.id, "home": r.session})))
    })
}

/// Secrets in a text become markers.
#[extendr]
fn redact_text(text: Robj) -> Robj {
    answer(|| {
        let engine = engine();
        let redactor = engine.redactor.borrow();
        let text = host_value(&text);
        let lines =
            text.as_strings().ok_or_else(|| Error::argument("x", "a character vector without NA", &text.describe()))?;
        Ok(Value::from(lines.iter().map(|l| redactor.redact(l).into_owned()).collect::<Vec<_>>().join("\n")))
    })
}

/// The token estimate of a text.
#[extendr]
fn estimate_tokens(text: Robj, class: Robj) -> Robj {
    answer(|| {
        let class = &arg::text(&class, "class")?;
        listing::estimate_tokens(&host_value(&text), class)
    })
}

extendr_module! {
    mod registry;
    fn engine_features;
    fn spec_validate;
    fn registry_add;
    fn registry_remove;
    fn registry_unload;
    fn registry_list;
    fn registry_kinds;
    fn event_catalogue;
    fn registry_version;
    fn registry_diagnostics;
    fn registry_diagnose;
    fn registry_reload;
    fn registry_winner;
    fn redact_text;
    fn estimate_tokens;
}
