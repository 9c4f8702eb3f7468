//! Filters: records that are there and do not count. Nothing is deleted; lifting a filter brings the record back.

use std::collections::{BTreeSet, HashMap};

use super::record::Record;
use crate::error::Error;
use crate::value::{HostData, HostValue};

/// Built-ins whose records no filter touches.
const IMMUNE: [&str; 3] = ["builtin:permissions", "builtin:plan", "builtin:secrets"];
/// Policies that no filter turns off, whoever registered them.
const GUARDS: [&str; 2] = ["policy:critical_guard", "policy:secret_guard"];

/// Who set a filter; a later one overrules an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The user's settings.
    User,
    /// The project's settings.
    Project,
    /// This R process.
    Session,
}

impl Scope {
    /// In the order in which they count.
    pub const ALL: [Scope; 3] = [Scope::User, Scope::Project, Scope::Session];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Session => "session",
        }
    }

    /// The scope of this name.
    ///
    /// # Errors
    /// `InvalidArgument` (`scope`).
    pub fn checked(v: &HostValue) -> Result<Self, Error> {
        let named = |name: &str| Scope::ALL.into_iter().find(|s| s.as_str() == name);
        v.as_str()
            .and_then(named)
            .ok_or_else(|| Error::argument("scope", "one of \"user\", \"project\", \"session\"", &v.describe()))
    }
}

/// One filter: `-tool:grep`, `+builtin:mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// True for `+`.
    pub lifts: bool,
    /// `<kind>:<key>`, `plugin:<name>` or `builtin:<name>`.
    pub key: String,
}

impl Filter {
    /// Reads a filter.
    ///
    /// The prefix is `[a-z][a-z0-9_]*`, the name has no white space; both are matched to the very end.
    pub fn parse(text: &str) -> Option<Self> {
        let key = text.strip_prefix(['+', '-'])?;
        let (prefix, name) = key.split_once(':')?;
        let mut letters = prefix.bytes();
        let well_formed = letters.next().is_some_and(|b| b.is_ascii_lowercase())
            && letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && !name.is_empty()
            && !name.contains(char::is_whitespace);
        well_formed.then(|| Filter { lifts: text.starts_with('+'), key: key.to_owned() })
    }

    /// Reads the filters of a scope: a character vector without NA, or NULL.
    ///
    /// # Errors
    /// `InvalidArgument` (`filters`).
    pub fn list(v: &HostValue) -> Result<Vec<Self>, Error> {
        let expected = "filters of the form \"-<kind>:<name>\" or \"+plugin:<name>\"";
        let wrong = || Error::argument("filters", expected, &v.describe());
        match &v.data {
            HostData::Null => Ok(Vec::new()),
            HostData::Character(items) => {
                items.iter().map(|s| s.as_deref().and_then(Filter::parse).ok_or_else(wrong)).collect()
            }
            _ => Err(wrong()),
        }
    }

    /// What stands before the colon.
    pub fn prefix(&self) -> &str {
        self.key.split_once(':').map_or("", |(prefix, _)| prefix)
    }

    /// The filter as it was written.
    pub fn text(&self) -> String {
        format!("{}{}", if self.lifts { '+' } else { '-' }, self.key)
    }
}

/// What is turned off at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    entries: Vec<(String, Scope)>,
    by_source: HashMap<String, Scope>,
    by_record: HashMap<String, HashMap<String, Scope>>,
}

impl Effective {
    fn of(entries: Vec<(String, Scope)>) -> Self {
        let mut out = Effective::default();
        for (key, scope) in &entries {
            let (prefix, name) = key.split_once(':').unwrap_or((key, ""));
            match prefix {
                "builtin" | "plugin" => out.by_source.insert(key.clone(), *scope),
                kind => out.by_record.entry(kind.to_owned()).or_default().insert(name.to_owned(), *scope),
            };
        }
        out.entries = entries;
        out
    }

    /// True when nothing is turned off.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The keys that are turned off, in the order in which they were.
    pub fn keys(&self) -> Vec<String> {
        self.entries.iter().map(|(key, _)| key.clone()).collect()
    }

    /// True when the record does not count.
    pub fn disables(&self, record: &Record) -> bool {
        self.hits(record).next().is_some()
    }

