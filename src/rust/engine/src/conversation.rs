//! Sessions as a host makes, changes and asks them.

use std::rc::Rc;

use crate::clock;
use crate::engine::Engine;
use crate::error::Error;
use crate::gate::mode::Mode;
use crate::message::Block;
use crate::prompt::block::BlockMemory;
use crate::prompt::preset::{DEFAULT_PRESET, Preset};
use crate::prompt::render::{self, SystemOption};
use crate::prompt::view::PromptView;
use crate::run::models::Known;
use crate::run::scene::Scene;
use crate::session::{Attached, Input, ModelChoice, Running, Session, Settings, Urgency};
use crate::task::Task;
use crate::value::{HostValue, Value, json};

/// The mode of a session that names none.
const DEFAULT_MODE: Mode = Mode::Manual;

/// Makes a session from named fields: `parent` (an id), `mode`, `settings`, `preset`, `system`, `thinking`. Its model is
/// set by [`choose`].
///
/// # Errors
/// `InvalidArgument` for an unknown mode or preset; `Budget`-free `InvalidArgument` (`depth`) when sessions are nested
/// too deep.
pub fn create(engine: &Rc<Engine>, args: &HostValue) -> Result<Rc<Session>, Error> {
    let parent = text(args, "parent").and_then(|id| engine.session(id));
    let mut settings = settings_of(args);
    let inherited = parent.as_ref().map(|p| p.state.borrow().mode);
    let mut mode = mode_of(args)?.or(inherited).unwrap_or(DEFAULT_MODE);
    if let Some(parent) = &parent {
        let limit = parent.state.borrow().settings.max_depth;
        if parent.depth + 1 > limit {
            let message = format!("Sessions can be nested {limit} deep, and this one would be {}.", parent.depth + 1);
            return Err(Error::argument_message("depth", message));
        }
        mode = mode.tighten(parent.state.borrow().mode);
        settings = parent.state.borrow().settings.guarding(settings);
    }
    let preset = Preset::builtin(text(args, "preset").unwrap_or(DEFAULT_PRESET))?;
    let nowhere = ModelChoice { provider: String::new(), id: String::new(), thinking: None };
    let id = clock::fresh_id("s", 10);
    let session = Rc::new(Session::new(id, parent.as_ref(), nowhere, mode, settings, preset));
    session.state.borrow_mut().system = system_of(args)?;
    session.state.borrow_mut().required_policies = required_policies(engine);
    engine.adopt(&session);
    Ok(session)
}

/// Sets what a call gives: `model` (a reference), `default_model` (used when the session has none), `mode`, `settings`,
/// `thinking`, `facts`. Inside of a run the mode is only tightened, and the guards stay.
///
/// # Errors
/// `UnknownModel`, `NoKey`, `InvalidArgument`.
pub fn choose(engine: &Rc<Engine>, session: &Rc<Session>, args: &HostValue) -> Result<(), Error> {
    let known = Known::of(&engine.registry.snapshot(Some(&session.id)));
    let has_model = !session.state.borrow().model.id.is_empty();
    let resolved = match (text(args, "model"), text(args, "default_model")) {
        (Some(reference), _) => Some(known.resolve(reference)?),
        (None, _) if has_model => None,
        (None, Some(reference)) => Some(known.resolve(reference)?),
        (None, None) => Some(known.default_model()?),
    };
    let inside = session.depth > 0 || session.is_running();
    let mode = mode_of(args)?;
    let mut state = session.state.borrow_mut();
    if let Some(resolved) = resolved {
        state.model = resolved.into();
    }
    if let Some(level) = text(args, "thinking") {
        state.model.thinking = Some(level.to_owned());
    }
    if let Some(mode) = mode {
        state.mode = if inside { mode.tighten(state.mode) } else { mode };
    }
    let settings = settings_of(args);
    state.settings = if inside { state.settings.guarding(settings) } else { settings };
    if let Some(facts) = args.field("facts") {
        state.facts = facts.to_json().map_err(|e| Error::internal(format!("facts: {e}")))?;
    }
    Ok(())
}

