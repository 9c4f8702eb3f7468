//! Rows of the table of risks.

use crate::registry::field::whole;
use crate::registry::validate::{Draft, Verdict, fault};
use crate::value::{HostData, HostValue};

/// The rule of kind `risk_rule`.
pub(crate) fn check(draft: &mut Draft<'_>) -> Verdict {
    let Some(rows) = draft.field("rows") else { return Ok(()) };
    let columns: &[&str] =
        if draft.text("target") == Some("command") { &["command", "level"] } else { &["package", "function", "level"] };
    if let Some(missing) = columns.iter().find(|c| rows.field(c).is_none()) {
        return fault("rows", format!("must have a column '{missing}'"));
    }
    if rows.field("level").is_some_and(levels) { Ok(()) } else { fault("rows", "must have levels 0 to 4") }
}

fn levels(column: &HostValue) -> bool {
    let one = |x: HostValue| whole(&x).is_some_and(|level| (0..=4).contains(&level));
    match &column.data {
        HostData::Integer(all) => all.iter().all(|x| one(HostData::Integer(vec![*x]).into())),
        HostData::Double(all) => all.iter().all(|x| one(HostData::Double(vec![*x]).into())),
        _ => false,
    }
}
