//! The registry: kinds, specs and their validation.

pub mod admission;
pub mod field;
pub mod kind;
pub mod requirement;
mod rules;
pub mod store;
pub mod tokens;
pub mod validate;
