//! Models: their records, references to them, and the listing of all.

pub mod listing;
pub mod record;
pub mod reference;

pub use listing::{ListingRow, columns, listing};
pub use record::{ModelRecord, PriceRow, ProviderModels, Status};
pub use reference::{Resolved, resolve};
