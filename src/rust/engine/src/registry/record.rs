//! Records: specs that are registered, and placeholders of those that an extension promised.

use std::any::Any;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use super::kind::Kind;
use super::origin::{Origin, Place};
use super::tokens;
use crate::error::Error;
use crate::hook::Matcher;
use crate::schema::Schema;
use crate::value::HostValue;

/// The place of a record whose kind has an order field and whose spec gives none.
const DEFAULT_ORDER: f64 = 500.0;

/// A registered spec.
pub struct Record {
    /// `r<seq>`.
    pub id: String,
    /// The sequence of registration, from 1.
    pub seq: u64,
    /// The kind.
    pub kind: String,
    /// What it is found by: the name, with the namespace of a tool in front.
    pub key: String,
    /// The validated spec; functions are their signatures, the host keeps the closures.
    pub spec: HostValue,
    /// Precedence; the lowest wins.
    pub rank: u8,
    /// `session`, `project`, `user`, `plugin:<name>` or `builtin:<name>`.
    pub source: String,
    /// The extension's own name, for reports.
    pub extension: String,
    /// The session that alone sees it.
    pub session: Option<String>,
    /// The registry's generation at registration.
    pub generation: u64,
    /// The load of an extension that made it, or will.
    pub load: Option<u64>,
    /// True for a placeholder: the code of its load has not run yet.
    pub lazy: bool,
    /// A tool's compiled schema.
    pub schema: Option<Schema>,
    /// A hook's matcher.
    pub matcher: Matcher,
    /// What the host gave along that is no spec field, e.g. the state of a fake provider.
    pub attachment: Option<Rc<dyn Any>>,
    /// Where it was registered: file and line, when known.
    pub place: Option<Place>,
    /// Seconds since 1970 at registration.
    pub time: f64,
    tokens: OnceCell<u64>,
    released: Rc<Released>,
}

/// What a new record is made of.
pub struct NewRecord {
    /// The kind.
    pub kind: String,
    /// Its key.
    pub key: String,
    /// The validated spec.
    pub spec: HostValue,
    /// A tool's compiled schema.
    pub schema: Option<Schema>,
    /// Where it comes from.
    pub origin: Origin,
    /// See [`Record::attachment`].
    pub attachment: Option<Rc<dyn Any>>,
    /// See [`Record::lazy`].
    pub lazy: bool,
}

/// Where and when a record enters a registry.
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) generation: u64,
    pub(super) time: f64,
    pub(super) released: Rc<Released>,
}

/// Ids of records that nothing refers to any more: the host may forget their closures.
#[derive(Debug, Default)]
pub struct Released(RefCell<Vec<String>>);

impl Released {
    /// Takes what was released since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.borrow_mut())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.released.0.borrow_mut().push(std::mem::take(&mut self.id));
    }
}

impl Record {
    /// A record of this entry.
    ///
    /// # Errors
    /// `InvalidSpec` for a matcher that can't be read.
    pub(super) fn new(new: NewRecord, entry: Entry) -> Result<Self, Error> {
        let matcher = matcher_of(&new)?;
        let NewRecord { kind, key, spec, schema, origin, attachment, lazy } = new;
        Ok(Record {
            id: format!("r{}", entry.seq),
            seq: entry.seq,
            kind,
            key,
            spec,
            rank: origin.rank,
            source: origin.source,
            extension: origin.extension,
            session: origin.session,
            generation: entry.generation,
            load: origin.load,
            lazy,
            schema,
            matcher,
            attachment,
            place: origin.place,
            time: entry.time,
            tokens: OnceCell::new(),
            released: entry.released,
        })
    }

    /// A string field of the spec.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.spec.field(field)?.as_str()
    }

    /// True when the field holds a function.
    pub fn has_function(&self, field: &str) -> bool {
        self.spec.field(field).is_some_and(HostValue::is_function)
    }

    /// A number field of the spec.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.spec.field(field)?.as_number()
    }

    /// A tool's namespace; that of a placeholder is in its key.
    pub fn namespace(&self) -> Option<&str> {
        if self.lazy { self.key.split_once('/').map(|(ns, _)| ns) } else { self.text("namespace") }
    }

    /// The name without the namespace.
    pub fn local_name(&self) -> &str {
        if self.lazy {
            self.key.split_once('/').map_or(&self.key, |(_, name)| name)
        } else {
            self.text("name").unwrap_or_default()
        }
    }

    /// What its declaration costs in a request, estimated once.
    pub fn tokens(&self) -> u64 {
        *self.tokens.get_or_init(|| match self.lazy {
            true => tokens::declared(&self.spec),
            false => tokens::declaration(&self.kind, &self.spec, self.schema.as_ref()),
        })
    }

    /// Its place in an ordered listing of its kind.
    pub(super) fn order(&self, kind: &Kind) -> i64 {
        let Some(field) = &kind.order_field else { return 0 };
        monotone(self.number(field).unwrap_or(DEFAULT_ORDER))
    }

    /// Precedence among records of one kind and key: the smallest wins.
    pub fn precedence(&self) -> (u8, u64) {
        (self.rank, self.seq)
    }
}

/// Finite numbers as integers in the same order.
fn monotone(x: f64) -> i64 {
    // Adding zero makes -0.0 and 0.0 the same.
    let bits = (x + 0.0).to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn matcher_of(new: &NewRecord) -> Result<Matcher, Error> {
    let Some(matcher) = new.spec.field("matcher") else { return Ok(Matcher::Always) };
    if matcher.is_function() {
        return Ok(Matcher::Function);
    }
    let name = new.spec.field("name").and_then(HostValue::as_str).unwrap_or_default();
    matcher.as_str().map_or(Ok(Matcher::Always), Matcher::glob).map_err(|p| Error::spec(&new.kind, name, "matcher", p))
}

#[cfg(test)]
mod tests {
    use super::monotone;

    #[test]
    fn orders_compare_like_the_numbers() {
        let numbers = [-1e300, -2.5, -2.0, -0.1, 0.0, 0.1, 1.0, 1.5, 500.0, 1e300];
        assert!(numbers.windows(2).all(|w| monotone(w[0]) < monotone(w[1])));
        assert_eq!(monotone(-0.0), monotone(0.0));
    }
}
