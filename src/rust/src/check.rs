//! Conformance checks.

use extendr_api::prelude::*;
use gptr_engine::engine::API_VERSION;
use gptr_engine::extension::manifest;
use gptr_engine::prompt::estimate::{Class, estimate};
use gptr_engine::registry::requirement;
use gptr_engine::run::check;
use gptr_engine::value::{Value, json};

use crate::answer::{answer, engine, guarded};
use crate::registry::number;
use crate::task::handle;
use crate::value::host_value;

/// A task that checks a spec; R keeps it under the record id `record`. `load` is the load of an extension whose scratch
/// registry it is checked against; `budget` asks for rows with token counts.
#[extendr]
fn task_check(spec: Robj, record: &str, budget: Robj, load: Robj) -> Robj {
    guarded(|| {
        let engine = engine();
        let load = number(&load);
        let registry = load.map_or_else(|| Ok(engine.registry.scratch()), |load| engine.load_registry(load))?;
        let tokens = number(&budget);
        let request = check::Request { registry, load, spec: host_value(&spec), record: record.to_owned(), tokens };
        Ok(handle(check::task(&engine, request)))
    })
}

/// What a manifest says: list(problems, api, entry, provides, tokens).
#[extendr]
fn manifest_read(text: &str) -> Robj {
    answer(|| {
        let read = manifest::read(text);
        let provides: Vec<Value> =
            read.provides.iter().map(|(kind, name)| json!({"kind": kind, "name": name})).collect();
        let words = |d: &manifest::Declaration| {
            let parts = [d.signature.as_deref(), d.description.as_deref()];
            estimate(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "), Class::Prose)
        };
        let tokens: u64 = read.declarations.iter().map(words).sum();
        Ok(json!({
            "problems": read.problems, "api": read.api, "entry": read.entry, "provides": provides, "tokens": tokens
        }))
    })
}

/// TRUE when the version of the API meets a requirement; one that can't be read is not met.
#[extendr]
fn api_satisfies(requirement: &str) -> bool {
    requirement::satisfies(requirement, API_VERSION) == Ok(true)
}

extendr_module! {
    mod check;
    fn task_check;
    fn manifest_read;
    fn api_satisfies;
}
