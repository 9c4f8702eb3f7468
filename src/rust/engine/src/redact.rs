//! Secrets in, markers out: registered secrets in the forms they take on their way, and texts that look like keys.
//!
//! A marker is `[secret:<NAME>]`, with the name that the secret was registered under or the name of the rule.

mod forms;
mod rules;
mod stream;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use regex::Regex;

pub use stream::StreamRedactor;

/// Shorter secrets are not looked for: they would match everywhere.
pub const MIN_SECRET: usize = 8;

/// Takes secrets out of texts. Clones are cheap and independent.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Every form of every secret, with the secret's name.
    forms: Arc<HashMap<String, String>>,
    compiled: OnceLock<Option<Regex>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("forms", &self.forms.len()).finish()
    }
}

impl Redactor {
    /// Registers a secret: as it is, percent-encoded, escaped for JSON, and in base64 at any offset. One of fewer
    /// than [`MIN_SECRET`] characters is ignored.
    pub fn add_secret(&mut self, name: &str, value: &str) {
        if value.chars().count() < MIN_SECRET {
            return;
        }
        let forms = Arc::make_mut(&mut self.forms);
        for form in forms::of(value) {
            forms.entry(form).or_insert_with(|| marker(name));
        }
        self.compiled = OnceLock::new();
    }

    /// The text with every secret replaced by its marker; borrowed when it has none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        rules::redact(self.redact_registered(text))
    }

    /// Replaces registered secrets only.
    fn redact_registered<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.pattern() {
            None => Cow::Borrowed(text),
            Some(pattern) => pattern.replace_all(text, |found: &regex::Captures<'_>| {
                found.get(0).and_then(|m| self.forms.get(m.as_str())).cloned().unwrap_or_else(|| marker(""))
            }),
        }
    }

    fn pattern(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.forms)).as_ref()
    }

    /// The length in bytes of the longest end of `text` that a registered secret may begin with.
    fn begun(&self, text: &str) -> usize {
        let longest = self.forms.keys().map(String::len).max().unwrap_or(0);
        let start = text.len().saturating_sub(longest.saturating_sub(1));
        let ends = (start..text.len()).filter_map(|at| text.get(at..));
        ends.into_iter().find(|end| self.forms.keys().any(|f| f.starts_with(end))).map_or(0, str::len)
    }
}

fn compile(forms: &HashMap<String, String>) -> Option<Regex> {
    let mut all: Vec<&str> = forms.keys().map(String::as_str).collect();
    if all.is_empty() {
        return None;
    }
    // The longest alternative that fits has to win; equal lengths in a fixed order.
    all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    let pattern: Vec<String> = all.into_iter().map(regex::escape).collect();
    regex::RegexBuilder::new(&pattern.join("|")).size_limit(256 * 1024 * 1024).build().ok()
}

fn marker(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    let name: String = name.chars().take(64).map(safe).collect();
    format!("[secret:{}]", if name.is_empty() { "unnamed" } else { &name })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const SECRET: &str = "p\u{e4}ss/w\"ord+1 x";

    pub(crate) fn redactor() -> Redactor {
        let mut r = Redactor::default();
        r.add_secret("MY KEY", SECRET);
        r
    }

    #[test]
    fn a_registered_secret_is_found_in_every_form() {
        let r = redactor();
        let encoded = forms::base64(SECRET.as_bytes(), false);
        for text in [
            SECRET,
            "p%C3%A4ss%2Fw%22ord%2B1%20x",
            "p%c3%a4ss%2fw%22ord%2b1%20x",
            "p%C3%A4ss%2Fw%22ord%2B1+x",
            "p\u{e4}ss/w\\\"ord+1 x",
            "p\\u00e4ss/w\\\"ord+1 x",
            encoded.trim_end_matches('='),
        ] {
            let out = r.redact(text);
            assert!(out.contains("[secret:MY_KEY]"), "{text} -> {out}");
        }
        assert_eq!(r.redact(&format!("a{SECRET}b")), "a[secret:MY_KEY]b");
    }

    #[test]
    fn base64_is_found_at_every_offset() {
        let mut r = Redactor::default();
        r.add_secret("K", "correct horse");
        for before in ["", "u", "us", "usr", "user:"] {
            for url_safe in [false, true] {
                let text = forms::base64(format!("{before}correct horse:tail").as_bytes(), url_safe);
                assert!(r.redact(&text).contains("[secret:K]"), "{before}");
            }
        }
    }

    #[test]
    fn short_secrets_are_ignored_and_other_texts_borrowed() {
        let mut r = Redactor::default();
        r.add_secret("K", "1234567");
        assert!(matches!(r.redact("1234567 is a number"), Cow::Borrowed(_)));
    }

    #[test]
    fn debug_shows_no_secret() {
        assert!(!format!("{:?}", redactor()).contains("ord"));
    }
}
