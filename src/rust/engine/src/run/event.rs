//! Events that handlers set off themselves, through `ctx$update()` and `ctx$emit()`.

use std::rc::Rc;

use super::scene::Scene;
use crate::engine::Engine;
use crate::error::Error;
use crate::hook::catalogue;
use crate::session::{Running, Session};
use crate::task::Task;
use crate::value::{HostValue, Value, json};

/// Handlers that emit what they listen to come to an end.
const DEEPEST: u32 = 16;

/// What a tool says of its progress: an event, beside the line that the person sees.
pub const UPDATE: &str = "tool_execution_update";

/// A task that tells listeners of a tool's progress.
pub fn update(engine: &Rc<Engine>, session: &Rc<Session>, call: &str, tool: &str, text: &str) -> Task {
    tell(engine, session, UPDATE, json!({"tool_call_id": call, "tool_name": tool, "text": text}))
}

/// A task that sends data over a channel.
///
/// # Errors
/// `InvalidArgument` for a name that is no channel, or data that is no JSON.
pub fn emit(engine: &Rc<Engine>, session: &Rc<Session>, channel: &str, data: &HostValue) -> Result<Task, Error> {
    if !catalogue::is_channel(channel) {
        let expected = "the name of a channel, \"<plugin>:<topic>\"";
        return Err(Error::argument("event", expected, &format!("\"{channel}\"")));
    }
    let data = data.to_json().map_err(|e| Error::argument_message("data", format!("`data` {e}")))?;
    Ok(tell(engine, session, channel, json!({"data": data})))
}

fn tell(engine: &Rc<Engine>, session: &Rc<Session>, name: &str, payload: Value) -> Task {
    let (engine, session, name) = (engine.clone(), session.clone(), name.to_owned());
    let bell = engine.bell.clone();
    Task::new(&bell, move |host| async move {
        let running = session.running.borrow().clone();
        let run = running.unwrap_or_else(|| Running::new(String::new(), host.signal().clone()));
        let scene = Scene { engine, session, host, run };
        let depth = scene.session.telling.clone();
        if depth.get() >= DEEPEST {
            let message = format!("{name} is set off within {DEEPEST} others");
            scene.diagnose("nesting", &name, "too_deep", &message);
            return Ok(json!(false));
        }
        let _one = Level::enter(depth);
        scene.notify(&name, || payload).await;
        Ok(json!(true))
    })
}

/// Counts for as long as it lives, however its task ends.
struct Level(Rc<std::cell::Cell<u32>>);

impl Level {
    fn enter(depth: Rc<std::cell::Cell<u32>>) -> Self {
        depth.set(depth.get() + 1);
        Level(depth)
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}
