//! The fields of a kind: what each accepts, and how that is said when a value is wrong.

use crate::value::{HostData, HostValue};

/// One field of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The types that it accepts; a value of any of them is fine.
    pub types: Vec<FieldType>,
    /// True when a spec without it is invalid.
    pub required: bool,
    /// What is filled in when a spec leaves it out.
    pub default: Option<HostValue>,
}

/// What a field accepts.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldType {
    /// One string.
    Text,
    /// One string or NA.
    TextOrNa,
    /// A character vector without NA.
    Texts,
    /// TRUE or FALSE.
    Flag,
    /// A logical vector without NA, uniquely named.
    NamedFlags,
    /// One finite number.
    Number,
    /// One finite number or NA.
    NumberOrNa,
    /// One whole number within R's integers; stored as an integer.
    Whole,
    /// One of these strings.
    OneOf(Vec<String>),
    /// A character vector of some of these strings.
    SomeOf(Vec<String>),
    /// A function that can be called with these positional arguments.
    Function(Vec<String>),
    /// Any function.
    AnyFunction,
    /// A list that is not a data frame.
    List,
    /// A list that is not a data frame, empty or with unique names.
    NamedList,
    /// A data frame.
    DataFrame,
    /// Strings, a symbol, a call, or a spec.
    Reference,
    /// Anything.
    Any,
}

impl FieldType {
    /// True when `value` (never NULL: that counts as absent) is of this type.
    pub fn accepts(&self, value: &HostValue) -> bool {
        match self {
            FieldType::Text => value.as_str().is_some(),
            FieldType::TextOrNa => matches!(&value.data, HostData::Character(x) if x.len() == 1),
            FieldType::Texts => value.as_strings().is_some(),
            FieldType::Flag => value.as_flag().is_some(),
            FieldType::NamedFlags => named_flags(value),
            FieldType::Number => value.as_number().is_some(),
            FieldType::NumberOrNa => value.as_number().is_some() || is_na(value),
            FieldType::Whole => whole(value).is_some(),
            FieldType::OneOf(options) => value.as_str().is_some_and(|s| options.iter().any(|o| o == s)),
            FieldType::SomeOf(options) => {
                value.as_strings().is_some_and(|all| all.iter().all(|s| options.iter().any(|o| o == s)))
            }
            FieldType::Function(arguments) => {
                matches!(&value.data, HostData::Function(f) if f.accepts(arguments.len()))
            }
            FieldType::AnyFunction => value.is_function(),
            FieldType::List => value.is_plain_list(),
            FieldType::NamedList => value.is_plain_list() && value.uniquely_named(),
            FieldType::DataFrame => value.inherits("data.frame"),
            FieldType::Reference => reference(value),
            FieldType::Any => true,
        }
    }

    /// The type in words, to stand behind "must be".
    fn phrase(&self) -> String {
        let fixed = match self {
            FieldType::Text => "a string",
            FieldType::TextOrNa => "a string or NA",
            FieldType::Texts => "a character vector",
            FieldType::Flag => "TRUE or FALSE",
            FieldType::NamedFlags => "a named logical vector",
            FieldType::Number => "a number",
            FieldType::NumberOrNa => "a number or NA",
            FieldType::Whole => "a whole number",
            FieldType::AnyFunction => "a function",
            FieldType::List => "a list",
            FieldType::NamedList => "a named list",
            FieldType::DataFrame => "a data frame",
            FieldType::Reference => "a string, a bare identifier or a spec",
            FieldType::Any => "a value",
            FieldType::OneOf(options) => return format!("one of {}", options.join(", ")),
            FieldType::SomeOf(options) => return format!("a subset of {}", options.join(", ")),
            FieldType::Function(arguments) => return format!("a function accepting ({})", arguments.join(", ")),
        };
        fixed.to_owned()
    }
}

impl Field {
    /// An optional field.
    pub fn new(name: &str, types: impl IntoIterator<Item = FieldType>) -> Self {
        Field { name: name.to_owned(), types: types.into_iter().collect(), required: false, default: None }
    }

