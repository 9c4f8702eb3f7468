//! Sessions: making, asking, steering.

use std::rc::Rc;

use extendr_api::prelude::*;
use gptr_engine::conversation;
use gptr_engine::run;
use gptr_engine::session::Session;
use gptr_engine::value::{Value, json};

use crate::answer::{answer, engine, guarded, started};
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

type Handle = ExternalPtr<SessionHandle>;

/// The session behind a handle.
pub fn of(handle: &Handle) -> Rc<Session> {
    handle.0.clone()
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
fn session_get(session: Handle, field: &str) -> Robj {
    answer(|| of(&session).field(field))
}

/// Model, mode, settings and facts as this call gives them.
#[extendr]
fn session_choose(session: Handle, args: Robj) -> Robj {
    answer(|| conversation::choose(&engine(), &of(&session), &host_value(&args)).map(|()| Value::Null))
}

/// Queues a prompt: list(text, source, attached).
#[extendr]
fn session_prompt(session: Handle, said: Robj) -> Robj {
    answer(|| conversation::prompt(&of(&session), &host_value(&said)).map(|()| Value::Null))
}

/// Queues a word for a running session.
#[extendr]
fn session_steer(session: Handle, text: &str, urgency: &str) -> Robj {
    answer(|| conversation::steer(&of(&session), text, urgency).map(|()| Value::Null))
}

/// Stops what the session does.
#[extendr]
fn session_abort(session: Handle, reason: &str) -> Robj {
    answer(|| {
        if let Some(running) = &*of(&session).running.borrow() {
            running.signal.abort(reason);
        }
        Ok(Value::Null)
    })
}

/// TRUE when the session's run was stopped.
#[extendr]
fn session_aborted(session: Handle) -> Robj {
    answer(|| Ok(json!(of(&session).running.borrow().as_ref().is_some_and(|r| r.signal.is_raised()))))
}

/// Forgets a session at once.
#[extendr]
fn session_close(session: Handle) -> Robj {
    answer(|| {
        engine().close(&of(&session));
        Ok(Value::Null)
    })
}

/// The full text kept under an id, of this session.
#[extendr]
fn kept_output(id: &str, session: Robj) -> Robj {
    answer(|| Ok(json!(conversation::kept_output(&engine(), id, host_value(&session).as_str()))))
}

/// A task that runs the session.
#[extendr]
fn task_run(session: Handle) -> Robj {
    guarded(|| Ok(handle(run::task(&engine(), &of(&session)))))
}

/// A task that renders what a new session, or this one, would freeze.
#[extendr]
fn task_prompt(args: Robj, session: Robj) -> Robj {
    guarded(|| {
        let session: Option<Rc<Session>> = Handle::try_from(session).ok().map(|h| of(&h));
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
    fn session_aborted;
    fn session_close;
    fn kept_output;
    fn task_run;
    fn task_prompt;
}