/// Queues a prompt: `text`, `source`, `attached` (a list of `name` and `text`).
///
/// # Errors
/// `InvalidArgument` (`prompt`).
pub fn prompt(session: &Session, said: &HostValue) -> Result<(), Error> {
    let prompt = text(said, "text").ok_or_else(|| Error::argument("prompt", "a single string", "a missing value"))?;
    let attached = said.field("attached").and_then(HostValue::items).unwrap_or_default();
    let attached = attached.iter().map(|item| Attached {
        name: text(item, "name").unwrap_or_default().to_owned(),
        text: text(item, "text").unwrap_or_default().to_owned(),
    });
    let source = text(said, "source").unwrap_or("prompt").to_owned();
    session.enqueue(Urgency::FollowUp, Input { text: prompt.to_owned(), attached: attached.collect(), source });
    Ok(())
}

/// Queues a word: `steer` before the next model request, `follow_up` when the run would end.
///
/// # Errors
/// `InvalidArgument` (`as`).
pub fn steer(session: &Session, text: &str, urgency: &str) -> Result<(), Error> {
    let urgency = urgency_of(urgency)?;
    let source = if urgency == Urgency::Steer { "steer" } else { "follow_up" };
    session.enqueue(urgency, Input { text: text.to_owned(), attached: Vec::new(), source: source.to_owned() });
    Ok(())
}

/// Queues a word of an extension's, which the model is told the user did not write.
///
/// # Errors
/// `InvalidArgument` (`as`).
pub fn send(session: &Session, text: &str, urgency: &str, extension: &str) -> Result<(), Error> {
    let urgency = urgency_of(urgency)?;
    let text = format!("The extension '{extension}' sent this; the user did not write it:\n\n{text}");
    session.enqueue(urgency, Input { text, attached: Vec::new(), source: Input::EXTENSION.to_owned() });
    Ok(())
}

/// Sets the model from the next request on.
///
/// # Errors
/// `UnknownModel`, `NoKey`.
pub fn set_model(
    engine: &Engine,
    session: &Session,
    reference: &str,
    thinking: Option<&str>,
    reason: &str,
) -> Result<(), Error> {
    let known = Known::of(&engine.registry.snapshot(Some(&session.id)));
    let mut choice: ModelChoice = known.resolve(reference)?.into();
    let mut state = session.state.borrow_mut();
    choice.thinking = thinking.map(str::to_owned).or(choice.thinking).or_else(|| state.model.thinking.clone());
    state.model = choice;
    state.model_reason = Some(reason.to_owned());
    Ok(())
}

/// Tells the model of tools that came after its prompt was frozen. Those of a session that has not begun are in it.
pub fn announce_tools(session: &Session, lines: &[String]) {
    if lines.is_empty() || session.state.borrow().frozen.is_none() {
        return;
    }
    let text = format!("New tools are available from now on:\n{}", lines.join("\n"));
    session.state.borrow_mut().notes.push(("tool_change".to_owned(), text));
}

/// Notes something for the session's record, as `<plugin>.<type>`.
///
/// # Errors
/// `InvalidArgument` (`type`, `data`).
pub fn append_entry(session: &Session, extension: &str, kind: &str, data: &HostValue) -> Result<(), Error> {
    let plugin = extension.rsplit(':').next().unwrap_or(extension);
    let named = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if !named || kind.starts_with("gptr.") || plugin == "gptr" {
        let expected = "a name of letters, digits, `_`, `.` and `-` that does not begin with `gptr.`";
        return Err(Error::argument("type", expected, &format!("\"{kind}\"")));
    }
    let data = data.to_json().map_err(|e| Error::argument_message("data", format!("`data` {e}")))?;
    let entry = json!({"type": format!("{plugin}.{kind}"), "data": data, "timestamp": clock::now_ms()});
    session.state.borrow_mut().entries.push(entry);
    Ok(())
}

