//! Which subschemas apply to the same value: through `allOf`, `anyOf`, `oneOf`, conditions and local references.
//!
//! The validator follows these by itself; they are followed here for what it doesn't answer: which arguments a
//! schema declares, which types lead the reading of an R value, and whether references run in a circle.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::MAX_DEPTH;
use crate::value::{Map, Value};

/// Keywords that hold data, not schemas.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];
/// Keywords that say nothing about a value.
const NOTES: [&str; 5] = ["title", "description", "default", "examples", "$comment"];
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 3] = ["if", "then", "else"];
const NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// Nodes are told apart by their address: the document is borrowed and does not move.
pub(super) type Node = *const Value;

/// A schema document with its references looked up.
pub(super) struct Index<'a> {
    root: &'a Value,
    resources: HashMap<Node, &'a Value>,
    anchors: HashMap<(Node, &'a str), &'a Value>,
    ids: Vec<(&'a str, &'a Value)>,
    /// The patterns of property names that were asked for; `None` for one that can't be read.
    patterns: RefCell<HashMap<&'a str, Option<regex::Regex>>>,
}

impl<'a> Index<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        let mut index = Index {
            root,
            resources: HashMap::new(),
            anchors: HashMap::new(),
            ids: Vec::new(),
            patterns: RefCell::default(),
        };
        index.enter(root, root);
        index
    }

    fn enter(&mut self, node: &'a Value, resource: &'a Value) {
        let Some(map) = node.as_object() else {
            if let Some(items) = node.as_array() {
                items.iter().for_each(|item| self.enter(item, resource));
            }
            return;
        };
        let id = map.get("$id").and_then(Value::as_str);
        let resource = if id.is_some_and(|id| !id.starts_with('#')) { node } else { resource };
        match id {
            Some(id) if id.starts_with('#') => self.anchor(resource, id.trim_start_matches('#'), node),
            Some(id) => self.ids.push((id.trim_end_matches('#'), node)),
            None => {}
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = map.get(keyword).and_then(Value::as_str) {
                self.anchor(resource, name, node);
            }
        }
        self.resources.insert(node, resource);
        for (keyword, value) in map {
            if !DATA.contains(&keyword.as_str()) {
                self.enter(value, resource);
            }
        }
    }

    fn anchor(&mut self, resource: &'a Value, name: &'a str, node: &'a Value) {
        self.anchors.entry((std::ptr::from_ref(resource), name)).or_insert(node);
    }

    fn resolve(&self, from: &'a Value, reference: &str) -> Option<&'a Value> {
        let (id, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if id.is_empty() {
            self.resources.get(&std::ptr::from_ref(from)).copied().unwrap_or(self.root)
        } else {
            let same = |known: &str| known == id || known.ends_with(&format!("/{}", id.trim_start_matches('/')));
            self.ids.iter().find(|(known, _)| same(known)).map(|(_, node)| *node)?
        };
        if fragment.is_empty() {
            return Some(resource);
        }
        if fragment.starts_with('/') {
            return resource.pointer(&percent_decoded(fragment));
        }
        self.anchors.get(&(std::ptr::from_ref(resource), fragment)).copied()
    }

    /// The schemas that `node` hands its own value to; false when a reference leads out of the document.
    pub(super) fn steps(&self, node: &'a Value) -> (Vec<&'a Value>, bool) {
        let Some(map) = node.as_object() else { return (Vec::new(), true) };
        let mut out = Vec::new();
        let mut complete = true;
        for reference in REFERENCES.iter().filter_map(|k| map.get(*k).and_then(Value::as_str)) {
            match self.resolve(node, reference) {
                Some(target) => out.push(target),
                None => complete = false,
            }
        }
        out.extend(LISTS.iter().filter_map(|k| map.get(*k).and_then(Value::as_array)).flatten());
        out.extend(SINGLE.iter().filter_map(|k| map.get(*k)));
        out.extend(NAMED.iter().filter_map(|k| map.get(*k).and_then(Value::as_object)).flat_map(Map::values));
        (out, complete)
    }

    /// The declared names whose values the schema leaves alone, whatever they are.
    pub(super) fn free_properties(&self, declared: &[String]) -> Vec<String> {
        let roots = self.reach(&[self.root]);
        let as_a_whole = |s: &&&'a Value| ["enum", "const"].iter().any(|k| s.get(*k).is_some());
        if roots.iter().any(|s| as_a_whole(&s)) {
            return Vec::new();
        }
        let is_free = |name: &&String| {
            let schemas = self.of_property(&roots, name);
            !schemas.is_empty() && schemas.iter().all(|s| is_note(s))
        };
        declared.iter().filter(is_free).cloned().collect()
    }

    /// True when some schema refers to another one.
    pub(super) fn has_references(&self) -> bool {
        let nodes = self.every_node();
        nodes.into_iter().filter_map(Value::as_object).any(|map| REFERENCES.iter().any(|k| map.contains_key(*k)))
    }

    /// `starts` and every schema that they hand their value to, each once, in document order.
    pub(super) fn reach(&self, starts: &[&'a Value]) -> Vec<&'a Value> {
        self.reach_all(starts).0
    }

    fn reach_all(&self, starts: &[&'a Value]) -> (Vec<&'a Value>, bool) {
        let mut seen: HashSet<Node> = HashSet::new();
        let mut out = Vec::new();
        let mut complete = true;
        let mut open: Vec<&'a Value> = starts.iter().rev().copied().collect();
        while let Some(node) = open.pop() {
            if !seen.insert(std::ptr::from_ref(node)) {
                continue;
            }
            out.push(node);
            let (steps, all) = self.steps(node);
            complete &= all;
            open.extend(steps.into_iter().rev());
        }
        (out, complete)
    }

    /// The schemas of one property, from all schemas of the object.
    pub(super) fn of_property(&self, schemas: &[&'a Value], name: &str) -> Vec<&'a Value> {
        schemas.iter().filter_map(|s| s.as_object()).flat_map(|s| self.one_property(s, name)).collect()
    }

    fn one_property(&self, schema: &'a Map<String, Value>, name: &str) -> Vec<&'a Value> {
        let mut out: Vec<&'a Value> = schema.get("properties").and_then(|p| p.get(name)).into_iter().collect();
        for (pattern, inner) in schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            let mut patterns = self.patterns.borrow_mut();
            let pattern = patterns.entry(pattern).or_insert_with(|| regex::Regex::new(pattern).ok());
            if pattern.as_ref().is_some_and(|r| r.is_match(name)) {
                out.push(inner);
            }
        }
        if out.is_empty() {
            out.extend(schema.get("additionalProperties"));
        }
        out
    }

    /// The schemas of the item at `at`, from all schemas of the array.
    pub(super) fn of_item(&self, schemas: &[&'a Value], at: usize) -> Vec<&'a Value> {
        let of = |schema: &&'a Value| -> Option<&'a Value> {
            let schema: &'a Value = schema;
            if let Some(first) = schema.get("prefixItems").and_then(|p| p.get(at)) {
                return Some(first);
            }
            match schema.get("items") {
                Some(Value::Array(each)) => each.get(at).or_else(|| schema.get("additionalItems")),
                other => other,
            }
        };
        schemas.iter().filter_map(of).collect()
    }

    /// The property names that the root declares, and whether it takes others too. A reference that can't be looked
    /// up here leaves the schema open: the validator still judges it.
    pub(super) fn declared(&self) -> (Vec<String>, bool) {
        let (schemas, complete) = self.reach_all(&[self.root]);
        let mut names: Vec<String> = Vec::new();
        let mut open = !complete || self.root == &Value::Bool(true);
        for map in schemas.into_iter().filter_map(Value::as_object) {
            for name in map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            let opens = |k| map.get(k).is_some_and(|v| v != &Value::Bool(false));
            open |= ["additionalProperties", "unevaluatedProperties", "patternProperties"].into_iter().any(opens);
        }
        (names, open)
    }

    /// Refuses references that lead back to themselves without going down into the value: no validator ends on them.
    pub(super) fn check_loops(&self) -> Result<(), String> {
        let mut state = HashMap::new();
        let nodes: Vec<&'a Value> = self.every_node();
        nodes.into_iter().try_for_each(|node| self.no_loop(node, &mut state, 0))
    }

    fn every_node(&self) -> Vec<&'a Value> {
        let mut out = Vec::new();
        let mut open = vec![self.root];
        while let Some(node) = open.pop() {
            match node {
                Value::Object(map) => {
                    out.push(node);
                    open.extend(map.iter().filter(|(k, _)| !DATA.contains(&k.as_str())).map(|(_, v)| v));
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        out
    }

    fn no_loop(&self, node: &'a Value, done: &mut HashMap<Node, bool>, depth: usize) -> Result<(), String> {
        match done.get(&std::ptr::from_ref(node)) {
            Some(true) => return Ok(()),
            Some(false) => return Err("has a $ref that leads back to itself".to_owned()),
            None => {}
        }
        if depth > MAX_DEPTH {
            return Err("has a chain of references that is too long".to_owned());
        }
        done.insert(node, false);
        let not = node.get("not");
        for next in self.steps(node).0.into_iter().chain(not) {
            self.no_loop(next, done, depth + 1)?;
        }
        done.insert(node, true);
        Ok(())
    }
}

/// True for a schema that only tells people something.
fn is_note(schema: &Value) -> bool {
    match schema {
        Value::Bool(all) => *all,
        Value::Object(map) => map.keys().all(|k| NOTES.contains(&k.as_str())),
        _ => false,
    }
}

/// The `%XX` of a URI fragment decoded; what is not valid stays as it is.
fn percent_decoded(fragment: &str) -> String {
    let mut out = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).filter(|_| byte == b'%').and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                rest = &tail[2..];
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| fragment.to_owned())
}
