//! The reading half of an adapter: the host's events in, stream events out, no I/O.

use crate::message::{Failure, FailureClass, Reply, StopReason, StreamEvent};

use super::sse::SseEvent;

/// Reads one reply of one wire.
///
/// A whole JSON document (a reply that was not streamed) comes as one event without a name.
pub trait Normaliser: Send {
    /// Takes the next event of the host.
    fn push(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>);
    /// The body ended in good order.
    fn finish(&mut self, out: &mut Vec<StreamEvent>);
    /// The transport failed, or the host answered with an error. What had arrived stays in the reply.
    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>);
}

/// True for the event that ends a stream.
pub fn is_terminal(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Done { .. } | StreamEvent::Error { .. })
}

/// The terminal event for a stream that ended without one, which is a fault of this program.
pub fn missing_terminal(message: &str) -> StreamEvent {
    let failure = Failure { class: FailureClass::Internal, message: message.to_owned(), ..Failure::default() };
    let reply = Reply { stop_reason: StopReason::Error, ..Reply::default() };
    StreamEvent::Error { reply: Box::new(reply), failure }
}

/// Wraps a normaliser so that exactly one terminal event comes out of it, and nothing after that.
pub struct OneTerminal {
    inner: Box<dyn Normaliser>,
    ended: bool,
}

impl OneTerminal {
    /// Guards `inner`.
    pub fn new(inner: Box<dyn Normaliser>) -> Self {
        OneTerminal { inner, ended: false }
    }

    /// True after the terminal event.
    pub fn ended(&self) -> bool {
        self.ended
    }

    fn guarded(&mut self, out: &mut Vec<StreamEvent>, step: impl FnOnce(&mut dyn Normaliser, &mut Vec<StreamEvent>)) {
        if self.ended {
            return;
        }
        let before = out.len();
        step(self.inner.as_mut(), out);
        let end = out.iter().skip(before).position(is_terminal);
        if let Some(at) = end {
            out.truncate(before + at + 1);
            self.ended = true;
        }
    }

    fn ensure_end(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.ended {
            out.push(missing_terminal("the reader of the reply ended without a result"));
            self.ended = true;
        }
    }
}

impl Normaliser for OneTerminal {
    fn push(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) {
        self.guarded(out, |inner, out| inner.push(event, out));
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.guarded(out, |inner, out| inner.finish(out));
        self.ensure_end(out);
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.guarded(out, |inner, out| inner.fail(failure, out));
        self.ensure_end(out);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// Emits the scripted number of terminal events at each step.
    struct Careless(usize);

    impl Normaliser for Careless {
        fn push(&mut self, _: &SseEvent, out: &mut Vec<StreamEvent>) {
            out.push(StreamEvent::TextEnd { index: 1 });
            for _ in 0..self.0 {
                out.push(StreamEvent::Done { reply: Box::default() });
            }
        }
        fn finish(&mut self, _: &mut Vec<StreamEvent>) {}
        fn fail(&mut self, _: Failure, _: &mut Vec<StreamEvent>) {}
    }

    fn run(terminals: usize) -> Vec<StreamEvent> {
        let mut guard = OneTerminal::new(Box::new(Careless(terminals)));
        let mut out = Vec::new();
        guard.push(&SseEvent::default(), &mut out);
        guard.push(&SseEvent::default(), &mut out);
        guard.finish(&mut out);
        guard.fail(Failure::default(), &mut out);
        out
    }

    #[test]
    fn a_second_terminal_event_and_what_follows_is_dropped() {
        let out = run(2);
        assert_eq!(out.len(), 2);
        assert!(matches!(out.last(), Some(StreamEvent::Done { .. })));
    }

    #[test]
    fn a_missing_terminal_event_is_an_internal_error() {
        let out = run(0);
        assert_eq!(out.iter().filter(|e| is_terminal(e)).count(), 1);
        let Some(StreamEvent::Error { failure, .. }) = out.last() else { panic!("no error") };
        assert_eq!(failure.class, FailureClass::Internal);
    }
}
