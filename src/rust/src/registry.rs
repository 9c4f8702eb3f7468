//! Specs, records, listings.

use std::any::Any;
use std::rc::Rc;

use extendr_api::prelude::*;
use gptr_engine::engine::Registered;
use gptr_engine::error::Error;
use gptr_engine::extension;
use gptr_engine::listing;
use gptr_engine::provider::fake::Fake;
use gptr_engine::registry::builtin::Declaration;
use gptr_engine::registry::filter::{Filter, Scope};
use gptr_engine::registry::kind::Validator;
use gptr_engine::registry::origin::Origin;
use gptr_engine::registry::store::{Found, Record, Service};
use gptr_engine::registry::validate::{self, Generate};
use gptr_engine::value::{HostData, HostValue, Value, json};

use crate::answer::{answer, engine, guarded};
use crate::arg;
use crate::task::read_reply;
use crate::value::{host_value, named_list, needs_r, robj, robj_host};

/// The features of the API; `load` adds the kinds that a load has staged.
#[extendr]
fn engine_features(load: Robj) -> Robj {
    answer(|| Ok(json!(engine().features(number(&load)))))
}

/// A number, or none.
pub fn number(x: &Robj) -> Option<u64> {
    host_value(x).as_number().map(|x| x as u64)
}

/// Validates a spec: what to set in it, which function to generate, and who else has to agree. `load` is the load whose
/// factory runs, if any: the kinds that it staged count.
#[extendr]
fn spec_validate(spec: Robj, load: Robj) -> Robj {
    guarded(|| {
        let engine = engine();
        let load = number(&load);
        let registry = load.map_or_else(|| Ok(engine.registry.clone()), |l| engine.load_registry(l))?;
        let valid = engine.validate(&registry, load, &host_value(&spec))?;
        Ok(named_list(vec![
            ("patch", patch(&valid.patch)),
            ("generate", robj(&generate(valid.generate.as_ref()))),
            ("validator", robj(&validator(valid.validator.as_ref()))),
        ]))
    })
}

/// Where R finds the function that validates a kind's specs.
fn validator(validator: Option<&Validator>) -> Value {
    validator.map_or(Value::Null, |v| json!({"record": v.record, "home": v.home, "token": v.token}))
}

