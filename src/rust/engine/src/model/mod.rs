//! Models: their records, references to them, and the listing of all.

pub mod listing;
pub mod record;
pub mod reference;

pub use listing::listing;
pub use record::{ModelRecord, ProviderModels};
pub use reference::{Resolved, resolve};
