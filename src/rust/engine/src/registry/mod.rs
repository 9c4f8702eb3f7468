//! The registry: kinds, specs and their validation, records and how they are found.

pub(crate) mod admission;
pub mod builtin;
pub mod diagnostic;
pub(crate) mod field;
pub mod filter;
pub mod kind;
pub mod origin;
pub mod placeholder;
pub mod record;
pub(crate) mod requirement;
mod rules;
pub mod service;
pub mod snapshot;
pub mod store;
mod table;
pub(crate) mod tokens;
pub mod validate;
