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
mod tests {
    use super::*;

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
}
