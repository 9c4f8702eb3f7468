//! Texts that look like secrets.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// One rule. The last group of the pattern is what is replaced; without a group all of it.
struct Rule {
    name: &'static str,
    pattern: &'static str,
    /// What the replaced text must be like, beyond the pattern.
    check: fn(&str) -> bool,
}

fn any(_: &str) -> bool {
    true
}

/// A value that was given a name like `token`: words and calls in code are none.
fn looks_random(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().filter(test).count();
    has(u8::is_ascii_digit) >= 2 && has(u8::is_ascii_alphabetic) >= 2
}

const RULES: &[Rule] = &[
    Rule {
        name: "private_key",
        pattern: r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
        check: any,
    },
    Rule { name: "anthropic_key", pattern: r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{16,}", check: any },
    Rule { name: "api_key", pattern: r"(?-u:\b)sk-[A-Za-z0-9_-]{20,}", check: looks_random },
    Rule { name: "google_key", pattern: r"(?-u:\b)AIza[A-Za-z0-9_-]{30,}", check: any },
    Rule {
        name: "github_token",
        pattern: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        check: any,
    },
    Rule { name: "slack_token", pattern: r"(?-u:\b)xox[a-z]-[A-Za-z0-9-]{10,}", check: any },
    Rule { name: "huggingface_token", pattern: r"(?-u:\b)hf_[A-Za-z0-9]{30,}", check: any },
    Rule { name: "aws_key", pattern: r"(?-u:\b)AKIA[0-9A-Z]{16}(?-u:\b)", check: any },
    Rule { name: "jwt", pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", check: any },
    Rule {
        name: "credentials",
        pattern: r"(?i-u:\b(?:bearer|basic)[ \t]+)([A-Za-z0-9._~+/=-]{16,})",
        check: looks_random,
    },
    Rule { name: "url_password", pattern: r"://[^\s/:@\[\]]{0,256}:([^\s/@\[\]]{3,256})@", check: any },
    Rule {
        name: "named_secret",
        pattern: r#"(?i-u:(?:api[_-]?key|access[_-]?key|secret|token|password|passwd)["']?[ \t]*[:=][ \t]*["']?)([A-Za-z0-9_./+=~-]{8,})"#,
        check: looks_random,
    },
];

static SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(RULES.iter().map(|r| r.pattern)).ok());
static PATTERNS: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| RULES.iter().map(|r| Regex::new(r.pattern).ok()).collect());

/// Replaces what the rules find.
pub(super) fn redact(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some(set) = SET.as_ref() else { return text };
    let found: Vec<usize> = set.matches(&text).into_iter().collect();
    let mut text = text;
    for at in found {
        if let (Some(rule), Some(Some(pattern))) = (RULES.get(at), PATTERNS.get(at))
            && let Some(changed) = apply(rule, pattern, &text)
        {
            text = Cow::Owned(changed);
        }
    }
    text
}

fn apply(rule: &Rule, pattern: &Regex, text: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for found in pattern.captures_iter(text) {
        let Some(secret) = found.iter().flatten().last().filter(|m| (rule.check)(m.as_str())) else { continue };
        out.push_str(text.get(done..secret.start()).unwrap_or_default());
        out.push_str(&super::marker(rule.name));
        done = secret.end();
    }
    if done == 0 {
        return None;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}

/// What secrets of the rules begin with, lower case: a text that ends in part of one may go on as a secret.
pub(super) const TRIGGERS: &[&str] = &[
    "-----begin ",
    "sk-",
    "aiza",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "xox",
    "hf_",
    "akia",
    "eyj",
    "bearer ",
    "basic ",
    "://",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "secret",
    "token",
    "password",
    "passwd",
];

/// An end of a text that is, or may become, a secret of a rule.
pub(super) static OPEN_END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u:",
        r"-----BEGIN [A-Z0-9 ]{0,40}(?:-{0,4}|-----[\x00-\x7f]*)",
        r"|(?:sk-|AIza|gh[pousr]_|github_pat_|xox|hf_|AKIA|eyJ|://)[!-~]*",
        r"|(?:bearer|basic)[ \t]{0,8}[!-~]*",
        r#"|(?:api[_-]?key|access[_-]?key|secret|token|password|passwd)["']?[ \t]{0,8}(?:[:=][ \t]{0,8}["']?[!-~]*)?"#,
        r")\z"
    ))
    .ok()
});

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod tests {
    use super::*;

    /// Texts with a secret, and the name of the rule that finds it.
    pub(crate) const SAMPLES: &[(&str, &str)] = &[
        ("x -----BEGIN RSA PRIVATE KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE KEY----- y", "private_key"),
        ("key sk-ant-api03-abcdefghijklmnopqrst end", "anthropic_key"),
        ("key sk-proj-abcdefghij0123456789 end", "api_key"),
        ("AIzaSyA0123456789abcdefghijklmnopqrstuv end", "google_key"),
        ("ghp_0123456789abcdefghijklmnopqrstuvwxyz end", "github_token"),
        ("xoxb-0123456789-abcdef end", "slack_token"),
        ("hf_0123456789abcdefghijklmnopqrstuv end", "huggingface_token"),
        ("AKIA0123456789ABCDEF end", "aws_key"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2 end", "jwt"),
        ("Authorization: Bearer abc123def456ghi789 end", "credentials"),
        ("postgres://user:hunter22@host/db end", "url_password"),
        ("api_key = \"a1b2c3d4e5\" end", "named_secret"),
        ("PASSWORD=correct12horse end", "named_secret"),
    ];

    #[test]
    fn every_rule_compiles_and_finds_its_sample() {
        assert!(SET.is_some() && OPEN_END.is_some());
        assert!(PATTERNS.iter().all(Option::is_some));
        for (text, rule) in SAMPLES {
            let out = redact(Cow::Borrowed(text));
            assert!(out.contains(&format!("[secret:{rule}]")), "{text} -> {out}");
        }
    }

    #[test]
    fn ordinary_texts_and_code_stay() {
        for text in [
            "task-abcdefghijklmnopqrstuvwxyz",
            "token <- strsplit(x, ' ')",
            "password = readline('Password: ')",
            "http://localhost:8080/v1",
            "basic understanding of statistics",
            "the sk-learn-like-interface-of-parsnip",
            "password=[secret:NAME]",
        ] {
            assert!(matches!(redact(Cow::Borrowed(text)), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn what_names_a_secret_stays() {
        assert_eq!(redact(Cow::Borrowed("api_key = 'a1b2c3d4e5'")), "api_key = '[secret:named_secret]'");
        assert_eq!(redact(Cow::Borrowed("https://u:pa55word@h/")), "https://u:[secret:url_password]@h/");
    }
}
