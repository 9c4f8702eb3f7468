//! Native tools for R code: members of `peter$`, and the `execute` of their specs.

use std::cell::RefCell;

use extendr_api::prelude::*;
use gptr_engine::error::Error;
use gptr_engine::run::native::{self, Slot};
use gptr_engine::tool::Asker;
use gptr_engine::value::json;

use crate::answer::{engine, guarded};
use crate::arg;
use crate::task::handle;
use crate::value::{host_value, named_list, robj, robj_host};

/// Where the task of a call leaves what it gives.
struct SlotHandle(RefCell<Slot>);

/// A task that runs a native body, and where its output will be: list(task, slot). `asker` is "model", "code" or
/// "person".
#[extendr]
fn native_call(name: Robj, input: Robj, site: Robj, asker: Robj) -> Robj {
    guarded(|| {
        let name = arg::text(&name, "name")?;
        let asker = match arg::text(&asker, "asker")?.as_str() {
            "model" => Asker::Model,
            "person" => Asker::Person,
            _ => Asker::Code,
        };
        let input = host_value(&input).to_json().map_err(|e| Error::argument_message("input", e.to_string()))?;
        let (task, slot) = native::call(&engine(), &name, input, &host_value(&site), asker)?;
        let slot: Robj = ExternalPtr::new(SlotHandle(RefCell::new(slot))).into();
        Ok(named_list(vec![("task", handle(task)), ("slot", slot)]))
    })
}

/// What a call gave, once: list(content, details, gloss, value).
#[extendr]
fn native_output(slot: Robj) -> Robj {
    guarded(|| {
        let slot = arg::held::<SlotHandle>(&slot, "slot")?;
        let output = slot.0.borrow().take().ok_or_else(|| Error::internal("the call gave nothing"))?;
        let content: Vec<_> = output.content.iter().map(|block| block.to_json()).collect();
        Ok(named_list(vec![
            ("content", robj(&json!(content))),
            ("details", robj(&json!(output.details))),
            ("gloss", robj(&json!(output.gloss))),
            ("value", output.value.as_ref().map_or_else(|| robj(&json!(null)), robj_host)),
        ]))
    })
}

extendr_module! {
    mod native;
    fn native_call;
    fn native_output;
}
