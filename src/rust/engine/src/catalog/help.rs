//! Help on one member.

use crate::prompt::budget::whole_lines;
use crate::prompt::estimate::{Class, estimate};
use crate::value::Value;

/// A member that help is asked for.
#[derive(Debug, Clone, Copy)]
pub struct MemberHelp<'a> {
    /// Its signature line, with the comment.
    pub signature: &'a str,
    /// Its description.
    pub description: &'a str,
    /// The schema of its arguments.
    pub schema: Option<&'a Value>,
    /// The formals that it is called with; arguments are explained only when the schema's properties are among them.
    pub formals: &'a [&'a str],
}

/// The help of a member, within `budget` tokens: signature, description, and a line an argument.
pub fn help_lines(member: MemberHelp<'_>, budget: u64) -> Vec<String> {
    let mut lines = vec![member.signature.to_owned(), String::new()];
    lines.extend(member.description.lines().map(str::to_owned));
    let arguments = arguments(member.schema, member.formals);
    if !arguments.is_empty() {
        lines.extend([String::new(), "Arguments:".to_owned()]);
        lines.extend(arguments);
    }
    cut_help(lines, budget)
}

/// Whole lines within the budget, then how many more there are. For pages of R's own help as well.
pub fn cut_help(mut lines: Vec<String>, budget: u64) -> Vec<String> {
    let text = lines.join("\n");
    if estimate(&text, Class::Prose) <= budget {
        return lines;
    }
    let room = budget.saturating_sub(estimate(&more(lines.len()), Class::Prose));
    let kept = whole_lines(&text, Class::Prose, room).count();
    let left = lines.len().saturating_sub(kept);
    lines.truncate(kept);
    lines.push(more(left));
    lines
}

fn more(lines: usize) -> String {
    format!("[... {lines} more lines of help not shown]")
}

fn arguments(schema: Option<&Value>, formals: &[&str]) -> Vec<String> {
    let properties = schema.and_then(|s| s.get("properties")).and_then(Value::as_object);
    let Some(properties) = properties.filter(|p| p.keys().all(|name| formals.contains(&name.as_str()))) else {
        return Vec::new();
    };
    let required: Vec<&str> = match schema.and_then(|s| s.get("required")) {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name],
        _ => Vec::new(),
    };
    properties.iter().map(|(name, schema)| argument_line(name, schema, required.contains(&name.as_str()))).collect()
}

/// `  <name> (<types>[, required])[: <description>][ [v1, v2]]`.
fn argument_line(name: &str, schema: &Value, required: bool) -> String {
    let choices = schema.get("enum").and_then(Value::as_array);
    let mut line = format!("  {name} ({}", types(schema, choices.is_some()));
    line.push_str(if required { ", required)" } else { ")" });
    if let Some(description) = schema.get("description").and_then(Value::as_str).filter(|d| !d.trim().is_empty()) {
        line.push_str(": ");
        line.push_str(&description.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if let Some(choices) = choices {
        line.push_str(&format!(" [{}]", choices.iter().map(plain).collect::<Vec<_>>().join(", ")));
    }
    line
}

fn types(schema: &Value, has_choices: bool) -> String {
    match schema.get("type") {
        Some(Value::String(word)) => word.clone(),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        _ if has_choices => "enum".to_owned(),
        _ => "any".to_owned(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn help_shows_signature_description_and_arguments() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "number", "description": "First\n  number."},
            "b": {"type": ["number", "null"]},
            "how": {"enum": ["fast", 2], "description": "Way."},
            "c": {}
        }});
        let help = MemberHelp {
            signature: "peter$demo$add(a: number)  # Add.",
            description: "Add.\nTwo numbers.",
            schema: Some(&schema),
            formals: &["a", "b", "how", "c", "..."],
        };
        assert_eq!(
            help_lines(help, 800),
            [
                "peter$demo$add(a: number)  # Add.",
                "",
                "Add.",
                "Two numbers.",
                "",
                "Arguments:",
                "  a (number, required): First number.",
                "  b (number|null)",
                "  how (enum): Way. [fast, 2]",
                "  c (any)"
            ]
        );
    }

    #[test]
    fn properties_that_are_no_formals_are_not_explained() {
        let schema = json!({"properties": {"x": {"type": "string"}}});
        let help =
            MemberHelp { signature: "peter$f(input)", description: "F.", schema: Some(&schema), formals: &["input"] };
        assert_eq!(help_lines(help, 800), ["peter$f(input)", "", "F."]);
    }

    #[test]
    fn long_help_is_cut_to_its_budget_with_a_count_of_what_is_missing() {
        let lines: Vec<String> = (0..100).map(|i| format!("Line {i} of a long page of help.")).collect();
        let cut = cut_help(lines, 100);
        let shown = cut.len() - 1;
        assert_eq!(cut.last().unwrap(), &format!("[... {} more lines of help not shown]", 100 - shown));
        assert!(shown > 5 && estimate(&cut.join("\n"), Class::Prose) <= 100);
    }
}
