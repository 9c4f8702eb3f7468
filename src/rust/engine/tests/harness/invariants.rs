//! What holds of a session after any run, however it ended.

use std::collections::HashMap;

use gptr_engine::message::{Block, Message, StopReason};
use gptr_engine::session::{Session, Status};
use gptr_engine::value::Value;

use super::compare::message_line;
use super::host::World;

/// Beginnings of results of calls whose body never ran.
const NEVER_RAN: [&str; 5] =
    ["Permission denied: ", "Tool execution was blocked: ", "Invalid arguments for ", "Not executed: ", "Tool "];

/// Everything that is wrong with the session of a world.
pub fn broken(world: &World) -> Vec<String> {
    let mut problems = unsettled(&world.session);
    problems.extend(unbalanced(&world.session));
    problems.extend(ran_though_refused(world));
    problems.extend(requests_without_message(world));
    problems.extend(world.children.iter().flat_map(|c| unsettled(c).into_iter().chain(unbalanced(c))));
    problems
}

fn unsettled(session: &Session) -> Vec<String> {
    let status = session.state.borrow().status;
    let running = session.is_running() || matches!(status, Status::Running | Status::Waiting);
    if running { vec![format!("the session still runs ({status:?})")] } else { Vec::new() }
}

/// Each call of a reply has exactly one result, before the next reply; each result has its call.
pub fn unbalanced(session: &Session) -> Vec<String> {
    let mut problems = Vec::new();
    let mut open: HashMap<String, usize> = HashMap::new();
    let close = |open: &mut HashMap<String, usize>, problems: &mut Vec<String>| {
        problems.extend(open.drain().filter(|(_, n)| *n != 1).map(|(id, n)| format!("the call {id} has {n} results")));
    };
    for message in session.history.range(0, usize::MAX) {
        match &*message {
            Message::Assistant(a) => {
                close(&mut open, &mut problems);
                if a.stop_reason == StopReason::Error {
                    continue;
                }
                for block in &a.content {
                    if let Block::ToolCall { id, .. } = block
                        && open.insert(id.clone(), 0).is_some()
                    {
                        problems.push(format!("two calls of one reply are called {id}"));
                    }
                }
            }
            Message::ToolResult { tool_call_id, .. } => match open.get_mut(tool_call_id) {
                Some(n) => *n += 1,
                None => problems.push(format!("a result without a call: {}", message_line(&message))),
            },
            _ => {}
        }
    }
    close(&mut open, &mut problems);
    problems
}

fn ran_though_refused(world: &World) -> Vec<String> {
    // Ids may come again in a later reply, so calls are counted by id.
    let mut may_run: HashMap<String, usize> = HashMap::new();
    for message in world.session.history.range(0, usize::MAX) {
        if let Message::ToolResult { tool_call_id, is_error, .. } = &*message {
            let text = message.text();
            let refused = *is_error && NEVER_RAN.iter().any(|start| text.starts_with(start));
            *may_run.entry(tool_call_id.clone()).or_default() += usize::from(!refused);
        }
    }
    let bodies = world.trace.iter().filter(|h| h.fields["@role"] == "tool");
    let bodies = bodies.filter(|h| h.fields["@session"] == world.session.id.as_str());
    let mut ran: HashMap<&str, usize> = HashMap::new();
    bodies.filter_map(|h| h.fields["@call"].as_str()).for_each(|id| *ran.entry(id).or_default() += 1);
    let too_often = |(id, n): (&str, usize)| {
        let may = *may_run.get(id)?;
        (n > may).then(|| format!("{id} ran {n} times, but {may} calls of it were let through"))
    };
    ran.into_iter().filter_map(too_often).collect()
}

fn requests_without_message(world: &World) -> Vec<String> {
    let messages = world.session.history.range(0, usize::MAX);
    let replies: Vec<StopReason> = messages
        .iter()
        .filter_map(|m| match &**m {
            Message::Assistant(a) => Some(a.stop_reason),
            _ => None,
        })
        .collect();
    let whole = replies.iter().filter(|r| **r != StopReason::Aborted).count();
    let asked = world.fakes.first().map_or(0, |f| f.count());
    if whole <= asked && asked <= replies.len() + world.lost_requests {
        return Vec::new();
    }
    vec![format!("{asked} requests, {} replies, {whole} of them not aborted", replies.len())]
}

/// What the last request showed that it must not: replies that failed or were aborted, calls without results.
pub fn shown_amiss(world: &World) -> Vec<String> {
    let Some(fake) = world.fakes.first() else { return Vec::new() };
    let request = fake.request(fake.count()).unwrap_or_default();
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let stop = |m: &Value| m["stop_reason"].as_str().unwrap_or_default().to_owned();
    let mut problems: Vec<String> = messages
        .iter()
        .filter(|m| m["role"] == "assistant" && matches!(stop(m).as_str(), "error" | "aborted"))
        .map(|m| format!("a reply is shown that ended in {}", stop(m)))
        .collect();
    let calls = messages.iter().flat_map(|m| m["content"].as_array().cloned().unwrap_or_default());
    let calls = calls.filter(|b| b["type"] == "tool_call").count();
    let results = messages.iter().filter(|m| m["role"] == "tool_result").count();
    if calls != results {
        problems.push(format!("{calls} calls and {results} results are shown"));
    }
    problems
}
