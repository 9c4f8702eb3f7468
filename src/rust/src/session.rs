//! Sessions: making, asking, steering.

use std::rc::Rc;

use extendr_api::prelude::*;
use gptr_engine::clock;
use gptr_engine::conversation;
use gptr_engine::error::Error;
use gptr_engine::listing;
use gptr_engine::run::{self, lane::Lane};
use gptr_engine::session::Session;
use gptr_engine::value::{Value, json};

use crate::answer::{answer, engine, guarded, started};
use crate::arg;
use crate::task::handle;
use crate::value::{host_value, named_list, robj};

/// A session behind an external pointer. When R lets go of it, it leaves the registry with all that only it saw.
pub struct SessionHandle(Rc<Session>);

impl Drop for SessionHandle {
    fn drop(&mut self) {
        // Runs in a finalizer: data of the engine only, no call of R, no waiting.
        if let Some(engine) = started() {
            engine.retire(self.0.clone());
        }
    }
}

/// The session behind a handle.
pub fn of(handle: &Robj) -> Result<Rc<Session>, Error> {
    arg::held::<SessionHandle>(handle, "session").map(|handle| handle.0.clone())
}

/// Makes a session from list(parent, mode, model, settings, preset, system, thinking).
#[extendr]
fn session_new(args: Robj) -> Robj {
    guarded(|| {
        let session = conversation::create(&engine(), &host_value(&args))?;
        let id = session.id.clone();
        let ptr: Robj = ExternalPtr::new(SessionHandle(session)).into();
        Ok(named_list(vec![("ptr", ptr), ("id", robj(&json!(id)))]))
    })
}

/// The value of an accessor.
#[extendr]
fn session_get(session: Robj, field: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let field = &arg::text(&field, "field")?;
        session.field(field)
    })
}

/// Model, mode, settings and facts as this call gives them.
#[extendr]
fn session_choose(session: Robj, args: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        conversation::choose(&engine(), &session, &host_value(&args)).map(|()| Value::Null)
    })
}

/// Queues a prompt: list(text, source, attached).
#[extendr]
fn session_prompt(session: Robj, said: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        conversation::prompt(&session, &host_value(&said)).map(|()| Value::Null)
    })
}

/// Queues a word for a running session.
#[extendr]
fn session_steer(session: Robj, text: Robj, urgency: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let text = &arg::text(&text, "text")?;
        let urgency = &arg::text(&urgency, "urgency")?;
        conversation::steer(&session, text, urgency).map(|()| Value::Null)
    })
}

/// Stops what the session does.
#[extendr]
fn session_abort(session: Robj, reason: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let reason = &arg::text(&reason, "reason")?;
        if let Some(running) = &*session.running.borrow() {
            running.signal.abort(reason);
        }
        Ok(Value::Null)
    })
}

/// Bounds the requests in flight of these sessions together: a number, or NULL for no bound.
#[extendr]
fn sessions_share_lane(sessions: Robj, limit: Robj) -> Robj {
    answer(|| {
        let limit = if limit.is_null() { None } else { Some(arg::number(&limit, "max_active")? as usize) };
        let lane = Lane::of(limit);
        for session in arg::items(&sessions, "sessions")? {
            of(&session)?.state.borrow_mut().lane = lane.clone();
        }
        Ok(Value::Null)
    })
}

/// TRUE when the session's run was stopped.
#[extendr]
fn session_aborted(session: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        Ok(json!(session.running.borrow().as_ref().is_some_and(|r| r.signal.is_raised())))
    })
}

/// Uses up a grant of the session's run for the function `action`; FALSE when there is none.
#[extendr]
fn session_take_grant(session: Robj, action: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let action = &arg::text(&action, "action")?;
        Ok(json!(session.running.borrow().as_ref().is_some_and(|r| r.grants.take(action))))
    })
}

/// Forgets a session at once.
#[extendr]
fn session_close(session: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        engine().close(&session);
        Ok(Value::Null)
    })
}

/// The rows of usage of the process.
#[extendr]
fn usage_ledger() -> Robj {
    answer(|| Ok(engine().usage()))
}

/// Queues a word of an extension's.
#[extendr]
fn session_send(session: Robj, text: Robj, urgency: Robj, extension: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let (text, urgency) = (arg::text(&text, "text")?, arg::text(&urgency, "as")?);
        let extension = arg::text(&extension, "extension")?;
        conversation::send(&session, &text, &urgency, &extension).map(|()| Value::Null)
    })
}

/// Sets the model from the next request on.
#[extendr]
fn session_set_model(session: Robj, reference: Robj, thinking: Robj, reason: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let (reference, reason) = (arg::text(&reference, "ref")?, arg::text(&reason, "reason")?);
        let thinking = host_value(&thinking);
        conversation::set_model(&engine(), &session, &reference, thinking.as_str(), &reason).map(|()| Value::Null)
    })
}

