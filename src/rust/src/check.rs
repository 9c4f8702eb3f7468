//! Conformance checks.

use extendr_api::prelude::*;
use gptr_engine::extension::{self, manifest};
use gptr_engine::run::check;
use gptr_engine::value::json;

use crate::answer::{answer, engine, guarded};
use crate::arg;
use crate::registry::number;
use crate::task::handle;
use crate::value::host_value;

/// A task that checks a spec; R keeps it under the record id `record`. `load` is the load of an extension whose scratch
/// registry it is checked against; `budget` asks for rows with token counts.
#[extendr]
fn task_check(spec: Robj, record: Robj, budget: Robj, load: Robj) -> Robj {
    guarded(|| {
        let record = arg::text(&record, "record")?;
        let engine = engine();
        let load = number(&load);
        let registry = load.map_or_else(|| Ok(engine.registry.scratch()), |load| engine.load_registry(load))?;
        let tokens = number(&budget);
        let request = check::Request { registry, load, spec: host_value(&spec), record, tokens };
        Ok(handle(check::task(&engine, request)))
    })
}

/// What a manifest says: list(problems, api, entry, provides, tokens).
#[extendr]
fn manifest_read(text: Robj) -> Robj {
    answer(|| Ok(manifest::read(&arg::text(&text, "text")?).to_json()))
}

/// TRUE when the version of the API meets a requirement; one that can't be read is not met.
#[extendr]
fn api_satisfies(requirement: Robj) -> Robj {
    answer(|| Ok(json!(extension::is_met(&arg::text(&requirement, "requirement")?))))
}

extendr_module! {
    mod check;
    fn task_check;
    fn manifest_read;
    fn api_satisfies;
}
