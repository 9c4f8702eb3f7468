//! Members of `peter$`: who they are, and calls of them from code inside a run.

use std::borrow::Cow;
use std::rc::Rc;

use super::freeze::{sentence, typed_signature};
use super::scene::Scene;
use super::tool::{CallInput, CallRequest, Nested};
use crate::catalog::{Doc, MemberHelp, ToolText, help_lines, search, tool_text};
use crate::engine::Engine;
use crate::error::Error;
use crate::message::Block;
use crate::registry::admission::{is_namespaced_member, is_plain_member, is_taken};
use crate::registry::store::{Found, Record, Registry, Snapshot};
use crate::schema::{Schema, formals_of, from_formals};
use crate::session::Session;
use crate::task::Task;
use crate::tool::is_native;
use crate::value::{HostData, HostValue, Map, Signature, Value, json};

/// True for a member that `peter$` has.
pub fn is_offered(engine: &Engine, snapshot: &Snapshot, record: &Record) -> bool {
    match record.namespace() {
        None => is_plain_member(record),
        Some(namespace) => is_namespaced_member(record) && !is_refused(engine, snapshot, namespace),
    }
}

/// A namespace that has the name of a member is none, whichever came first; that is said once a name.
fn is_refused(engine: &Engine, snapshot: &Snapshot, namespace: &str) -> bool {
    let taken = is_taken(snapshot, namespace);
    if taken {
        engine.refuse_namespace(namespace);
    }
    taken
}

/// The names below a namespace, or at the top: members and namespaces in byte order.
pub fn names(engine: &Engine, snapshot: &Snapshot, namespace: Option<&str>) -> Vec<String> {
    let name = |r: &Rc<Record>| match (namespace, r.namespace()) {
        (None, None) => Some(r.key.clone()),
        (None, Some(ns)) => Some(ns.to_owned()),
        (Some(wanted), Some(ns)) if wanted == ns => Some(r.local_name().to_owned()),
        _ => None,
    };
    let mut names: Vec<String> =
        snapshot.list("tool").iter().filter(|r| is_offered(engine, snapshot, r)).filter_map(name).collect();
    names.sort();
    names.dedup();
    names
}

/// What a path names.
pub enum Resolved {
    /// A member.
    Member(Rc<Record>),
    /// A namespace.
    Namespace,
    /// A promised member: this load has to be activated, then one asks again.
    Lazy(u64),
}

/// What a path names.
///
/// # Errors
/// `UnknownMember` with the names that are there.
pub fn resolve(engine: &Engine, snapshot: &Snapshot, path: &[String]) -> Result<Resolved, Error> {
    let is_member = |r: &Record| if path.len() == 1 { is_plain_member(r) } else { is_namespaced_member(r) };
    let refused = || path.len() > 1 && path.first().is_some_and(|ns| is_refused(engine, snapshot, ns));
    match snapshot.find("tool", &path.join("/")) {
        Found::Absent => {}
        _ if refused() => {}
        Found::Record(record) if is_member(&record) => return Ok(Resolved::Member(record)),
        Found::Lazy(load) => return Ok(Resolved::Lazy(load)),
        Found::Record(_) => {}
    }
    let top = names(engine, snapshot, None);
    if let [name] = path
        && top.contains(name)
    {
        return Ok(Resolved::Namespace);
    }
    let available = match path {
        [ns, _] if top.contains(ns) => names(engine, snapshot, Some(ns)),
        _ => top,
    };
    let name = path.join("$");
    let message = format!("peter${name} is not a peter member. Members: {}.", available.join(", "));
    Err(Error::UnknownMember { name, available, message })
}

/// What the host needs to make a function of a member.
pub fn describe(record: &Record) -> Value {
    let schema = record.schema.as_ref().map(|s| s.json().clone()).unwrap_or_default();
    let formals: Vec<Value> =
        formals_of(&schema).into_iter().map(|(name, required)| json!({"name": name, "required": required})).collect();
    // An un-namespaced member prints with R's formals, a namespaced one with types; an own signature wins.
    let typed = record.text("namespace").is_some() || record.text("signature").is_some();
    json!({
        "type": "member", "record": record.id, "home": record.session, "key": record.key, "formals": formals,
        "signature": typed.then(|| typed_signature(record)), "sentence": sentence(record)
    })
}

