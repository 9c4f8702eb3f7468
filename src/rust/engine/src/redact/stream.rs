//! Redaction of a text that arrives in pieces.

use super::{Redactor, rules};

/// At most this many bytes are held back.
const HOLD_LIMIT: usize = 4096;
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";

/// Redacts deltas: what may be the begin of a secret is held back until it is known. A plain text passes at once.
#[derive(Debug, Clone)]
pub struct StreamRedactor {
    redactor: Redactor,
    /// The last character that was emitted (so that words are told apart as in one text), then what is held.
    buffer: String,
    context: usize,
    /// Inside of a private key that was longer than the limit: all goes until its end.
    in_key: bool,
}

impl StreamRedactor {
    /// Redacts with the secrets that `redactor` has now.
    pub fn new(redactor: Redactor) -> Self {
        StreamRedactor { redactor, buffer: String::new(), context: 0, in_key: false }
    }

    /// Takes a delta; returns what can be shown.
    pub fn push(&mut self, delta: &str) -> String {
        self.buffer.push_str(delta);
        if self.in_key && !self.leave_key() {
            return String::new();
        }
        let fresh = self.buffer.get(self.context..).unwrap_or_default();
        let held = self.redactor.begun(fresh).max(begun(fresh)).max(open_end(fresh));
        if held <= HOLD_LIMIT {
            return self.emit(self.buffer.len() - held);
        }
        let in_key = fresh.rfind(KEY_BEGIN) > fresh.rfind(KEY_END);
        let out = self.emit(self.buffer.len());
        self.in_key = in_key;
        out
    }

    /// The text ended: returns what was held.
    pub fn flush(&mut self) -> String {
        let out = if self.in_key { String::new() } else { self.emit(self.buffer.len()) };
        self.buffer.clear();
        self.context = 0;
        self.in_key = false;
        out
    }

    /// Drops a key up to its end line; false when that has not come.
    fn leave_key(&mut self) -> bool {
        let rest = self.buffer.find(KEY_END).and_then(|at| {
            let line = self.buffer.get(at + KEY_END.len()..)?;
            Some(line.split_once("-----")?.1.to_owned())
        });
        match rest {
            Some(rest) => {
                self.buffer = rest;
                self.context = 0;
                self.in_key = false;
                true
            }
            None => {
                // Enough to find an end line that is cut.
                let keep = self.buffer.len().saturating_sub(HOLD_LIMIT);
                let at = (keep..=self.buffer.len()).find(|i| self.buffer.is_char_boundary(*i)).unwrap_or(0);
                self.buffer.drain(..at);
                false
            }
        }
    }

    /// Redacts and takes out everything before `end`.
    fn emit(&mut self, end: usize) -> String {
        if end <= self.context {
            return String::new();
        }
        let text = self.buffer.get(..end).unwrap_or_default();
        let out = self.redactor.redact(text);
        let context = text.get(..self.context).unwrap_or_default();
        let out = out.strip_prefix(context).unwrap_or(&out).to_owned();
        let last = text.chars().next_back().map_or(0, char::len_utf8);
        self.buffer.drain(..end - last);
        self.context = last;
        out
    }
}

/// The length of the longest end of the text that one of the rules' secrets may begin with.
fn begun(text: &str) -> usize {
    let longest = rules::TRIGGERS.iter().map(|t| t.len()).max().unwrap_or(0);
    let start = text.len().saturating_sub(longest - 1);
    let mut ends = (start..text.len()).filter_map(|at| text.get(at..));
    let starts = |trigger: &str, end: &str| trigger.get(..end.len()).is_some_and(|t| t.eq_ignore_ascii_case(end));
    ends.find(|end| rules::TRIGGERS.iter().any(|t| starts(t, end))).map_or(0, str::len)
}

/// The length of an end that is, or may become, a secret of a rule.
fn open_end(text: &str) -> usize {
    let found = rules::OPEN_END.as_ref().and_then(|p| p.find(text));
    found.map_or(0, |m| m.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::tests::{SECRET, redactor};
    use super::*;
    use proptest::prelude::*;

    fn pieces(text: &str, size: usize) -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(size).map(|c| c.iter().collect()).collect()
    }

    fn stream(redactor: &Redactor, text: &str, size: usize) -> String {
        let mut s = StreamRedactor::new(redactor.clone());
        let mut out: String = pieces(text, size).iter().map(|p| s.push(p)).collect();
        out.push_str(&s.flush());
        out
    }

    #[test]
    fn a_secret_cut_anywhere_does_not_pass() {
        let text = format!("before {SECRET} after");
        for size in 1..20 {
            assert_eq!(stream(&redactor(), &text, size), "before [secret:MY_KEY] after", "{size}");
        }
    }

    #[test]
    fn every_rule_holds_for_cut_texts_too() {
        for (text, _) in rules::tests::SAMPLES {
            let whole = Redactor::default().redact(text).into_owned();
            for size in 1..12 {
                assert_eq!(stream(&Redactor::default(), text, size), whole, "{size}");
            }
        }
    }

    #[test]
    fn plain_text_passes_at_once() {
        let mut s = StreamRedactor::new(redactor());
        assert_eq!(s.push("It is raining."), "It is raining.");
        assert_eq!(s.push("\u{96e8}\u{304c}\u{964d}\u{308b}"), "\u{96e8}\u{304c}\u{964d}\u{308b}");
    }

    #[test]
    fn no_more_than_the_limit_is_held() {
        let mut s = StreamRedactor::new(Redactor::default());
        let out = s.push(&format!("eyJ{}", "a".repeat(10_000)));
        assert_eq!(out.len(), 10_003);
    }

    #[test]
    fn a_private_key_longer_than_the_limit_does_not_pass() {
        let text = format!("a -----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY----- b", "MIIB\n".repeat(3000));
        for size in [1, 7, 500, 100_000] {
            let out = stream(&Redactor::default(), &text, size);
            assert!(
                !out.contains("MIIB") && out.starts_with("a [secret:private_key]") && out.ends_with(" b"),
                "{size}: {out}"
            );
        }
    }

    proptest! {
        #[test]
        fn texts_without_secrets_come_out_as_they_went_in(text in "[a-z \u{e9}:/=\\-_s\\n]{0,80}", size in 1..9usize) {
            let whole = Redactor::default().redact(&text).into_owned();
            if whole == text {
                prop_assert_eq!(stream(&Redactor::default(), &text, size), text);
            }
        }
    }
}
