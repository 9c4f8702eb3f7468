//! Loading an extension: staged, then committed as one; or declared, and loaded when it is needed.

use extendr_api::prelude::*;
use gptr_engine::error::Error;
use gptr_engine::extension::{self, Staged};
use gptr_engine::registry::origin::{Origin, Place};
use gptr_engine::registry::placeholder::promises;
use gptr_engine::value::{Value, json};

use crate::answer::{answer, engine, guarded};
use crate::arg;
use crate::registry::{attachment, generate, patch, registered, unasked};
use crate::value::{host_value, named_list, robj};

/// The number of a load.
fn number(load: &Robj) -> Result<u64, Error> {
    arg::number(load, "load").map(|x| x as u64)
}

/// FALSE, and reported, when a filter turns this origin's source off.
#[extendr]
fn ext_admitted(origin: Robj) -> Robj {
    answer(|| Ok(json!(extension::is_admitted(&engine(), &Origin::checked(&host_value(&origin))?))))
}

/// Begins a load; returns its number. `registry` is "live", or "scratch" for a check.
#[extendr]
fn ext_begin(origin: Robj, registry: Robj) -> Robj {
    answer(|| {
        let scratch = arg::text(&registry, "registry")? == "scratch";
        Ok(json!(extension::begin(&engine(), Origin::checked(&host_value(&origin))?, scratch)))
    })
}

/// Notes what the manifest of a load promises.
#[extendr]
fn ext_promise(load: Robj, provides: Robj) -> Robj {
    answer(|| {
        let promised = promises(&host_value(&provides))?;
        extension::promise(&engine(), number(&load)?, promised).map(|()| Value::Null)
    })
}

/// Registers placeholders for what a lazy extension promises: list(load, placeholders).
#[extendr]
fn ext_declare(origin: Robj, provides: Robj, declarations: Robj) -> Robj {
    answer(|| {
        let promised = promises(&host_value(&provides))?;
        let origin = Origin::checked(&host_value(&origin))?;
        let declared = extension::declare(&engine(), origin, promised, host_value(&declarations))?;
        Ok(json!({"load": declared.load, "placeholders": declared.placeholders}))
    })
}

/// TRUE when the factory of a lazy extension is to be run now.
#[extendr]
fn ext_activate_begin(load: Robj) -> Robj {
    answer(|| Ok(json!(extension::activate(&engine(), number(&load)?))))
}

/// Registers a spec through an API object: staged while the factory runs, at once afterwards. A spec of a kind that R
/// validates is only taken when that was done. `place` is NULL or list(file, line).
#[extendr]
fn ext_register(load: Robj, spec: Robj, fake: Robj, validated: Robj, place: Robj) -> Robj {
    guarded(|| {
        let (load, spec, place) = (number(&load)?, host_value(&spec), Place::read(&host_value(&place)));
        extension::current(&engine(), load)?;
        if let Some(validator) = unasked(Some(load), &spec, &validated)? {
            return Ok(validator);
        }
        let staged = extension::register(&engine(), load, &spec, attachment(&fake), place)?;
        match staged {
            Staged::Now(added) => Ok(registered(&added)),
            Staged::Later { token, patch: changes, generate: make, consumed } => Ok(named_list(vec![
                ("token", robj(&json!(token))),
                ("patch", patch(&changes)),
                ("generate", robj(&generate(make.as_ref()))),
                ("consumed", robj(&json!(consumed))),
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
    fn ext_admitted;
    fn ext_begin;
    fn ext_promise;
    fn ext_declare;
    fn ext_activate_begin;
    fn ext_register;
    fn ext_unregister;
    fn ext_commit;
    fn ext_rollback;
    fn ext_current;
    fn ext_require;
}
