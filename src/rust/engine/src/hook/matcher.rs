//! Which calls a hook wants to see.

/// A hook's matcher.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Matcher {
    /// Without a matcher the hook sees every event.
    #[default]
    Always,
    /// A pattern on the tool's name.
    Glob(Glob),
    /// A function of the host's, which has to answer TRUE.
    Function,
}

/// What a matcher says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The handler is called.
    Yes,
    /// It is not.
    No,
    /// The host's function has to be asked.
    Ask,
}

/// A pattern on names of tools: `*` stands for any characters, `?` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Matcher {
    /// A matcher from its pattern.
    ///
    /// # Errors
    /// When the pattern is empty or has a character that no tool's name has: it could never match, and a hook that is
    /// silently skipped is worse than one that is refused.
    pub fn glob(pattern: &str) -> Result<Self, String> {
        Glob::new(pattern).map(Matcher::Glob)
    }

    /// What the matcher says of an event with this tool name.
    pub fn verdict(&self, tool_name: Option<&str>) -> Verdict {
        match (self, tool_name) {
            (Matcher::Always, _) => Verdict::Yes,
            (Matcher::Function, _) => Verdict::Ask,
            (Matcher::Glob(glob), Some(name)) if glob.matches(name) => Verdict::Yes,
            (Matcher::Glob(_), _) => Verdict::No,
        }
    }
}

impl Glob {
    /// Checks a pattern; see [`Matcher::glob`].
    ///
    /// # Errors
    /// As there.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("must not be empty".to_owned());
        }
        let known = |c: char| c.is_ascii_alphanumeric() || "_-./*?".contains(c);
        match pattern.chars().find(|c| !known(*c)) {
            None => Ok(Glob(pattern.to_owned())),
            Some(c) => Err(format!(
                "must be a pattern of letters, digits, `_`, `-`, `.`, `/`, `*` and `?`, but has `{}`",
                c.escape_default()
            )),
        }
    }

    /// True when the whole of `name` fits. Takes at most length times length steps.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while let Some(&c) = name.get(n) {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p + 1, n));
                    p += 1;
                }
                Some(&x) if x == b'?' || x == c => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((after, from)) = star else { return false };
                    star = Some((after, from + 1));
                    p = after;
                    n = from + 1;
                }
            }
        }
        pattern.iter().skip(p).all(|x| *x == b'*')
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Glob::new(pattern).unwrap().matches(name)
    }

    #[test]
    fn globs_match_whole_names() {
        assert!(fits("mcp__*", "mcp__github__list"));
        assert!(!fits("mcp__*", "xmcp__a"));
        assert!(fits("r", "r"));
        assert!(!fits("r", "read"));
        assert!(fits("demo/*", "demo/add"));
        assert!(fits("*a*b", "xxaxxaxb"));
        assert!(!fits("*a*b", "xxaxxax"));
        assert!(fits("?", "r") && !fits("?", ""));
        assert!(fits("**", ""));
        assert!(!fits("r", "r\n"));
    }

    #[test]
    fn events_without_a_tool_never_match_a_glob() {
        let any = Matcher::glob("*").unwrap();
        assert_eq!(any.verdict(Some("r")), Verdict::Yes);
        assert_eq!(any.verdict(None), Verdict::No);
        assert_eq!(Matcher::Always.verdict(None), Verdict::Yes);
        assert_eq!(Matcher::Function.verdict(None), Verdict::Ask);
    }

    #[test]
    fn h31_patterns_that_can_never_match_are_refused() {
        for bad in ["", "(", "[", "^(a+)+$", "write|edit", "r\n", "caf\u{e9}"] {
            assert!(Matcher::glob(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn h32_a_nasty_pattern_ends() {
        let pattern = "a*".repeat(50) + "b";
        assert!(!fits(&pattern, &"a".repeat(2000)));
    }
}
