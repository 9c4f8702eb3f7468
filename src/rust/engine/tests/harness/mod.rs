//! Table tests of the run loop: a table is read, played by a host in pure Rust, and compared.

pub mod compare;
pub mod host;
pub mod invariants;
pub mod spec;
pub mod table;

use std::path::Path;

use gptr_engine::error::Error;
use gptr_engine::value::Value;
use host::{Left, World};
use table::{Say, Table};

/// A world for the head of a table.
///
/// # Panics
/// When the table can't be read.
pub fn world(text: &str) -> World {
    Table::parse(text).and_then(|table| World::new(&table)).unwrap_or_else(|e| panic!("{e}"))
}

/// Plays the table in a file of `tests/tables`.
///
/// # Panics
/// With everything that differs, when something does.
pub fn play_file(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let table = Table::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut world = World::new(&table).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut problems = String::new();
    for (n, say) in table.says.iter().enumerate() {
        for (what, diff) in play(&mut world, say) {
            problems.push_str(&format!(
                "\n  run {} ({}), {what}:\n{diff}",
                n + 1,
                say.prompt.as_deref().unwrap_or("no prompt")
            ));
        }
    }
    assert!(problems.is_empty(), "{name}: wanted (-) and seen (+)\n{problems}");
}

/// Plays one run and returns what differs.
fn play(world: &mut World, say: &Say) -> Vec<(String, String)> {
    let messages_before = world.session.history.len();
    let diagnostics_before = world.engine.registry.diagnostics().len();
    world.trace.clear();
    world.cancel_on_wait = say.cancel_on_wait;
    for act in &say.before {
        world.act(act);
    }
    let end = match world.say(say.prompt.as_deref()) {
        Left::Done(outcome, _) => end_line(outcome),
        Left::Jumped => "jumped".into(),
    };
    let mut found = Vec::new();
    let mut note = |what: &str, diff: Option<String>| found.extend(diff.map(|d| (what.to_owned(), d)));
    if let Some(wanted) = &say.trace {
        note("trace", compare::trace(wanted, &world.trace));
    }
    if let Some(wanted) = &say.messages {
        let messages = world.session.history.range(messages_before, usize::MAX);
        let lines: Vec<String> = messages.iter().map(|m| compare::message_line(m)).collect();
        note("messages", compare::lines(wanted, &lines));
    }
    if let Some(wanted) = &say.diagnostics {
        let rows = world.engine.registry.diagnostics();
        let lines: Vec<String> =
            rows.iter().skip(diagnostics_before).map(|d| format!("{} {}: {}", d.event, d.class, d.message)).collect();
        note("diagnostics", compare::lines(wanted, &lines));
    }
    for (n, roles) in &say.requests {
        note(&format!("request {n}"), compare::lines(std::slice::from_ref(roles), &[roles_of(world, *n)]));
    }
    if let Some(count) = say.count {
        let seen = world.fakes.first().map_or(0, |f| f.count());
        note("requests", compare::lines(&[count.to_string()], &[seen.to_string()]));
    }
    if let Some(wanted) = &say.end {
        note("end", compare::lines(std::slice::from_ref(wanted), &[end]));
    }
    found
}

/// `idle`, `error overloaded,provider: <message>`.
pub fn end_line(outcome: Result<Value, Error>) -> String {
    let value = match outcome {
        Ok(value) => value,
        Err(error) => return format!("failed {}: {error}", error.condition().classes.join(",")),
    };
    let status = value["status"].as_str().unwrap_or("?");
    let condition = &value["condition"];
    let Some(classes) = condition["classes"].as_array() else { return status.to_owned() };
    let classes: Vec<&str> = classes.iter().filter_map(Value::as_str).collect();
    format!("{status} {}: {}", classes.join(","), condition["message"].as_str().unwrap_or_default())
}

fn roles_of(world: &World, n: usize) -> String {
    let request = world.fakes.first().and_then(|f| f.request(n)).unwrap_or_default();
    let roles: Vec<&str> =
        request["messages"].as_array().into_iter().flatten().filter_map(|m| m["role"].as_str()).collect();
    roles.join(" ")
}