    /// True when all records of a source are turned off.
    pub fn disables_source(&self, source: &str) -> bool {
        self.by_source.contains_key(source) && !IMMUNE.contains(&source)
    }

    /// The filters that turn a record off.
    pub fn hits(&self, record: &Record) -> impl Iterator<Item = (Aim, Scope)> {
        let immune = IMMUNE.contains(&record.source.as_str());
        let decides = decides(record);
        self.aimed(record).filter(move |(_, scope)| !(immune || decides && *scope == Scope::Project))
    }

    /// The filters of a project that don't reach the record.
    pub fn limited(&self, record: &Record) -> impl Iterator<Item = Aim> {
        let decides = decides(record);
        self.aimed(record).filter(move |(_, scope)| decides && *scope == Scope::Project).map(|(aim, _)| aim)
    }

    fn aimed(&self, record: &Record) -> impl Iterator<Item = (Aim, Scope)> + use<> {
        let own = self.by_record.get(&record.kind).and_then(|keys| keys.get(&record.key)).copied();
        let source = self.by_source.get(&record.source).copied();
        own.map(|scope| (Aim::Record, scope)).into_iter().chain(source.map(|scope| (Aim::Source, scope)))
    }
}

/// What a filter is aimed at, of a record that it turns off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Its kind and key.
    Record,
    /// Its source.
    Source,
}

impl Aim {
    /// The filter's key.
    pub fn key(self, record: &Record) -> String {
        match self {
            Aim::Record => format!("{}:{}", record.kind, record.key),
            Aim::Source => record.source.clone(),
        }
    }
}

/// A project can't turn off what decides, unless a plugin brought it.
fn decides(record: &Record) -> bool {
    let kind = matches!(record.kind.as_str(), "policy" | "hook");
    kind && (record.source == "user" || record.source.starts_with("builtin:"))
}

/// What a change of filters came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// What is turned off now.
    pub effective: Vec<String>,
    /// The filters that were not taken.
    pub refused: Vec<String>,
}

/// The filters of all scopes.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    lists: [Vec<Filter>; 3],
    kept_builtins: BTreeSet<String>,
}

impl Filters {
    /// The filters of a scope as they were taken.
    pub fn of(&self, scope: Scope) -> &[Filter] {
        &self.lists[scope as usize]
    }

    /// What they come to.
    pub fn effective(&self) -> Effective {
        let mut entries: Vec<(String, Scope)> = Vec::new();
        for scope in Scope::ALL {
            for filter in self.of(scope) {
                let at = entries.iter().position(|(key, _)| *key == filter.key);
                match (filter.lifts, at) {
                    (false, _) if self.is_kept(&filter.key) => {}
                    (false, None) => entries.push((filter.key.clone(), scope)),
                    // What a project turned off is taken over by whoever turns it off too.
                    (false, Some(i)) if entries[i].1 == Scope::Project => entries[i].1 = scope,
                    (true, Some(i)) => drop(entries.remove(i)),
                    _ => {}
                }
            }
        }
        Effective::of(entries)
    }

    /// A built-in that can't be turned off as a whole.
    pub fn keep_builtin(&mut self, name: &str) {
        self.kept_builtins.insert(format!("builtin:{name}"));
    }

    fn is_kept(&self, key: &str) -> bool {
        IMMUNE.contains(&key) || GUARDS.contains(&key) || self.kept_builtins.contains(key)
    }

    /// Replaces the filters of a scope. `guarded` are the records that must stay on. What is refused is left out, and
    /// the rest counts.
    pub fn set(&mut self, scope: Scope, wanted: Vec<Filter>, guarded: &[&Record]) -> Change {
        let order: Vec<String> = wanted.iter().map(Filter::text).collect();
        let (refused, wanted): (Vec<Filter>, Vec<Filter>) =
            wanted.into_iter().partition(|f| !f.lifts && self.is_kept(&f.key));
        let mut refused: Vec<String> = refused.iter().map(Filter::text).collect();
        let before = std::mem::replace(&mut self.lists[scope as usize], wanted);
        // A round settles one key: its filter is left out, or what lifted it before stays.
        while let Some(key) = self.violation(guarded) {
            let list = &mut self.lists[scope as usize];
            let (off, on) = (Filter { lifts: false, key: key.clone() }, Filter { lifts: true, key });
            if list.contains(&off) {
                list.retain(|f| *f != off);
                refused.push(off.text());
            } else if before.contains(&on) && !list.contains(&on) {
                refused.push(on.text());
                list.push(on);
            } else {
                refused.extend(list.iter().map(Filter::text));
                *list = before;
                break;
            }
        }
        // As they were written; what stays on although it was left out comes last.
        refused.sort_by_key(|f| order.iter().position(|o| o == f).unwrap_or(order.len()));
        refused.dedup();
        Change { effective: self.effective().keys(), refused }
    }

