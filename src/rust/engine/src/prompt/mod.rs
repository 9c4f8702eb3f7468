//! What a model is told before it answers: system prompt, context blocks, and the sizes of both in tokens.
//!
//! Everything here is a pure function of plain facts. Function-valued texts of users are rendered by the caller through
//! its host, and handed in as strings.

pub mod block;
pub mod budget;
pub mod builtin_blocks;
pub mod estimate;
pub mod preset;
pub mod render;
pub mod section;
pub mod size;
mod texts;
pub mod view;
