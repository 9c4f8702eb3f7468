//! The registry: kinds, specs and their validation.

pub mod field;
pub mod kind;
pub mod requirement;
mod rules;
pub mod validate;
