//! Providers: what goes over a wire and how its bytes become events.
//!
//! An adapter has two halves without I/O: an encoder (messages to a request body) and a
//! [`normalise::Normaliser`] (the host's events to [`StreamEvent`](crate::message::StreamEvent)s). [`http`] has the
//! sockets and timers, [`failure`] and [`retry`] decide what an error means.

pub mod assembly;
pub mod body;
pub mod compat;
pub mod completions;
pub mod endpoint;
pub mod fake;
pub mod failure;
pub mod headers;
pub mod http;
pub mod json_repair;
pub mod normalise;
pub mod retry;
pub mod sse;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod http_tests;
