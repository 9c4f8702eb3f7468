//! Providers: what goes over a wire and how its bytes become events.
//!
//! An adapter has two halves without I/O: an encoder (messages to a request body) and a
//! [`normalise::Normaliser`] (the host's events to [`StreamEvent`](crate::message::StreamEvent)s). [`http`] has the
//! sockets and timers, [`failure`] and [`retry`] decide what an error means.

pub(crate) mod assembly;
pub(crate) mod body;
pub(crate) mod compat;
pub(crate) mod completions;
pub(crate) mod endpoint;
pub(crate) mod failure;
pub mod fake;
pub(crate) mod headers;
pub mod http;
pub mod json_repair;
pub(crate) mod normalise;
pub(crate) mod retry;
pub(crate) mod sse;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod http_tests;
