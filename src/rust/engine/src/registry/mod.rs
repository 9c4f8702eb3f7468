//! The registry: kinds, specs and their validation.

pub(crate) mod admission;
pub(crate) mod field;
pub(crate) mod kind;
pub(crate) mod requirement;
mod rules;
pub mod store;
pub(crate) mod tokens;
pub mod validate;
