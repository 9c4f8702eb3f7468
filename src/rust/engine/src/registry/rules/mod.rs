//! What a kind checks beyond its fields: one function a kind, named in the kind table.

pub(crate) mod adapter;
mod endpoint;
pub(crate) mod model;
pub(crate) mod named;
pub(crate) mod names;
pub(crate) mod prompt;
pub(crate) mod provider;
pub(crate) mod risk;
pub(crate) mod secret;
pub(crate) mod tool;

use super::validate::{Draft, Verdict};

/// A kind's own check. It sees the spec with its defaults and may set fields.
pub(crate) type Rule = fn(&mut Draft<'_>) -> Verdict;

/// The check of kinds whose fields say it all.
pub(crate) fn none(_: &mut Draft<'_>) -> Verdict {
    Ok(())
}
