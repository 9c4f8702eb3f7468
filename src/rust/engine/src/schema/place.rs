//! Where a value stands in an input: the JSON pointer of the validator, and the path that people read.

use std::borrow::Cow;

use jsonschema::paths::{Location, LocationSegment};

use crate::value::HostValue;

/// A place, as the steps that lead to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Item(usize),
}

impl Place {
    pub(super) fn of(location: &Location) -> Self {
        let steps = location.iter().map(|segment| match segment {
            LocationSegment::Property(name) => Step::Key(name.into_owned()),
            LocationSegment::Index(at) => Step::Item(at),
        });
        Place { steps: steps.collect() }
    }

    pub(super) fn key(&self, name: &str) -> Self {
        self.with(Step::Key(name.to_owned()))
    }

    pub(super) fn item(&self, at: usize) -> Self {
        self.with(Step::Item(at))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Place { steps }
    }

    /// The part of a host's value that stands here, as it is read under a schema: a vector is an array or an object, a
    /// data frame an array of rows, a scalar an array of one.
    pub(super) fn part_of<'v>(&self, value: &'v HostValue) -> Option<Cow<'v, HostValue>> {
        let mut here = Cow::Borrowed(value);
        for step in &self.steps {
            let at = match step {
                Step::Key(name) => here.names.as_ref()?.iter().position(|n| n == name)?,
                Step::Item(at) => *at,
            };
            let part = match here.rows() {
                Some(rows) => rows.into_iter().nth(at)?,
                None => here.element(at)?,
            };
            here = Cow::Owned(part);
        }
        Some(here)
    }

    /// `a.b[1].c`; empty at the root.
    pub(super) fn path(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            match step {
                Step::Item(at) => out.push_str(&format!("[{}]", at + 1)),
                Step::Key(name) if out.is_empty() => out.push_str(name),
                Step::Key(name) => out.push_str(&format!(".{name}")),
            }
        }
        out
    }

    /// The path as errors name it: quoted, or `the input`.
    pub(super) fn subject(&self) -> String {
        if self.steps.is_empty() { "the input".to_owned() } else { format!("'{}'", self.path()) }
    }

    /// The JSON pointer (RFC 6901).
    pub(super) fn pointer(&self) -> String {
        let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
        let step = |s: &Step| match s {
            Step::Key(name) => format!("/{}", escape(name)),
            Step::Item(at) => format!("/{at}"),
        };
        self.steps.iter().map(step).collect()
    }
}
