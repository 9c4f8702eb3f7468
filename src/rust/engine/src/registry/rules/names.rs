//! The forms of names. All are ASCII and matched to the very end, so that a trailing newline fails.

/// The longest name of a tool, namespace, provider, kind or skill, and of a tool on the wire.
pub(crate) const LONGEST: usize = 64;

/// The form of a name.
pub(crate) struct Form {
    first: fn(char) -> bool,
    rest: fn(char) -> bool,
    longest: usize,
    /// The form in words, to stand behind "must be".
    pub(crate) words: &'static str,
}

impl Form {
    /// True when `name` has the form.
    pub(crate) fn fits(&self, name: &str) -> bool {
        let mut chars = name.chars();
        chars.next().is_some_and(self.first) && chars.all(self.rest) && name.len() <= self.longest
    }

    /// The problem of a name that doesn't fit.
    pub(crate) fn problem(&self) -> String {
        let limit = if self.longest == usize::MAX { String::new() } else { format!(", at most {}", self.longest) };
        format!("must be {}{limit}", self.words)
    }
}

fn lower(c: char) -> bool {
    c.is_ascii_lowercase()
}

fn lower_or_digit(c: char) -> bool {
    lower(c) || c.is_ascii_digit()
}

fn letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

/// A provider.
pub(crate) const PROVIDER: Form = Form {
    first: lower_or_digit,
    rest: |c| lower_or_digit(c) || matches!(c, '_' | '-'),
    longest: LONGEST,
    words: "lower-case letters, digits, - and _, beginning with a letter or digit",
};

/// A tool.
pub(crate) const TOOL: Form =
    Form { first: tool_char, rest: tool_char, longest: LONGEST, words: "letters, digits, _ and -" };

fn tool_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// A tool's namespace.
pub(crate) const NAMESPACE: Form = Form {
    first: letter,
    rest: |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'),
    longest: LONGEST,
    words: "letters, digits, _ and ., beginning with a letter",
};

/// A skill.
pub(crate) const SKILL: Form = Form {
    first: lower_or_digit,
    rest: |c| lower_or_digit(c) || c == '-',
    longest: LONGEST,
    words: "lower-case letters, digits and -, beginning with a letter or digit",
};

/// A kind.
pub(crate) const KIND: Form = Form {
    first: lower,
    rest: |c| lower_or_digit(c) || c == '_',
    longest: LONGEST,
    words: "lower-case letters, digits and _, beginning with a letter",
};

/// A built-in.
pub(crate) const BUILTIN: Form = Form {
    longest: usize::MAX,
    words: "the name of a built-in: lower-case letters, digits and -, beginning with a letter or digit",
    ..SKILL
};

/// One part of a setting's key.
const SETTING_PART: Form = Form { longest: usize::MAX, ..KIND };

/// An environment variable.
pub(crate) const VARIABLE: Form = Form {
    first: |c| letter(c) || c == '_',
    rest: |c| c.is_ascii_alphanumeric() || c == '_',
    longest: usize::MAX,
    words: "the name of an environment variable",
};

/// True for a setting's key: lower-case words joined by dots.
pub(crate) fn is_setting(name: &str) -> bool {
    name.split('.').all(|part| SETTING_PART.fits(part))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    #[test]
    fn names_are_matched_to_the_very_end_and_are_ascii() {
        for form in [PROVIDER, TOOL, NAMESPACE, SKILL, KIND, VARIABLE] {
            assert!(form.fits("abc"));
            for bad in ["", "abc\n", "abc ", "abcé", "ａbc", "a/b", "\nabc"] {
                assert!(!form.fits(bad), "{bad:?} as {}", form.words);
            }
        }
        assert!(is_setting("panel.size_2") && !is_setting("panel.") && !is_setting("Panel Size") && !is_setting("a\n"));
    }

    #[test]
    fn names_have_at_most_64_characters() {
        for form in [PROVIDER, TOOL, NAMESPACE, SKILL, KIND] {
            assert!(form.fits(&"a".repeat(64)) && !form.fits(&"a".repeat(65)));
        }
    }

    /// The forms as patterns, matched by another program.
    fn patterns() -> Vec<(Form, regex::Regex)> {
        let all = [
            (PROVIDER, r"[a-z0-9][a-z0-9_-]{0,63}"),
            (TOOL, r"[a-zA-Z0-9_-]{1,64}"),
            (NAMESPACE, r"[A-Za-z][A-Za-z0-9_.]{0,63}"),
            (SKILL, r"[a-z0-9][a-z0-9-]{0,63}"),
            (KIND, r"[a-z][a-z0-9_]{0,63}"),
            (VARIABLE, r"[A-Za-z_][A-Za-z0-9_]*"),
            (BUILTIN, r"[a-z0-9][a-z0-9-]*"),
        ];
        all.into_iter().map(|(form, p)| (form, regex::Regex::new(&format!(r"\A(?:{p})\z")).unwrap())).collect()
    }

    /// A name, sound or spoilt in one of the ways that get past careless patterns.
    fn names() -> impl Strategy<Value = String> {
        let sound = || "[a-zA-Z0-9_.-]{0,70}";
        let spoilt = prop::sample::select(vec![
            "\n",
            "\r",
            "\r\n",
            "\0",
            " ",
            "\t",
            "\u{a0}",
            "\u{2028}",
            "\u{200b}",
            "\u{200d}",
            "\u{feff}",
            "\u{ad}",
            "\u{301}",
            "\u{e9}",
            "e\u{301}",
            "\u{430}",
            "\u{ff41}",
            "\u{131}",
            "\u{17f}",
            "\u{212a}",
            "\u{661}",
            "/",
            ":",
            "\u{10ffff}",
        ]);
        let at = any::<prop::sample::Index>();
        prop_oneof![
            3 => sound(),
            1 => "[a-z]{63,66}",
            4 => (sound(), spoilt, at).prop_map(|(mut name, bad, at)| {
                name.insert_str(at.index(name.len() + 1), bad);
                name
            }),
            2 => any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn names_fit_when_their_pattern_matches_the_whole(name in names()) {
            for (form, pattern) in patterns() {
                let fits = form.fits(&name);
                prop_assert_eq!(fits, pattern.is_match(&name), "{:?} as {}", name, form.words);
                prop_assert!(!fits || (name.is_ascii() && !name.is_empty() && name.nfd().eq(name.nfc())));
            }
            let setting = regex::Regex::new(r"\A[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\z").unwrap();
            prop_assert_eq!(is_setting(&name), setting.is_match(&name), "{:?}", name);
        }
    }
}
