//! Loading an extension: staged, then committed as one.

use extendr_api::prelude::*;
use gptr_engine::extension::{self, Staged};
use gptr_engine::value::{Value, json};

use crate::answer::{answer, engine, guarded};
use crate::arg;
use crate::registry::{attachment, generate, patch, read_origin, registered};
use crate::value::{host_value, named_list, robj};

/// Begins a load; returns its number. `registry` is "live", or "scratch" for a check.
#[extendr]
fn ext_begin(origin: Robj, registry: Robj) -> Robj {
    answer(|| {
        let registry = &arg::text(&registry, "registry")?;
        Ok(json!(extension::begin(&engine(), read_origin(&host_value(&origin)), registry.as_str() == "scratch")))
    })
}

/// Registers a spec through an API object: staged while the factory runs, at once afterwards.
#[extendr]
fn ext_register(load: Robj, spec: Robj, fake: Robj) -> Robj {
    guarded(|| {
        let load = arg::number(&load, "load")?;
        match extension::register(&engine(), load as u64, &host_value(&spec), attachment(&fake))? {
            Staged::Now(added) => Ok(registered(&added)),
            Staged::Later { token, patch: changes, generate: make } => Ok(named_list(vec![
                ("token", robj(&json!(token))),
                ("patch", patch(&changes)),
                ("generate", robj(&generate(make.as_ref()))),
            ])),
        }
    })
}

/// Takes a registration back: a staged one is cancelled, a committed one removed.
#[extendr]
fn ext_unregister(load: Robj, token: Robj, id: Robj) -> Robj {
    answer(|| {
        let load = arg::number(&load, "load")?;
        let engine = engine();
        extension::unregister(&engine, load as u64, host_value(&token).as_str(), host_value(&id).as_str())?;
        Ok(json!({"released": engine.registry.released()}))
    })
}

/// Commits all that was staged: a row (token, id) each.
#[extendr]
fn ext_commit(load: Robj) -> Robj {
    answer(|| {
        let load = arg::number(&load, "load")?;
        extension::commit(&engine(), load as u64)
    })
}

/// Undoes a load.
#[extendr]
fn ext_rollback(load: Robj) -> Robj {
    answer(|| {
        let load = arg::number(&load, "load")?;
        extension::rollback(&engine(), load as u64);
        Ok(Value::Null)
    })
}

/// Fails when the API object of this load is stale.
#[extendr]
fn ext_current(load: Robj) -> Robj {
    answer(|| {
        let load = arg::number(&load, "load")?;
        extension::current(&engine(), load as u64).map(|()| Value::Null)
    })
}

/// Fails when the API's version is not in the range.
#[extendr]
fn ext_require(load: Robj, requires: Robj) -> Robj {
    answer(|| {
        let load = arg::number(&load, "load")?;
        extension::require(&engine(), load as u64, &host_value(&requires)).map(|()| Value::Null)
    })
}

extendr_module! {
    mod extension;
    fn ext_begin;
    fn ext_register;
    fn ext_unregister;
    fn ext_commit;
    fn ext_rollback;
    fn ext_current;
    fn ext_require;
}
