//! The decision-making core of gptr. It knows nothing of R: a host drives [`task`]s step by step and does what they
//! ask for.
#![forbid(unsafe_code)]

pub mod catalog;
pub mod clock;
pub mod conversation;
pub mod engine;
pub mod error;
pub mod extension;
mod gate;
mod hook;
mod io;
pub mod listing;
mod meaning;
pub mod message;
mod model;
mod payload;
mod prompt;
pub mod provider;
mod redact;
pub mod registry;
pub mod reply;
pub mod run;
mod schema;
pub mod session;
pub mod task;
pub mod tool;
pub mod value;