/// Help on a member as lines; `None` when no member has that name.
pub fn help(engine: &Engine, snapshot: &Snapshot, name: &str, budget: u64) -> Option<Vec<String>> {
    let record = snapshot.winner("tool", name).filter(|r| is_offered(engine, snapshot, r))?;
    let schema = record.schema.as_ref().map(|s| s.json());
    let signature = typed_signature(&record);
    let description = described(&record);
    let names: Vec<String> = match record.spec.field("fun").map(|f| &f.data) {
        Some(HostData::Function(s)) => s.formals.iter().map(|f| f.name.clone()).collect(),
        _ => schema.map(formals_of).unwrap_or_default().into_iter().map(|(name, _)| name).collect(),
    };
    let formals: Vec<&str> = names.iter().map(String::as_str).collect();
    Some(help_lines(MemberHelp { signature: &signature, description, schema, formals: &formals }, budget))
}

/// Searches all that is offered, and the documents of search sources.
pub fn find(engine: &Engine, snapshot: &Snapshot, more: Vec<Doc>, words: &str, limit: usize) -> Value {
    let tools = snapshot.list("tool");
    let mut docs: Vec<Doc> = tools.iter().filter(|r| is_offered(engine, snapshot, r)).map(|r| doc(r)).collect();
    docs.extend(more);
    let hits = search(&docs, words, limit);
    let rows = hits.iter().map(|h| json!({"name": h.name, "kind": h.kind, "signature": h.signature, "score": h.score}));
    Value::Array(rows.collect())
}

fn doc(record: &Record) -> Doc {
    let kind = match record.text("exposure") {
        Some("deferred") => "deferred",
        _ if record.source.starts_with("plugin:") => "plugin",
        _ => "member",
    };
    let text = tool_text(ToolText {
        name: record.local_name(),
        namespace: record.namespace(),
        description: described(record),
        schema: record.schema.as_ref().map(|s| s.json()),
    });
    Doc { id: record.key.clone(), kind: kind.to_owned(), signature: typed_signature(record), text }
}

/// A tool's description; of a promised one, what the manifest says.
fn described(record: &Record) -> &str {
    let spec = if record.lazy { record.spec.field("declaration") } else { Some(&record.spec) };
    spec.and_then(|s| s.field("description")).and_then(HostValue::as_str).unwrap_or_default()
}

/// What is wrong with the arguments of a person's own call. Of a schema that only repeats the function's formals, R's
/// own rules for arguments are enough.
pub fn problems(registry: &Registry, record: &str, args: &HostValue) -> Vec<String> {
    match registry.record(record) {
        Some(record) => record_problems(&record, args),
        None => vec!["the member is gone".to_owned()],
    }
}

pub(super) fn record_problems(record: &Record, args: &HostValue) -> Vec<String> {
    let Some(schema) = record.schema.as_ref() else { return Vec::new() };
    // The R function of a native tool has a signature of its own, and checks it.
    if record.spec.field("execute").is_some_and(is_native) && record.has_function("fun") {
        return Vec::new();
    }
    if let Some(signature) = derived_from(record, schema) {
        return misnamed(signature, args);
    }
    let checked = schema.check_host(&with_stand_ins(schema.json(), given(schema, args)));
    let mut problems = checked.errors;
    if let Some(fields) = checked.input.as_object() {
        problems.extend(schema.unknown_arguments(fields).iter().map(|name| format!("unknown argument '{name}'")));
    }
    problems
}

/// Arguments of which the schema gives no type may be anything: what JSON can't hold, and what is large, stays with the
/// host, and something stands in for it.
fn with_stand_ins<'a>(schema: &Value, args: Cow<'a, HostValue>) -> Cow<'a, HostValue> {
    let typed = |name: &str| schema["properties"][name].get("type").is_some();
    let stays = |item: &HostValue| cells(item) > SHOWN_BYTES / 2 || item.to_json().is_err();
    let needed = |(name, item): (&String, &HostValue)| !typed(name) && stays(item);
    let pairs = || args.names.iter().flatten().zip(args.items().unwrap_or_default());
    if !pairs().any(needed) {
        return args;
    }
    let items = pairs().map(|(name, item)| {
        let stand_in = || HostValue::named([("$r", HostValue::from("")), ("class", item.class_word().into())]);
        (name.clone(), if needed((name, item)) { stand_in() } else { item.clone() })
    });
    Cow::Owned(HostValue::named(items.collect::<Vec<_>>()))
}

/// The arguments without those that are NULL and that the schema can do without: R functions take NULL for nothing.
fn given<'a>(schema: &Schema, args: &'a HostValue) -> Cow<'a, HostValue> {
    let (Some(items), Some(names)) = (args.items(), &args.names) else { return Cow::Borrowed(args) };
    if !items.iter().any(HostValue::is_null) {
        return Cow::Borrowed(args);
    }
    let required = schema.json().get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|r| r.as_str() == Some(name)));
    let pairs = names.iter().zip(items).filter(|(name, item)| !item.is_null() || is_required(name));
    Cow::Owned(HostValue::named(pairs.map(|(name, item)| (name.clone(), item.clone()))))
}

