//! How much work a validation is, found out before it begins.
//!
//! A schema without references takes at most as many steps as it has parts times those of the input. With references it
//! can lead to one part in many ways, and each doubles the work at every level: such a validation would not end, or go
//! deeper than the stack. Here each pair of a part of the schema and a part of the input is visited once.

use std::collections::HashMap;

use super::index::{Index, Node};
use crate::value::Value;

/// So many steps take about a second.
const MOST_STEPS: u64 = 5_000_000;

/// Levels of schemas within schemas within values; the validator's stack has to hold them.
const DEEPEST: usize = 500;

/// Refuses a validation that would take too many steps, or go too deep.
pub(super) fn check<'a>(schema: &'a Value, input: &'a Value) -> Result<(), String> {
    let index = Index::new(schema);
    let mut effort = Effort { index: &index, known: HashMap::new() };
    let steps = effort.steps(schema, input, 0);
    if steps > MOST_STEPS { Err("the input is too much work to check against the schema.".to_owned()) } else { Ok(()) }
}

struct Effort<'i, 'a> {
    index: &'i Index<'a>,
    known: HashMap<(Node, Node), u64>,
}

impl<'a> Effort<'_, 'a> {
    /// The steps that `schema` takes on `value`, or [`u64::MAX`] when it goes too deep.
    fn steps(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> u64 {
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        if depth > DEEPEST || self.known.len() as u64 > MOST_STEPS {
            return u64::MAX;
        }
        let Some(map) = schema.as_object() else { return 1 };
        let mut sum = 1u64;
        for next in self.index.steps(schema).0.into_iter().chain(map.get("not")) {
            sum = sum.saturating_add(self.steps(next, value, depth + 1));
        }
        let everywhere = |keyword: &'static str| map.get(keyword).into_iter();
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let own = self.index.of_property(&[schema], name);
                    for next in own.into_iter().chain(everywhere("unevaluatedProperties")) {
                        sum = sum.saturating_add(self.steps(next, inner, depth + 1));
                    }
                }
            }
            Value::Array(items) => {
                for (at, inner) in items.iter().enumerate() {
                    let own = self.index.of_item(&[schema], at).into_iter();
                    for next in own.chain(everywhere("contains")).chain(everywhere("unevaluatedItems")) {
                        sum = sum.saturating_add(self.steps(next, inner, depth + 1));
                    }
                }
            }
            _ => {}
        }
        self.known.insert(pair, sum);
        sum
    }
}
