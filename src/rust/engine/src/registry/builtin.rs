//! Built-ins: which are declared, in which order they load, and which have been tried.

use std::collections::BTreeSet;

use super::rules::names;
use crate::error::Error;
use crate::value::HostValue;

/// A declared built-in.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// What loads before it; unknown names don't count.
    pub after: Vec<String>,
    /// False when no filter turns it off as a whole.
    pub replaceable: bool,
}

impl Declaration {
    /// Reads list(`name`, `after`, `replaceable`).
    ///
    /// # Errors
    /// `InvalidArgument` (`name`, `after` or `replaceable`).
    pub fn checked(v: &HostValue) -> Result<Self, Error> {
        let wrong = |arg: &str, expected: &str| {
            let null = HostValue::null();
            Error::argument(arg, expected, &v.get(arg).unwrap_or(&null).describe())
        };
        let name = v.field("name").and_then(HostValue::as_str).filter(|n| names::BUILTIN.fits(n));
        let name = name.ok_or_else(|| wrong("name", names::BUILTIN.words))?.to_owned();
        let after = match v.field("after") {
            None => Vec::new(),
            Some(after) => after.as_strings().ok_or_else(|| wrong("after", "a character vector without NA"))?,
        };
        let replaceable = match v.field("replaceable") {
            None => true,
            Some(flag) => flag.as_flag().ok_or_else(|| wrong("replaceable", "TRUE or FALSE"))?,
        };
        Ok(Declaration { name, after: after.into_iter().map(str::to_owned).collect(), replaceable })
    }
}

/// The built-ins of a registry.
#[derive(Debug, Clone, Default)]
pub struct Builtins {
    declared: Vec<Declaration>,
    attempted: BTreeSet<String>,
}

impl Builtins {
    /// Adds declarations; a name that is declared already stays as it is.
    pub fn declare(&mut self, new: Vec<Declaration>) {
        for declaration in new {
            if !self.declared.iter().any(|d| d.name == declaration.name) {
                self.declared.push(declaration);
            }
        }
    }

    /// All names in the order of loading, and those that wait for each other in a circle.
    ///
    /// A round takes all whose predecessors are taken, in the order of declaration. A circle ends the rounds: what is
    /// left comes in the order of declaration.
    pub fn order(&self) -> (Vec<String>, Vec<String>) {
        let known = |name: &String| self.declared.iter().any(|d| d.name == *name);
        let mut order: Vec<String> = Vec::new();
        let mut left: Vec<&Declaration> = self.declared.iter().collect();
        while !left.is_empty() {
            let is_ready = |d: &&Declaration| d.after.iter().all(|a| !known(a) || order.contains(a));
            let (ready, waiting): (Vec<&Declaration>, Vec<&Declaration>) = left.iter().copied().partition(is_ready);
            if ready.is_empty() {
                let circle: Vec<String> = waiting.iter().map(|d| d.name.clone()).collect();
                order.extend(circle.iter().cloned());
                return (order, circle);
            }
            order.extend(ready.iter().map(|d| d.name.clone()));
            left = waiting;
        }
        (order, Vec::new())
    }

    /// Those that were not tried yet and that `enabled` lets load, in order.
    pub fn due(&self, enabled: impl Fn(&str) -> bool) -> Vec<String> {
        let (order, _) = self.order();
        order.into_iter().filter(|name| !self.attempted.contains(name) && enabled(name)).collect()
    }

    /// The next one that is due; it counts as tried.
    pub fn attempt(&mut self, enabled: impl Fn(&str) -> bool) -> Option<String> {
        let name = self.due(enabled).into_iter().next()?;
        self.attempted.insert(name.clone());
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(all: &[(&str, &[&str])]) -> Builtins {
        let mut out = Builtins::default();
        out.declare(
            all.iter()
                .map(|(name, after)| Declaration {
                    name: (*name).to_owned(),
                    after: after.iter().map(|a| (*a).to_owned()).collect(),
                    replaceable: true,
                })
                .collect(),
        );
        out
    }

    #[test]
    fn case_83_built_ins_load_in_order_and_once() {
        let mut all =
            declared(&[("tools", &["prompt"]), ("prompt", &["core"]), ("core", &["unknown"]), ("console", &[])]);
        assert_eq!(all.order().0, ["core", "console", "prompt", "tools"]);
        let mut loaded = Vec::new();
        while let Some(name) = all.attempt(|name| name != "console") {
            loaded.push(name);
        }
        assert_eq!(loaded, ["core", "prompt", "tools"]);
        assert_eq!(all.due(|_| true), ["console"]);
        assert_eq!(all.attempt(|_| true).as_deref(), Some("console"));
        assert_eq!(all.attempt(|_| true), None);
    }

    #[test]
    fn a_circle_loads_in_the_order_of_declaration() {
        let all = declared(&[("b", &["a"]), ("a", &["b"]), ("c", &["c"]), ("d", &[])]);
        let (order, circle) = all.order();
        assert_eq!(order, ["d", "b", "a", "c"]);
        assert_eq!(circle, ["b", "a", "c"]);
    }

    #[test]
    fn case_83_names_of_built_ins() {
        let read = |name: HostValue| Declaration::checked(&HostValue::named([("name", name)]));
        assert!(read("demo-1".into()).is_ok());
        for bad in ["Bad Name", "demo\n", "", "-a", "a_b"] {
            assert!(matches!(read(bad.into()), Err(Error::InvalidArgument { arg, .. }) if arg == "name"), "{bad:?}");
        }
        assert!(read(HostValue::null()).is_err() && read(1.into()).is_err());
    }
}
