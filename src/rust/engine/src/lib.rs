//! The decision-making core of gptr. It knows nothing of R: a host drives [`task`]s step by step and does what they
//! ask for.
#![forbid(unsafe_code)]
#![allow(dead_code)] // removed with the first whole slice

pub mod catalog;
pub mod clock;
pub mod engine;
pub mod error;
pub mod gate;
pub mod hook;
pub mod io;
pub mod meaning;
pub mod message;
pub mod model;
pub mod payload;
pub mod prompt;
pub mod provider;
pub mod redact;
pub mod registry;
pub mod reply;
pub mod run;
pub mod schema;
pub mod session;
pub mod task;
pub mod value;
