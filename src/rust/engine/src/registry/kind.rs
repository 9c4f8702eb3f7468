//! The kinds of records, as data: their fields, how a name is resolved, and which further check a spec passes.

mod table;

use super::field::{Field, FieldType};
use super::rules::{self, Rule};
use crate::value::HostValue;

pub use table::builtin_kinds;
pub(crate) use table::model_fields;

/// How the records of one kind and key are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolve {
    /// One record wins.
    First,
    /// All of them count.
    All,
}

/// A kind of records.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// How a name is resolved.
    pub resolve: Resolve,
    /// The field that orders a listing, for kinds of which all records count.
    pub order_field: Option<String>,
    /// True while its fields may still change.
    pub experimental: bool,
    /// Who defined it: `builtin:registry`, or the source of a `kind` record.
    pub source: String,
    /// The fields, in the order in which they are checked.
    pub fields: Vec<Field>,
    /// The function that validates the specs of this kind, for one that a `kind` record defined.
    pub validator: Option<Validator>,
    /// False when nothing reads its records yet.
    pub consumed: bool,
    pub(crate) rule: Rule,
}

/// Where the host finds the `validate` function of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validator {
    /// The `kind` record, once there is one.
    pub record: Option<String>,
    /// The session that keeps the record's spec.
    pub home: Option<String>,
    /// Names the spec while it is staged.
    pub token: Option<String>,
}

/// The source of the built-in kinds.
pub const BUILTIN_SOURCE: &str = "builtin:registry";

impl Kind {
    /// The kind that a validated `kind` record defines.
    pub fn defined_by(spec: &HostValue, source: &str, validator: Validator) -> Kind {
        let text = |name: &str| spec.field(name).and_then(HostValue::as_str);
        let names = spec.field("fields").and_then(HostValue::as_strings).unwrap_or_default();
        Kind {
            name: text("name").unwrap_or_default().to_owned(),
            resolve: if text("resolve") == Some("all") { Resolve::All } else { Resolve::First },
            order_field: text("order_field").map(str::to_owned),
            experimental: spec.field("experimental").and_then(HostValue::as_flag).unwrap_or(true),
            source: source.to_owned(),
            fields: names.into_iter().map(|n| Field::new(n, [FieldType::Any])).collect(),
            validator: Some(validator),
            consumed: true,
            rule: rules::none,
        }
    }

    /// True when all records of a key count.
    pub fn is_additive(&self) -> bool {
        self.resolve == Resolve::All
    }

    fn all(mut self) -> Self {
        self.resolve = Resolve::All;
        self
    }

    fn ordered(mut self) -> Self {
        self.order_field = Some("order".to_owned());
        self.all()
    }

    fn experimental(mut self) -> Self {
        self.experimental = true;
        self
    }

    /// Nothing reads the records yet.
    fn unread(mut self) -> Self {
        self.consumed = false;
        self
    }

    fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_record_defines_a_kind() {
        let spec = HostValue::named([
            ("name", "reviewer".into()),
            ("resolve", "all".into()),
            ("fields", HostValue::strings(["ask"])),
        ]);
        let validator = Validator { record: Some("r1".into()), home: None, token: None };
        let kind = Kind::defined_by(&spec, "plugin:demo", validator);
        assert_eq!((kind.name.as_str(), kind.source.as_str()), ("reviewer", "plugin:demo"));
        assert!(kind.experimental && kind.resolve == Resolve::All && kind.validator.is_some());
        assert_eq!(kind.fields.len(), 1);
    }
}