    fn violation(&self, guarded: &[&Record]) -> Option<String> {
        if guarded.is_empty() {
            return None;
        }
        let effective = self.effective();
        guarded.iter().find_map(|record| effective.hits(record).next().map(|(aim, _)| aim.key(record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_59_only_well_formed_filters_are_filters() {
        for good in ["-tool:read", "+builtin:mcp", "-tool:trials/search", "-hook:x:y", "-a_1:\u{e9}"] {
            assert_eq!(Filter::parse(good).map(|f| f.text()).as_deref(), Some(good));
        }
        for bad in [
            "builtin:mcp",
            "-Tool:x",
            "-tool:x\n",
            "-tool:",
            "-:x",
            "-tool:a b",
            "",
            "-",
            "--tool:x",
            "-1a:x",
            "-tool:x\u{2003}",
            " -tool:x",
        ] {
            assert_eq!(Filter::parse(bad), None, "{bad:?}");
        }
        let na: HostValue = HostData::Character(vec![None]).into();
        for bad in [na, 1.into(), HostValue::list(["-tool:x".into()])] {
            assert!(matches!(Filter::list(&bad), Err(Error::InvalidArgument { arg, .. }) if arg == "filters"));
        }
        assert_eq!(Filter::list(&HostValue::null()), Ok(vec![]));
        assert!(matches!(Scope::checked(&"global".into()), Err(Error::InvalidArgument { arg, .. }) if arg == "scope"));
    }

    fn filters(scope: Scope, texts: &[&str], into: &mut Filters) -> Change {
        into.set(scope, texts.iter().filter_map(|t| Filter::parse(t)).collect(), &[])
    }

    #[test]
    fn case_53_a_later_scope_lifts_what_an_earlier_one_set() {
        let mut all = Filters::default();
        filters(Scope::User, &["-command:grep"], &mut all);
        assert_eq!(filters(Scope::Session, &["+command:grep"], &mut all).effective, Vec::<String>::new());
        assert_eq!(filters(Scope::Session, &[], &mut all).effective, ["command:grep"]);
    }

    #[test]
    fn a_key_of_the_project_is_taken_over_by_a_later_scope_alone() {
        let mut all = Filters::default();
        let scope_of = |all: &Filters| all.effective().entries.first().map(|(_, s)| *s);
        filters(Scope::Project, &["-policy:mine"], &mut all);
        assert_eq!(scope_of(&all), Some(Scope::Project));
        filters(Scope::Session, &["-policy:mine"], &mut all);
        assert_eq!(scope_of(&all), Some(Scope::Session));
        filters(Scope::User, &["-policy:mine"], &mut all);
        assert_eq!(scope_of(&all), Some(Scope::User));
    }

    #[test]
    fn case_55_and_61_what_guards_can_not_be_turned_off() {
        let mut all = Filters::default();
        all.keep_builtin("gateway");
        let guards = [
            "-builtin:permissions",
            "-builtin:plan",
            "-policy:critical_guard",
            "-policy:secret_guard",
            "-builtin:secrets",
            "-builtin:gateway",
        ];
        for scope in Scope::ALL {
            let change = filters(scope, &guards, &mut all);
            assert_eq!(change.refused, guards);
            assert!(change.effective.is_empty());
        }
    }

    #[test]
    fn a_built_in_that_turns_out_to_be_needed_is_on_again() {
        let mut all = Filters::default();
        filters(Scope::User, &["-builtin:gateway", "-builtin:mcp"], &mut all);
        all.keep_builtin("gateway");
        assert_eq!(all.effective().keys(), ["builtin:mcp"]);
    }
}
