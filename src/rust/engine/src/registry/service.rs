//! Services: functions that parts of the program find by name. A `service` record replaces the bootstrap one.

use std::collections::BTreeMap;

/// Services that a built-in brings, for the words of an error when it isn't there.
const KNOWN: [(&str, &str); 4] = [
    ("agent_def.get", "skills"),
    ("check.adapter", "providers"),
    ("adapter.replay", "providers"),
    ("route:console", "console"),
];

/// The bootstrap services.
#[derive(Debug, Clone, Default)]
pub struct Services(BTreeMap<String, Option<String>>);

impl Services {
    /// Declares the bootstrap service `name` of a built-in; true when there was one already.
    pub fn declare(&mut self, name: &str, builtin: Option<&str>) -> bool {
        self.0.insert(name.to_owned(), builtin.map(str::to_owned)).is_some()
    }

    /// The built-in of a bootstrap service; `None` within for one that belongs to nobody.
    pub fn bootstrap(&self, name: &str) -> Option<Option<&str>> {
        self.0.get(name).map(Option::as_deref)
    }

    /// Who would bring the service.
    pub fn provider(&self, name: &str) -> Option<String> {
        let known = || KNOWN.iter().find(|(n, _)| *n == name).map(|(_, b)| *b);
        self.bootstrap(name).flatten().or_else(known).map(str::to_owned)
    }
}