    /// The same field, required.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The same field with a default.
    #[must_use]
    pub fn or(mut self, default: impl Into<HostValue>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// Checks a value and returns the form in which it is stored, when that is another one.
    ///
    /// # Errors
    /// The problem: `must be a string or a function accepting (ctx)`.
    pub fn check(&self, value: &HostValue) -> Result<Option<HostValue>, String> {
        let Some(found) = self.types.iter().find(|t| t.accepts(value)) else { return Err(self.problem()) };
        let stored = match (found, &value.data) {
            (FieldType::Whole, HostData::Double(_)) => whole(value).map(HostValue::from),
            _ => None,
        };
        Ok(stored)
    }

    /// What is said when a value has none of the types.
    pub fn problem(&self) -> String {
        let phrases: Vec<String> = self.types.iter().map(FieldType::phrase).collect();
        format!("must be {}", phrases.join(" or "))
    }
}

/// A whole number within R's integers.
pub(crate) fn whole(value: &HostValue) -> Option<i32> {
    let x = value.as_number()?;
    let fits = x.fract() == 0.0 && x.abs() <= f64::from(i32::MAX);
    fits.then_some(x as i32)
}

fn is_na(value: &HostValue) -> bool {
    match &value.data {
        HostData::Logical(x) => matches!(x.as_slice(), [None]),
        HostData::Integer(x) => matches!(x.as_slice(), [None]),
        HostData::Double(x) => matches!(x.as_slice(), [None]),
        _ => false,
    }
}

fn named_flags(value: &HostValue) -> bool {
    matches!(&value.data, HostData::Logical(x) if x.iter().all(Option::is_some)) && value.uniquely_named()
}

fn reference(value: &HostValue) -> bool {
    match &value.data {
        HostData::Character(x) => x.iter().all(Option::is_some),
        HostData::Symbol(_) | HostData::Call(_) => true,
        HostData::List(_) => value.inherits("gptr_spec"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldType as T;

    fn na() -> HostValue {
        HostData::Logical(vec![None]).into()
    }

    #[test]
    fn each_type_accepts_what_it_says() {
        let frame = HostValue { class: vec!["data.frame".into()], ..HostValue::list([]) };
        let symbol: HostValue = HostData::Symbol("opus".into()).into();
        let flags = HostValue { names: Some(vec!["a".into()]), ..true.into() };
        let yes = [
            (T::Text, "a".into()),
            (T::TextOrNa, HostData::Character(vec![None]).into()),
            (T::Texts, HostValue::strings(["a", "b"])),
            (T::NumberOrNa, na()),
            (T::Whole, 3.0.into()),
            (T::NamedFlags, flags),
            (T::Reference, symbol.clone()),
            (T::DataFrame, frame.clone()),
            (T::NamedList, HostValue::list([])),
        ];
        for (kind, value) in yes {
            assert!(kind.accepts(&value), "{kind:?} should accept {value:?}");
        }
        let no = [
            (T::Text, HostValue::strings(["a", "b"])),
            (T::Text, HostData::Character(vec![None]).into()),
            (T::TextOrNa, na()),
            (T::Flag, na()),
            (T::Number, f64::NAN.into()),
            (T::NumberOrNa, f64::INFINITY.into()),
            (T::Whole, 7.5.into()),
            (T::Whole, 2_147_483_648.0.into()),
            (T::NamedFlags, true.into()),
            (T::NamedList, HostValue::list([1.into()])),
            (T::List, frame),
            (T::Texts, symbol),
        ];
        for (kind, value) in no {
            assert!(!kind.accepts(&value), "{kind:?} should refuse {value:?}");
        }
    }

    #[test]
    fn alternatives_are_joined_and_must_be_is_said_once() {
        let field = Field::new("text", [T::Text, T::Function(vec!["ctx".into()])]);
        assert_eq!(field.problem(), "must be a string or a function accepting (ctx)");
    }

    #[test]
    fn whole_doubles_are_stored_as_integers() {
        let field = Field::new("order", [T::Whole]);
        assert_eq!(field.check(&700.0.into()), Ok(Some(700.into())));
        assert_eq!(field.check(&700.into()), Ok(None));
    }
}
