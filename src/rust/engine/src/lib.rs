//! The decision-making core of gptr. It knows nothing of R: a host drives [`task`]s step by step and does what they
//! ask for.
#![forbid(unsafe_code)]
#![allow(dead_code)] // removed with the first whole slice

pub mod error;
pub mod io;
pub mod message;
pub mod provider;
pub mod redact;
pub mod value;
