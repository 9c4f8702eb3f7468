//! Sessions: making, asking, steering.

use std::rc::Rc;

use extendr_api::prelude::*;
use gptr_engine::conversation;
use gptr_engine::error::Error;
use gptr_engine::run;
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
    fn session_aborted;
    fn session_take_grant;
    fn session_close;
    fn kept_output;
    fn task_run;
    fn task_prompt;
}
