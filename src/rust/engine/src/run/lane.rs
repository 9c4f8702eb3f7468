//! How many model requests are in flight: at most so many an origin, or among the sessions of one call; the others wait
//! in the order in which they came.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use reqwest::Url;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::scene::Scene;
use crate::provider::fake::Fake;
use crate::registry::store::Record;

/// The bound that a session's requests stand under.
#[derive(Debug, Clone, Default)]
pub enum Lane {
    /// That of the origin, from the settings.
    #[default]
    Origin,
    /// None.
    Open,
    /// One that is shared with the other sessions of a call.
    Shared(Arc<Semaphore>),
}

impl Lane {
    /// A bound of so many for all sessions that share it; `None` for no bound.
    pub fn of(limit: Option<usize>) -> Self {
        limit.map_or(Lane::Open, |n| Lane::Shared(Arc::new(Semaphore::new(n.clamp(1, Semaphore::MAX_PERMITS)))))
    }
}

/// The bounds of all origins.
#[derive(Debug, Default)]
pub struct Lanes(RefCell<HashMap<(String, usize), Arc<Semaphore>>>);

impl Lanes {
    fn of(&self, base_url: &str, limit: usize) -> Arc<Semaphore> {
        let origin = Url::parse(base_url).map_or_else(|_| base_url.to_owned(), |u| u.origin().ascii_serialization());
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        self.0.borrow_mut().entry((origin, limit)).or_insert_with(|| Arc::new(Semaphore::new(limit))).clone()
    }
}

impl Scene {
    /// Waits for a place; it is free again when the permit is dropped. `None` where there is no bound: also for what a
    /// handler starts while the request around it streams, which would wait for itself.
    pub(super) async fn place(&self, provider: &Record) -> Option<OwnedSemaphorePermit> {
        let (lane, limit) = {
            let state = self.session.state.borrow();
            (state.lane.clone(), state.settings.max_active)
        };
        if self.session.ancestors().any(|s| s.in_flight.get()) {
            return None;
        }
        let offline = provider.attachment.as_ref().is_some_and(|a| a.is::<Fake>());
        let semaphore = match lane {
            Lane::Shared(semaphore) => semaphore,
            Lane::Origin if !offline => self.engine.lanes.of(provider.text("base_url").unwrap_or_default(), limit?),
            Lane::Origin | Lane::Open => return None,
        };
        // The semaphore is never closed.
        semaphore.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_origin_share_a_bound() {
        let lanes = Lanes::default();
        let one = lanes.of("https://llm.example/v1", 8);
        assert!(Arc::ptr_eq(&one, &lanes.of("https://llm.example:443/v2/", 8)));
        assert!(!Arc::ptr_eq(&one, &lanes.of("http://llm.example/v1", 8)));
        assert!(!Arc::ptr_eq(&one, &lanes.of("https://llm.example/v1", 2)), "another bound is another lane");
        assert_eq!(lanes.of("https://llm.example/v1", 0).available_permits(), 1);
    }
}
