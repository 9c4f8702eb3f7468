//! The bindings between R and the engine: they convert and delegate, and hold no rules.
#![allow(missing_docs)] // `extendr_module!` makes public items without documentation.

mod answer;
mod arg;
mod check;
mod extension;
mod member;
mod native;
mod place;
mod provider;
mod registry;
mod session;
mod task;
mod value;
mod weakref;

use extendr_api::prelude::*;

extendr_module! {
    mod gptr;
    use check;
    use extension;
    use member;
    use native;
    use place;
    use provider;
    use registry;
    use session;
    use task;
    use value;
    use weakref;
}