/// The function whose formals are all that the schema says.
fn derived_from<'a>(record: &'a Record, schema: &Schema) -> Option<&'a Signature> {
    match record.spec.field("fun").map(|f| &f.data) {
        Some(HostData::Function(signature)) if from_formals(signature) == *schema.json() => Some(signature),
        _ => None,
    }
}

/// Arguments that a function does not have, or needs and did not get.
fn misnamed(signature: &Signature, args: &HostValue) -> Vec<String> {
    let given: Vec<&str> = args.names.iter().flatten().map(String::as_str).collect();
    let has = |name: &str| signature.formals.iter().any(|f| f.name == name);
    let unknown = given.iter().filter(|name| !signature.has_dots() && !name.is_empty() && !has(name));
    let missing =
        signature.formals.iter().filter(|f| f.required && f.name != "..." && !given.contains(&f.name.as_str()));
    let mut problems: Vec<String> = unknown.map(|name| format!("unknown argument '{name}'")).collect();
    problems.extend(missing.map(|f| format!("'{}' is required", f.name)));
    problems
}

/// The level of a call of a member that comes with gptr, 0 to 4; `None` where its tool's annotations say it.
pub fn level(name: &str, input: &HostValue) -> Option<u8> {
    let input = input.to_json().unwrap_or_default();
    crate::gate::member::with_input(name, &input).map(|judged| judged.level)
}

/// A call may stand within this many others: members and hooks that set off each other come to an end.
const DEEPEST: usize = 16;

/// Vectors longer than this are described, not shown, to hooks and policies.
const SHOWN_BYTES: usize = 64 * 1024;

/// Arguments of a call from R as the engine sees them: plain data as JSON, anything else a description. `id` is what
/// the host keeps them under.
pub fn descriptor(args: &HostValue, id: &str) -> Value {
    let (Some(items), Some(names)) = (args.items(), &args.names) else { return json!({}) };
    let fields = names.iter().zip(items).map(|(name, item)| {
        // Each element has a separator at least: what is longer anyway need not be written to know.
        let small = cells(item) <= SHOWN_BYTES / 2;
        let plain = small.then(|| item.to_json().ok()).flatten().filter(|v| v.to_string().len() <= SHOWN_BYTES);
        let described = || json!({"$r": id, "class": item.class_word(), "length": item.len()});
        (name.clone(), plain.unwrap_or_else(described))
    });
    Value::Object(fields.collect())
}

/// The arguments of a call from R.
#[derive(Clone)]
pub struct Arguments {
    /// What the host keeps them under.
    pub id: String,
    /// The arguments as the host gave them.
    pub host: HostValue,
    /// What hooks and policies see of them.
    pub seen: Value,
}

/// What was made of the arguments of a call from R.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    /// New values by name.
    pub changed: Map<String, Value>,
    /// Names of arguments that are gone.
    pub dropped: Vec<String>,
}

impl Arguments {
    /// Arguments that the host keeps under `id`.
    pub fn new(id: String, host: HostValue) -> Self {
        Arguments { seen: descriptor(&host, &id), id, host }
    }

    /// How `input` differs from the arguments. What is not touched stays the host's object.
    ///
    /// # Errors
    /// What can't be changed: an argument that hooks and policies see a description of, or one without a name of its
    /// own.
    pub fn change_to(&self, input: &Value) -> Result<Change, String> {
        if *input == self.seen {
            return Ok(Change::default());
        }
        let (Some(now), Some(before)) = (input.as_object(), self.seen.as_object()) else {
            return Err("must be one JSON object".to_owned());
        };
        if !self.host.is_empty() && !self.host.uniquely_named() {
            return Err("arguments without names of their own can't be modified".to_owned());
        }
        let mut change = Change::default();
        for (name, value) in now.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
            if is_described(value) || before.get(name).is_some_and(is_described) {
                return Err(format!("'{name}' is an object of the session and can't be modified"));
            }
            change.changed.insert(name.clone(), value.clone());
        }
        change.dropped = before.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        Ok(change)
    }

    /// What is wrong with the arguments once they are `input`.
    pub fn problems(&self, record: &Record, input: &Value) -> Vec<String> {
        let change = match self.change_to(input) {
            Ok(change) => change,
            Err(problem) => return vec![problem],
        };
        if change == Change::default() {
            return record_problems(record, &self.host);
        }
        let kept = self.host.names.iter().flatten().zip(self.host.items().unwrap_or_default());
        let kept = kept.filter(|(name, _)| !change.dropped.contains(name) && !change.changed.contains_key(*name));
        let kept = kept.map(|(name, item)| (name.clone(), item.clone()));
        let new = change.changed.iter().map(|(name, value)| (name.clone(), HostValue::from_json(value)));
        record_problems(record, &HostValue::named(kept.chain(new)))
    }
}

