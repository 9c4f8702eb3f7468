//! Chat Completions (`openai-completions`) and its many imitators.

mod encoder;
mod fragments;
mod params;
mod reader;
mod think;
mod usage;
mod wire_message;

pub use encoder::{Encoder, Target};
pub use params::{Params, System, tool_declaration};
pub use reader::{Options, Reader};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod fixture_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod reader_tests;
