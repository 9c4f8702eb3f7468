//! The fake provider's state, and the catalogue of models.

use std::rc::Rc;

use extendr_api::prelude::*;
use gptr_engine::provider::fake::{Fake, Script};
use gptr_engine::run::models::Known;
use gptr_engine::value::{HostValue, Value, json};

use crate::answer::{answer, engine, guarded};
use crate::arg;
use crate::value::host_value;

/// The state of a fake with these replies; NULL for a function script.
#[extendr]
fn fake_new(replies: Robj, is_function: Robj, _name: Robj) -> Robj {
    guarded(|| {
        let is_function = arg::flag(&is_function, "is_function")?;
        let script = match is_function {
            true => Script::Function,
            false => Script::Replies(host_value(&replies).items().map(<[HostValue]>::to_vec).unwrap_or_default()),
        };
        Ok(ExternalPtr::new(Rc::new(Fake::new(script))).into())
    })
}

/// How many requests were logged.
#[extendr]
fn fake_count(fake: Robj) -> Robj {
    answer(|| {
        let fake = arg::held::<Rc<Fake>>(&fake, "fake")?;
        Ok(json!(fake.count()))
    })
}

/// All logged requests.
#[extendr]
fn fake_requests(fake: Robj) -> Robj {
    answer(|| {
        let fake = arg::held::<Rc<Fake>>(&fake, "fake")?;
        Ok(Value::Array((1..=fake.count()).filter_map(|n| fake.request(n)).collect()))
    })
}

/// The rows of `gptr_models()`.
#[extendr]
fn model_rows(query: Robj, provider: Robj) -> Robj {
    answer(|| {
        let known = Known::of(&engine().registry.snapshot(None));
        Ok(known.rows(host_value(&query).as_str(), host_value(&provider).as_str()))
    })
}

/// Ends the I/O threads, waiting at most this many seconds.
#[extendr]
fn shutdown(seconds: Robj) -> Robj {
    answer(|| {
        let seconds = arg::number(&seconds, "seconds")?;
        if let Some(engine) = crate::answer::started() {
            engine.shutdown(std::time::Duration::from_secs_f64(seconds.clamp(0.0, 10.0)));
        }
        Ok(json!(true))
    })
}

extendr_module! {
    mod provider;
    fn fake_new;
    fn fake_count;
    fn fake_requests;
    fn model_rows;
    fn shutdown;
}
