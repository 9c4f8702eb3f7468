//! Which call a fragment belongs to, and what it adds.

use crate::message::StreamEvent;
use crate::provider::assembly::Assembly;
use crate::provider::json_repair;
use crate::value::Value;

/// What a fragment is matched by, for one call.
#[derive(Debug, Default)]
struct Key {
    index: Option<u64>,
    id: Option<String>,
    /// All pieces of its name, joined; some hosts cut names.
    joined: String,
}

/// The calls of one reply; the numbers are those of the assembly.
#[derive(Debug)]
pub(super) struct Fragments {
    keys: Vec<Key>,
    /// Names of the offered tools.
    offered: Vec<String>,
    /// What ids are made from where the host sends none.
    request_id: String,
}

/// One fragment; null and `""` count as absent.
#[derive(Clone, Copy)]
struct Fragment<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a Value>,
}

impl<'a> Fragment<'a> {
    fn read(value: &'a Value) -> Self {
        let text = |v: Option<&'a Value>| v.and_then(Value::as_str).filter(|s| !s.is_empty());
        let function = value.get("function").unwrap_or(value);
        Fragment {
            index: value.get("index").and_then(Value::as_u64),
            id: text(value.get("id")),
            name: text(function.get("name")),
            arguments: function.get("arguments").filter(|a| !a.is_null()),
        }
    }

    /// True for a fragment that can't begin a call.
    fn is_more(&self) -> bool {
        self.id.is_none() && self.name.is_none()
    }
}

impl Fragments {
    pub(super) fn new(offered: Vec<String>, request_id: String) -> Self {
        Fragments { keys: Vec::new(), offered, request_id }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Takes one fragment. `whole`: it is a whole call of a reply that was not streamed.
    pub(super) fn push(&mut self, value: &Value, whole: bool, assembly: &mut Assembly, out: &mut Vec<StreamEvent>) {
        if !value.is_object() {
            return;
        }
        let fragment = Fragment::read(value);
        let known = if whole { None } else { self.find(fragment, assembly) };
        let number = known.unwrap_or_else(|| self.begin(fragment, assembly, out));
        self.identify(number, fragment, assembly);
        if let Some(name) = fragment.name {
            self.name(number, name, assembly);
        }
        if let Some(arguments) = fragment.arguments {
            self.arguments(number, arguments, assembly, out);
        }
        if self.ready(number, assembly) {
            self.announce(number, assembly, out);
        }
    }

    /// The reply ended: calls that still waited for their name are shown.
    pub(super) fn finish(&mut self, assembly: &mut Assembly, out: &mut Vec<StreamEvent>) {
        for number in 0..self.keys.len() {
            self.announce(number, assembly, out);
        }
    }

    fn find(&self, f: Fragment<'_>, assembly: &Assembly) -> Option<usize> {
        let latest = |test: &dyn Fn(&Key) -> bool| self.keys.iter().rposition(test);
        match (f.index, f.id) {
            (Some(index), _) => {
                let same = latest(&|k| k.index == Some(index));
                // A server that numbers only the later fragments means the call it began.
                let begun = || if f.is_more() { latest(&|k| k.index.is_none()) } else { None };
                same.or_else(begun).filter(|n| !self.is_other_call(*n, f, assembly))
            }
            (None, Some(id)) => latest(&|k| k.id.as_deref() == Some(id)),
            (None, None) if !f.is_more() => None,
            (None, None) => self.keys.len().checked_sub(1),
        }
    }

    /// Some servers number every call 0: another id with a name begins another call, and so does another name after
    /// arguments that are whole, where there are no ids.
    fn is_other_call(&self, number: usize, f: Fragment<'_>, assembly: &Assembly) -> bool {
        let (Some(key), Some(call), Some(name)) = (self.keys.get(number), assembly.calls().get(number), f.name) else {
            return false;
        };
        match (f.id, &key.id) {
            (Some(id), Some(known)) => id != known,
            (None, None) => {
                let other = call.name.as_ref().is_some_and(|known| known != name);
                other && !call.raw.trim().is_empty() && json_repair::parse(&call.raw).is_ok()
            }
            _ => false,
        }
    }

    fn begin(&mut self, f: Fragment<'_>, assembly: &mut Assembly, out: &mut Vec<StreamEvent>) -> usize {
        self.keys.push(Key { index: f.index, ..Key::default() });
        assembly.begin_call(out)
    }

    fn identify(&mut self, number: usize, f: Fragment<'_>, assembly: &mut Assembly) {
        let (Some(id), Some(key)) = (f.id, self.keys.get_mut(number)) else { return };
        if key.id.is_none() {
            key.id = Some(id.to_owned());
            self.set_id(number, id, assembly);
        }
    }

    fn set_id(&self, number: usize, wish: &str, assembly: &mut Assembly) {
        let id = assembly.unique_id(number, wish);
        if let Some(call) = assembly.call_mut(number).filter(|c| c.id.is_none()) {
            call.id = Some(id);
        }
    }

    /// A name is set once, a repeat ignored. Pieces are joined only where that gives an offered tool and the first
    /// piece is none.
    fn name(&mut self, number: usize, name: &str, assembly: &mut Assembly) {
        let announced = assembly.announced(number);
        let (Some(key), Some(call)) = (self.keys.get_mut(number), assembly.call_mut(number)) else { return };
        let offered = |name: &str| self.offered.iter().any(|t| t == name);
        match &call.name {
            None => {
                key.joined = name.to_owned();
                call.name = Some(name.to_owned());
            }
            Some(known) if known == name || offered(known) || announced || !call.raw.is_empty() => {}
            Some(_) => {
                key.joined.push_str(name);
                if offered(&key.joined) {
                    call.name = Some(key.joined.clone());
                }
            }
        }
    }

    fn arguments(&self, number: usize, value: &Value, assembly: &mut Assembly, out: &mut Vec<StreamEvent>) {
        match value {
            Value::String(delta) => assembly.arguments(number, delta, out),
            object => {
                // Not text: the whole arguments at once, in place of what came before.
                if let Some(call) = assembly.call_mut(number) {
                    call.raw.clear();
                }
                assembly.arguments(number, &object.to_string(), out);
            }
        }
    }

    /// A call is shown when its name will not change any more.
    fn ready(&self, number: usize, assembly: &Assembly) -> bool {
        let Some(call) = assembly.calls().get(number) else { return false };
        let Some(name) = &call.name else { return false };
        self.offered.is_empty() || self.offered.contains(name) || !call.raw.is_empty()
    }

    fn announce(&self, number: usize, assembly: &mut Assembly, out: &mut Vec<StreamEvent>) {
        self.set_id(number, &format!("call_{}_{}", self.request_id, number + 1), assembly);
        assembly.announce(number, out);
    }
}