/// Tells the model of tools that came after its prompt was frozen.
#[extendr]
fn session_announce_tools(session: Robj, lines: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let lines = host_value(&lines);
        let lines: Vec<String> = lines.as_strings().unwrap_or_default().into_iter().map(str::to_owned).collect();
        conversation::announce_tools(&session, &lines);
        Ok(Value::Null)
    })
}

/// Notes something for the session's record.
#[extendr]
fn session_append_entry(session: Robj, extension: Robj, kind: Robj, data: Robj) -> Robj {
    answer(|| {
        let session = of(&session)?;
        let (extension, kind) = (arg::text(&extension, "extension")?, arg::text(&kind, "type")?);
        conversation::append_entry(&session, &extension, &kind, &host_value(&data)).map(|()| Value::Null)
    })
}

/// Tokens that the result of code may take.
#[extendr]
fn session_output_room(session: Robj) -> Robj {
    answer(|| Ok(json!(of(&session)?.output_room(None, true))))
}

/// The estimate of an image in tokens.
#[extendr]
fn image_tokens(width: Robj, height: Robj) -> Robj {
    answer(|| {
        let side = |x: &Robj| host_value(x).as_number().map(|n| n as u32);
        Ok(json!(listing::image_tokens(side(&width), side(&height))))
    })
}

/// The risk of code, from the facts of its text.
#[extendr]
fn code_risk(facts: Robj, session: Robj) -> Robj {
    answer(|| {
        let facts = host_value(&facts).to_json().map_err(|e| Error::internal(format!("facts: {e}")))?;
        let snapshot = engine().registry.snapshot(host_value(&session).as_str());
        Ok(run::permission::code_risk(&snapshot, &facts).to_json())
    })
}

/// A task that tells listeners of a tool's progress.
#[extendr]
fn task_update(session: Robj, call: Robj, tool: Robj, text: Robj) -> Robj {
    guarded(|| {
        let session = of(&session)?;
        let (call, tool) = (arg::text(&call, "call")?, arg::text(&tool, "tool")?);
        Ok(handle(run::event::update(&engine(), &session, &call, &tool, &arg::text(&text, "text")?)))
    })
}

/// A task that sends data over a channel.
#[extendr]
fn task_emit(session: Robj, channel: Robj, data: Robj) -> Robj {
    guarded(|| {
        let session = of(&session)?;
        Ok(handle(run::event::emit(&engine(), &session, &arg::text(&channel, "event")?, &host_value(&data))?))
    })
}

/// The full text kept under an id, of this session.
#[extendr]
fn kept_output(id: Robj, session: Robj) -> Robj {
    answer(|| {
        let id = &arg::text(&id, "id")?;
        Ok(json!(conversation::kept_output(&engine(), id, host_value(&session).as_str())))
    })
}

/// A task that runs the session.
#[extendr]
fn task_run(session: Robj) -> Robj {
    guarded(|| {
        let session = of(&session)?;
        Ok(handle(run::task(&engine(), &session)))
    })
}

/// A task that tells listeners of the session's queue.
#[extendr]
fn task_queue_told(session: Robj) -> Robj {
    guarded(|| {
        let session = of(&session)?;
        Ok(handle(run::queue_told(&engine(), &session)))
    })
}

/// An id of the engine's making.
#[extendr]
fn fresh_id(prefix: Robj, digits: Robj) -> Robj {
    answer(|| {
        let prefix = arg::text(&prefix, "prefix")?;
        Ok(json!(clock::fresh_id(&prefix, arg::number(&digits, "digits")? as usize)))
    })
}

/// A task that renders what a new session, or this one, would freeze.
#[extendr]
fn task_prompt(args: Robj, session: Robj) -> Robj {
    guarded(|| {
        let session = if session.is_null() { None } else { Some(of(&session)?) };
        Ok(handle(conversation::prompt_view(&engine(), session, &host_value(&args))?))
    })
}

extendr_module! {
    mod session;
    fn session_new;
    fn session_get;
    fn session_choose;
    fn session_prompt;
    fn session_steer;
    fn session_abort;
    fn sessions_share_lane;
    fn session_aborted;
    fn session_take_grant;
    fn session_close;
    fn usage_ledger;
    fn kept_output;
    fn session_send;
    fn session_set_model;
    fn session_announce_tools;
    fn session_append_entry;
    fn session_output_room;
    fn image_tokens;
    fn code_risk;
    fn task_update;
    fn task_emit;
    fn task_run;
    fn task_queue_told;
    fn fresh_id;
    fn task_prompt;
}