/// The full text kept under an id: of this session, else of any.
pub fn kept_output(engine: &Engine, id: &str, session: Option<&str>) -> Option<String> {
    let own = session.and_then(|s| engine.session(s)).and_then(|s| s.output(id));
    own.or_else(|| engine.live_sessions().iter().find_map(|s| s.output(id)))
}

/// A task that renders what a new session would freeze, or what `session` froze: the value of `gptr_prompt()`.
///
/// # Errors
/// As [`create`].
pub fn prompt_view(engine: &Rc<Engine>, session: Option<Rc<Session>>, args: &HostValue) -> Result<Task, Error> {
    let counted = args.field("tokens").and_then(HostValue::as_flag).unwrap_or(true);
    let session = match session {
        Some(session) => session,
        None => {
            let session = create(engine, args)?;
            session.state.borrow_mut().facts = args.field("facts").and_then(|f| f.to_json().ok()).unwrap_or_default();
            session
        }
    };
    let (engine, bell) = (engine.clone(), engine.bell.clone());
    Ok(Task::new(&bell, move |host| async move {
        let run = Running::new("prompt".into(), host.signal().clone());
        let scene = Scene { engine, session: session.clone(), host, run };
        let kept = session.state.borrow().frozen.clone();
        let frozen = match kept {
            Some(frozen) => frozen,
            None => scene.freeze(Vec::new()).await,
        };
        let blocks = match session.history.range(0, 1).first() {
            Some(first) => first.content().iter().filter(|b| matches!(b, Block::Context { .. })).cloned().collect(),
            None => BlockMemory::default().choose(true, scene.candidates(&[]).await),
        };
        let names = frozen.tools.iter().map(|t| t.name.clone()).collect();
        let preset = session.state.borrow().preset.name.clone();
        let prompt = render::Frozen {
            t0: frozen.t0.to_string(),
            t1: frozen.t1.to_string(),
            sections: frozen.sections.to_vec(),
            orphans: Vec::new(),
        };
        let view = PromptView::new(&preset, prompt, names, frozen.tools_json.to_string(), &blocks, counted);
        let mut out = view.to_json();
        out["lines"] = json!(view.format());
        out["preset"] = json!(preset);
        Ok(out)
    }))
}

fn urgency_of(name: &str) -> Result<Urgency, Error> {
    match name {
        "steer" => Ok(Urgency::Steer),
        "follow_up" => Ok(Urgency::FollowUp),
        other => Err(Error::argument("as", "one of \"steer\", \"follow_up\"", &format!("\"{other}\""))),
    }
}

fn text<'a>(args: &'a HostValue, name: &str) -> Option<&'a str> {
    args.field(name)?.as_str()
}

fn settings_of(args: &HostValue) -> Settings {
    let settings = args.field("settings").and_then(|s| s.to_json().ok());
    Settings::from_json(&settings.unwrap_or(Value::Null))
}

fn mode_of(args: &HostValue) -> Result<Option<Mode>, Error> {
    let Some(name) = text(args, "mode") else { return Ok(None) };
    let known: Vec<String> = Mode::ALL.iter().map(|m| format!("\"{}\"", m.as_str())).collect();
    let unknown = || Error::argument("mode", &format!("one of {}", known.join(", ")), &format!("\"{name}\""));
    Mode::parse(name).map(Some).ok_or_else(unknown)
}

fn system_of(args: &HostValue) -> Result<Option<SystemOption>, Error> {
    args.field("system").map_or(Ok(None), SystemOption::from_value)
}

/// Policies that must be there for the whole session: those with `required = TRUE` when it starts.
fn required_policies(engine: &Engine) -> Vec<String> {
    let policies = engine.registry.snapshot(None).list("policy");
    let required = |p: &HostValue| p.field("required").and_then(HostValue::as_flag) == Some(true);
    policies.iter().filter(|p| required(&p.spec)).map(|p| p.key.clone()).collect()
}
