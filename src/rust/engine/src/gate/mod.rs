//! Whether a call may run: risk, modes, policies, and the words of a refusal. No host is called here.

pub mod code;
pub mod command;
pub mod facts;
pub mod functions;
pub mod grant;
pub mod lattice;
pub mod member;
pub mod message;
pub mod mode;
pub mod probe;
pub mod risk;
mod shell;

pub use code::{Around, risk_of_code};