/// Whether a kind's own validator accepted a spec. `reply` is list(type, value, class, message, fields).
#[extendr]
fn validator_outcome(kind: Robj, name: Robj, reply: Robj) -> Robj {
    answer(|| {
        let (kind, name) = (arg::text(&kind, "kind")?, arg::text(&name, "name")?);
        let reply = host_value(&reply);
        let fields = reply.field("fields").cloned().unwrap_or_default();
        validate::judge(&kind, &name, &read_reply(&reply), &fields).map(|()| json!(true))
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

/// Stores a spec. `origin` is list(source, rank, extension, session, place). A spec of a kind that R validates is only
/// stored when that was done; one that R has to prepare is not: list(unreadable).
#[extendr]
fn registry_add(spec: Robj, origin: Robj, fake: Robj, validated: Robj, prepared: Robj) -> Robj {
    guarded(|| {
        if !arg::flag(&prepared, "prepared")? && needs_r(&spec) {
            return Ok(robj(&json!({"unreadable": true})));
        }
        let engine = engine();
        let origin = Origin::checked(&host_value(&origin))?;
        let spec = host_value(&spec);
        if let Some(validator) = unasked(None, &spec, &validated)? {
            return Ok(validator);
        }
        engine.register(&engine.registry, &spec, origin, attachment(&fake)).map(|added| registered(&added))
    })
}

/// What R has to do before this spec is stored, when it has not done so.
pub fn unasked(load: Option<u64>, spec: &HostValue, validated: &Robj) -> std::result::Result<Option<Robj>, Error> {
    if host_value(validated).as_flag() == Some(true) {
        return Ok(None);
    }
    let engine = engine();
    let registry = load.map_or_else(|| Ok(engine.registry.clone()), |l| engine.load_registry(l))?;
    let who = engine.asks(&registry, load, spec)?;
    Ok(who.map(|v| named_list(vec![("validator", robj(&validator(Some(&v))))])))
}

/// What R does after a registration: the record's id, what was released, and what is to change in the spec, if anything.
pub fn registered(added: &Registered) -> Robj {
    let (id, released) = (json!(added.record.id), json!(engine().registry.released()));
    let consumed = json!(added.consumed);
    // What a constructor built is complete: one small list then.
    if added.patch.is_empty() && added.generate.is_none() {
        return robj(&json!({"id": id, "released": released, "consumed": consumed}));
    }
    named_list(vec![
        ("id", robj(&id)),
        ("patch", patch(&added.patch)),
        ("generate", robj(&generate(added.generate.as_ref()))),
        ("released", robj(&released)),
        ("consumed", robj(&consumed)),
    ])
}

/// The state of a fake provider that a spec carries.
pub fn attachment(fake: &Robj) -> Option<Rc<dyn Any>> {
    let pointer: ExternalPtr<Rc<Fake>> = fake.clone().try_into().ok()?;
    let state: Rc<Fake> = (*pointer).clone();
    Some(state)
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
        let engine = engine();
        let count = extension::unload(&engine, source);
        Ok(json!({"count": count, "released": engine.registry.released()}))
    })
}

/// The columns of `gptr_registry()`.
#[extendr]
fn registry_list(kinds: Robj) -> Robj {
    guarded(|| listing::records(&engine().registry, strings(&kinds).as_deref()).map(|rows| robj_host(&rows)))
}

fn strings(x: &Robj) -> Option<Vec<String>> {
    host_value(x).as_strings().map(|all| all.into_iter().map(str::to_owned).collect())
}

/// The columns of `gptr_why()`.
#[extendr]
fn registry_why(name: Robj, session: Robj) -> Robj {
    guarded(|| {
        let name = &arg::text(&name, "name")?;
        Ok(robj_host(&listing::why(&engine().registry, name, host_value(&session).as_str())))
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

/// Changes whenever a look-up may find something else.
#[extendr]
fn registry_stamp() -> f64 {
    engine().registry.stamp() as f64
}

/// Changes whenever a listing may have changed.
#[extendr]
fn registry_version() -> f64 {
    engine().registry.version() as f64
}

/// The columns of the diagnostics.
#[extendr]
fn registry_diagnostics() -> Robj {
    guarded(|| Ok(robj_host(&listing::diagnostics(&engine().registry))))
}

/// Writes a diagnostic.
#[extendr]
fn registry_diagnose(source: Robj, event: Robj, class: Robj, message: Robj) -> Robj {
    answer(|| {
        let text = |x: &Robj, name: &str| arg::text(x, name);
        let (source, event) = (text(&source, "source")?, text(&event, "event")?);
        let (class, message) = (text(&class, "class")?, text(&message, "message")?);
        engine().registry.diagnose(&source, &event, &class, &message);
        Ok(Value::Null)
    })
}

/// Starts the next generation: list(generation, moved = list(from, to), released).
#[extendr]
fn registry_reload() -> Robj {
    guarded(|| {
        let engine = engine();
        let reloaded = extension::reload(&engine)?;
        let side =
            |f: fn(&(u64, u64)) -> u64| HostData::Double(reloaded.moved.iter().map(|m| Some(f(m) as f64)).collect());
        let moved = HostValue::named([("from", side(|m| m.0).into()), ("to", side(|m| m.1).into())]);
        Ok(named_list(vec![
            ("generation", robj(&json!(reloaded.generation))),
            ("moved", robj_host(&moved)),
            ("released", robj(&json!(engine.registry.released()))),
        ]))
    })
}

/// Where the record that wins is, or which load brings it; NULL when there is none.
#[extendr]
fn registry_winner(kind: Robj, name: Robj, session: Robj) -> Robj {
    answer(|| {
        let (kind, name) = (arg::text(&kind, "kind")?, arg::text(&name, "name")?);
        let found = engine().registry.snapshot(host_value(&session).as_str()).find(&kind, &name);
        Ok(match found {
            Found::Absent => Value::Null,
            Found::Record(record) => place(&record),
            Found::Lazy(load) => lazy(load),
        })
    })
}

/// Where the records of a kind are, the one that goes before the others first.
#[extendr]
fn registry_preferred(kind: Robj, session: Robj) -> Robj {
    answer(|| {
        let mut records = engine().registry.snapshot(host_value(&session).as_str()).list(&arg::text(&kind, "kind")?);
        records.sort_by_key(|r| r.precedence());
        Ok(records.iter().map(|r| place(r)).collect())
    })
}

fn place(record: &Record) -> Value {
    json!({"type": "record", "id": record.id, "home": record.session})
}

/// What R is told of a placeholder.
pub fn lazy(load: u64) -> Value {
    json!({"type": "lazy", "load": load})
}

/// The listing of a kind: list(lazy, names, ids, homes, placeholders).
#[extendr]
fn registry_records(kind: Robj, session: Robj) -> Robj {
    guarded(|| {
        let kind = &arg::text(&kind, "kind")?;
        let engine = engine();
        engine.registry.kind(kind)?;
        let snapshot = engine.registry.snapshot(host_value(&session).as_str());
        let records = snapshot.list(kind);
        let texts =
            |f: fn(&Record) -> Option<String>| HostData::Character(records.iter().map(|r| f(r)).collect()).into();
        let promised = records.iter().filter(|r| r.lazy).map(|r| (r.key.clone(), r.spec.clone()));
        Ok(robj_host(&HostValue::named([
            ("lazy", loads(&snapshot.pending(kind))),
            ("names", texts(|r| Some(r.key.clone()))),
            ("ids", texts(|r| (!r.lazy).then(|| r.id.clone()))),
            ("homes", texts(|r| r.session.clone())),
            ("placeholders", HostValue::named(promised)),
        ])))
    })
}

fn loads(all: &[u64]) -> HostValue {
    HostData::Double(all.iter().map(|l| Some(*l as f64)).collect()).into()
}

/// The loads to activate before these kinds are listed.
#[extendr]
fn registry_pending(kinds: Robj, session: Robj) -> Robj {
    guarded(|| {
        let snapshot = engine().registry.snapshot(host_value(&session).as_str());
        let mut all: Vec<u64> =
            strings(&kinds).unwrap_or_default().iter().flat_map(|kind| snapshot.pending(kind)).collect();
        all.sort_unstable();
        all.dedup();
        Ok(robj_host(&loads(&all)))
    })
}

/// The names of a kind in the order of registration.
#[extendr]
fn registry_names(kind: Robj, session: Robj) -> Robj {
    guarded(|| {
        let kind = &arg::text(&kind, "kind")?;
        let names = engine().registry.snapshot(host_value(&session).as_str()).names(kind);
        Ok(robj_host(&HostValue::strings(names)))
    })
}

/// Sets the filters of a scope: list(effective, refused, pending).
#[extendr]
fn registry_filters(filters: Robj, scope: Robj) -> Robj {
    guarded(|| {
        let registry = engine().registry.clone();
        let scope = Scope::checked(&host_value(&scope))?;
        let change = registry.set_filters(scope, Filter::list(&host_value(&filters))?);
        Ok(robj_host(&HostValue::named([
            ("effective", HostValue::strings(change.effective)),
            ("refused", HostValue::strings(change.refused)),
            ("pending", HostValue::strings(registry.due_builtins())),
        ])))
    })
}

/// The filters of a scope.
#[extendr]
fn registry_filter_list(scope: Robj) -> Robj {
    guarded(|| {
        let scope = Scope::checked(&host_value(&scope))?;
        Ok(robj_host(&HostValue::strings(engine().registry.filters_of(scope))))
    })
}

/// Declares built-ins; the order in which all of them load.
#[extendr]
fn builtin_declare(declarations: Robj) -> Robj {
    guarded(|| {
        let declarations = host_value(&declarations);
        let items = declarations.items().unwrap_or_default();
        let declared = items.iter().map(Declaration::checked).collect::<std::result::Result<Vec<_>, Error>>()?;
        Ok(robj_host(&HostValue::strings(engine().registry.declare_builtins(declared))))
    })
}

/// The next built-in to load, or NULL.
#[extendr]
fn builtin_next() -> Robj {
    answer(|| Ok(json!(engine().registry.next_builtin())))
}

/// Declares a bootstrap service; TRUE when there was one.
#[extendr]
fn service_declare(name: Robj, builtin: Robj) -> Robj {
    answer(|| {
        let name = &arg::text(&name, "name")?;
        Ok(json!(engine().registry.declare_service(name, host_value(&builtin).as_str())))
    })
}

/// What answers for a service.
#[extendr]
fn service_find(name: Robj, session: Robj) -> Robj {
    answer(|| {
        let name = &arg::text(&name, "name")?;
        Ok(match engine().registry.service(host_value(&session).as_str(), name)? {
            Service::Record(record) => place(&record),
            Service::Lazy(load) => lazy(load),
            Service::Bootstrap(builtin) => json!({"type": "builtin", "builtin": builtin}),
        })
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
    fn registry_why;
    fn registry_records;
    fn registry_pending;
    fn registry_names;
    fn registry_filters;
    fn registry_filter_list;
    fn builtin_declare;
    fn builtin_next;
    fn service_declare;
    fn service_find;
    fn validator_outcome;
    fn event_catalogue;
    fn registry_version;
    fn registry_stamp;
    fn registry_diagnostics;
    fn registry_diagnose;
    fn registry_reload;
    fn registry_winner;
    fn registry_preferred;
    fn redact_text;
    fn estimate_tokens;
}
