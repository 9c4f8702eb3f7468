//! Finding members of `peter$`: search, help on one of them, and the list of plugin members in the system prompt.
//!
//! Takes plain texts and finished signatures; who is offered, and to whom, is decided by the registry's listing.

mod help;
mod members;
mod search;
mod words;

pub use help::{MemberHelp, cut_help, help_lines};
pub use members::{CATALOG_BUDGET, CatalogLine, plugins_catalog};
pub use search::{Doc, Hit, ToolText, search, tool_text};