fn is_described(value: &Value) -> bool {
    value.get("$r").is_some()
}

/// The elements of a value, down to the last level.
fn cells(value: &HostValue) -> usize {
    match value.items() {
        Some(items) => items.iter().map(cells).fold(items.len(), usize::saturating_add),
        None => value.len(),
    }
}

/// A call of a member from code inside a run.
pub struct MemberCall {
    /// The registry key.
    pub key: String,
    /// The arguments as the host gave them.
    pub input: HostValue,
    /// The host keeps the arguments under this id.
    pub args: String,
    /// The tool call that the code belongs to.
    pub outer: Option<String>,
    /// True for code that the model wrote.
    pub from_model_code: bool,
}

/// A task that makes the call through the whole pipeline. Its value is `{text, id, images}`: the id of the call, and
/// images as blocks. The host keeps the member's value.
///
/// # Errors
/// `NotAvailable` when the session has no run.
pub fn call(engine: &Rc<Engine>, session: &Rc<Session>, call: MemberCall) -> Result<Task, Error> {
    let Some(running) = session.running.borrow().clone() else {
        return Err(Error::NotAvailable { member: "a member call in a run".into(), provided_by: None });
    };
    let arguments = Arguments::new(call.args, call.input);
    let (engine, session) = (engine.clone(), session.clone());
    let bell = engine.bell.clone();
    Ok(Task::new(&bell, move |host| async move {
        let scene = Scene { engine, session, host, run: running };
        let outer = call.outer.clone().unwrap_or_else(|| "call".to_owned());
        let k = {
            let mut nested = scene.run.nested.borrow_mut();
            let count = nested.entry(outer.clone()).or_default();
            *count += 1;
            *count
        };
        let id = format!("{outer}/{k}");
        if id.matches('/').count() > DEEPEST {
            let message = format!("Calls are nested more than {DEEPEST} deep.");
            scene.diagnose("nesting", "tool_call", "too_deep", &format!("{}: {message}", call.key));
            return Err(Error::Tool { tool: call.key, status: "denied", message });
        }
        let input = CallInput::Json(arguments.seen.clone());
        let nested = Nested { outer: call.outer, arguments, from_model_code: call.from_model_code };
        let request = CallRequest { id: id.clone(), name: call.key, input, nested: Some(nested) };
        let finished = scene.perform(request).await;
        let text = finished.result.plain();
        if let Some(error) = finished.stop {
            scene.run.stop.borrow_mut().get_or_insert(error);
        }
        match finished.status {
            "ok" => {
                let images = finished.result.content.iter().filter(|b| matches!(b, Block::Image { .. }));
                Ok(json!({"text": text, "id": id, "images": images.map(Block::to_json).collect::<Vec<_>>()}))
            }
            status => Err(Error::Tool { tool: finished.key, status, message: text }),
        }
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn arguments() -> Arguments {
        let big = HostValue::strings(["x".repeat(SHOWN_BYTES)]);
        Arguments::new("m1".into(), HostValue::named([("n", HostValue::from(1)), ("big", big)]))
    }

    #[test]
    fn plain_arguments_can_be_modified_and_described_ones_can_not() {
        let args = arguments();
        assert_eq!(args.seen["big"], json!({"$r": "m1", "class": "character", "length": 1}));
        let with = |name: &str, value: Value| {
            let mut input = args.seen.clone();
            input[name] = value;
            args.change_to(&input)
        };
        assert_eq!(args.change_to(&args.seen), Ok(Change::default()));
        let change = with("n", json!(2)).unwrap();
        assert_eq!((change.changed.get("n"), change.changed.len()), (Some(&json!(2)), 1));
        assert_eq!(with("new", json!("x")).unwrap().changed["new"], "x");
        assert!(with("big", json!("short")).is_err());
        assert!(with("n", args.seen["big"].clone()).is_err());
        assert_eq!(args.change_to(&json!({"n": 1})).unwrap().dropped, ["big"]);
    }

    #[test]
    fn arguments_without_names_of_their_own_can_not_be_modified() {
        let args = HostValue::named([("", HostValue::from(1)), ("", 2.into())]);
        let args = Arguments::new("m1".into(), args);
        assert_eq!(args.change_to(&args.seen), Ok(Change::default()));
        assert!(args.change_to(&json!({"": 3})).is_err());
        let none = Arguments::new("m1".into(), HostValue::list([]));
        assert_eq!(none.change_to(&json!({"x": 3})).unwrap().changed.len(), 1);
    }
}
