//! Whether and when a failed request is tried again. Pure: the clock's jitter comes in as a number.

use crate::message::{Failure, FailureClass};

/// The numbers of the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Attempts in all.
    pub attempts: u32,
    /// Seconds before the second attempt; doubled before each further one.
    pub base: f64,
    /// The longest wait of our own, in seconds.
    pub cap: f64,
    /// The share of a wait that jitter may take away.
    pub jitter: f64,
    /// The longest wait that a host may ask for, in seconds.
    pub ceiling: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { attempts: 4, base: 0.5, cap: 8.0, jitter: 0.25, ceiling: 60.0 }
    }
}

/// What to do about a failure.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Wait so many seconds, then try again.
    Retry(f64),
    /// Give up with this failure: the same one, or class `retry_after` when the host asks for too long a wait.
    GiveUp(Failure),
}

impl Policy {
    /// The wait of our own after `attempt` (from 1) failed; `jitter` is from 0 to 1.
    pub fn backoff(&self, attempt: u32, jitter: f64) -> f64 {
        let doublings = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX).min(64);
        let wait = (self.base * 2f64.powi(doublings)).min(self.cap);
        wait * (1.0 - self.jitter * jitter.clamp(0.0, 1.0))
    }

    /// Decides about a failure of `attempt` (from 1). `committed`: the person has seen something of the reply.
    pub fn decide(&self, failure: Failure, attempt: u32, committed: bool, cancelled: bool, jitter: f64) -> Decision {
        if committed || cancelled || !may_be_retried(&failure) {
            return Decision::GiveUp(failure);
        }
        let asked = failure.retry_after.unwrap_or(0.0);
        if asked > self.ceiling {
            let message = format!("the host asks to wait {asked} s: {}", failure.message);
            return Decision::GiveUp(Failure { class: FailureClass::RetryAfter, message, ..failure });
        }
        if attempt >= self.attempts {
            return Decision::GiveUp(failure);
        }
        Decision::Retry(self.backoff(attempt, jitter).max(asked))
    }
}

/// True for failures that may be gone at the next attempt. Decided by class and status, never by the text.
pub fn may_be_retried(failure: &Failure) -> bool {
    match failure.class {
        FailureClass::RateLimit | FailureClass::Overloaded | FailureClass::Network | FailureClass::TimeoutConnect => {
            true
        }
        FailureClass::Provider => failure.status.is_some_and(|s| matches!(s, 408 | 409) || s >= 500),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn failure(class: FailureClass, status: Option<u16>, retry_after: Option<f64>) -> Failure {
        Failure { class, status, retry_after, ..Failure::default() }
    }

    fn decide(f: Failure, attempt: u32) -> Decision {
        Policy::default().decide(f, attempt, false, false, 0.0)
    }

    #[test]
    fn waits_double_up_to_the_cap_and_jitter_only_shortens() {
        let p = Policy::default();
        let waits: Vec<f64> = (1..=6).map(|n| p.backoff(n, 0.0)).collect();
        assert_eq!(waits, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]);
        assert_eq!(p.backoff(1, 1.0), 0.375);
        assert_eq!(p.backoff(u32::MAX, 0.0), 8.0);
    }

    #[test]
    fn b22_a_rate_limit_is_retried_until_the_attempts_are_used_up() {
        let f = failure(FailureClass::RateLimit, Some(429), None);
        assert_eq!(decide(f.clone(), 1), Decision::Retry(0.5));
        assert_eq!(decide(f.clone(), 3), Decision::Retry(2.0));
        assert_eq!(decide(f.clone(), 4), Decision::GiveUp(f));
    }

    #[test]
    fn b23_a_wait_of_zero_still_backs_off_and_a_longer_one_wins() {
        assert_eq!(decide(failure(FailureClass::RateLimit, None, Some(0.0)), 1), Decision::Retry(0.5));
        assert_eq!(decide(failure(FailureClass::RateLimit, None, Some(7.0)), 1), Decision::Retry(7.0));
    }

    #[test]
    fn a_wait_above_the_ceiling_fails_with_the_number() {
        let Decision::GiveUp(f) = decide(failure(FailureClass::RateLimit, Some(429), Some(61.0)), 1) else { panic!() };
        assert_eq!((f.class, f.retry_after), (FailureClass::RetryAfter, Some(61.0)));
    }

    #[test]
    fn what_may_be_retried() {
        use FailureClass::*;
        let yes = [
            (RateLimit, None),
            (Overloaded, Some(503)),
            (Network, None),
            (TimeoutConnect, None),
            (Provider, Some(408)),
            (Provider, Some(409)),
            (Provider, Some(500)),
        ];
        let no = [
            (Provider, Some(400)),
            (Provider, None),
            (SpendCap, Some(429)),
            (Billing, None),
            (Redirect, Some(307)),
            (TimeoutFirstByte, None),
            (TimeoutIdle, None),
            (Auth, Some(401)),
            (ContextOverflow, Some(400)),
            (Aborted, None),
            (Internal, None),
        ];
        for (class, status) in yes {
            assert!(may_be_retried(&failure(class, status, None)), "{class:?}");
        }
        for (class, status) in no {
            assert!(!may_be_retried(&failure(class, status, None)), "{class:?} {status:?}");
        }
    }

    #[test]
    fn nothing_is_retried_after_commit_or_cancel() {
        let f = failure(FailureClass::Overloaded, Some(500), None);
        let p = Policy::default();
        assert_eq!(p.decide(f.clone(), 1, true, false, 0.0), Decision::GiveUp(f.clone()));
        assert_eq!(p.decide(f.clone(), 1, false, true, 0.0), Decision::GiveUp(f));
    }
}
