//! What a session freezes at its first run: system prompt and tool array; and the context blocks of a message.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::member::is_offered;
use super::scene::Scene;
use crate::catalog::{CATALOG_BUDGET, CatalogLine, plugins_catalog};
use crate::engine::Engine;
use crate::meaning::Role;
use crate::prompt::block::{Candidate, Placement, contents};
use crate::prompt::builtin_blocks::{
    EnvironmentFacts, ObjectFact, WorkspaceDetail, attached, environment, mode, workspace,
};
use crate::prompt::estimate::Class;
use crate::prompt::preset::declaration_order;
use crate::prompt::render::{SectionRecord, assemble};
use crate::prompt::section::{ActiveTool, PromptFacts, Tier};
use crate::registry::admission;
use crate::registry::store::{Record, Snapshot};
use crate::schema::{Schema, first_sentence, signature};
use crate::session::{Attached, DeclaredTool, Frozen};
use crate::value::{HostValue, Value, json};

/// Place of a context block whose record gives none.
const BLOCK_ORDER: i64 = 650;

impl Scene {
    /// Renders prompt and tool array. `sections` are those that `session_start` handlers added.
    pub async fn freeze(&self, sections: Vec<(String, String)>) -> Frozen {
        let kinds = ["prompt_section", "guidance"];
        let snapshot = self.settled(|s| kinds.iter().flat_map(|k| s.pending(k)).collect()).await;
        let (preset, human, mode) = {
            let state = self.session.state.borrow();
            (state.preset.clone(), state.settings.person, state.mode)
        };
        let records = self.direct_tools(&snapshot, &preset.tools(human, mode.as_str())).await;
        let mut tools = Vec::new();
        let mut active = Vec::new();
        for record in &records {
            let Some(schema) = self.schema_of(record).await else { continue };
            active.push(active_tool(record));
            tools.push(DeclaredTool {
                name: admission::record_wire_name(record),
                key: record.key.clone(),
                record: record.id.clone(),
                description: record.text("description").unwrap_or_default().to_owned(),
                schema,
            });
        }
        let mut facts = PromptFacts::new(preset);
        facts.tools = active;
        facts.guidance = guidance(snapshot.list("guidance"));
        facts.plugins = plugins_catalog(catalog_lines(&self.engine, &snapshot), CATALOG_BUDGET);
        let mut own = self.own_sections(&snapshot).await;
        own.extend(sections.into_iter().map(|(name, text)| SectionRecord {
            name,
            tier: Tier::T1,
            order: 500,
            budget: None,
            parent: None,
            text: Some(text),
        }));
        let system = self.session.state.borrow().system.clone();
        let prompt = assemble(&facts, &own, system.as_ref());
        for (name, parent) in &prompt.orphans {
            let message = format!("section '{name}' is a fragment of '{parent}', which is not there");
            self.diagnose("prompt", "freeze", "orphan_section", &message);
        }
        let array: Vec<Value> = tools
            .iter()
            .map(|t| json!({"name": t.name, "description": t.description, "input_schema": t.schema}))
            .collect();
        Frozen {
            t0: prompt.t0.as_str().into(),
            t1: prompt.t1.as_str().into(),
            tools: tools.into(),
            tools_json: Value::Array(array).to_string().into(),
            sections: prompt.sections.into(),
        }
    }

    /// The direct tools in array order: built-ins that the preset lists, then all others by name.
    async fn direct_tools(&self, snapshot: &Snapshot, listed: &[String]) -> Vec<Rc<Record>> {
        let mut found: Vec<Rc<Record>> = Vec::new();
        for record in snapshot.list("tool") {
            let exposure = record.text("exposure").unwrap_or("direct");
            // A preset may also list built-in tools that are members only in others.
            let declared = match record.source.starts_with("builtin:") {
                true => listed.contains(&record.key) && exposure != "hidden",
                false => exposure == "direct",
            };
            if declared && record.has_function("execute") && self.available(&record).await {
                found.push(record);
            }
        }
        let mut by_name: BTreeMap<String, Rc<Record>> = BTreeMap::new();
        for record in found {
            // Admission refuses a clash, but can't see the records of other sessions.
            let name = admission::record_wire_name(&record);
            match by_name.get(&name) {
                Some(other) => self
                    .left_out::<()>(&record, &format!("'{}' has its name on the wire", other.key))
                    .unwrap_or_default(),
                None => drop(by_name.insert(name, record)),
            }
        }
        let mut names: Vec<String> = by_name.keys().cloned().collect();
        declaration_order(&mut names);
        names.iter().filter_map(|name| by_name.remove(name)).collect()
    }

    async fn available(&self, record: &Rc<Record>) -> bool {
        if !record.has_function("available") {
            return true;
        }
        let reply = self.consult(record, "available", Role::Available, None, vec![]).await;
        let yes = reply.result().is_ok_and(|v| v.as_flag() == Some(true));
        if let Err(failed) = reply.result() {
            self.diagnose(&record.extension, "freeze", "tool_left_out", &format!("{}: {}", record.key, failed.message));
        }
        yes
    }

    /// The input schema; one that is a function is asked for, and a tool without one is left out.
    pub(super) async fn schema_of(&self, record: &Rc<Record>) -> Option<Value> {
        if !record.has_function("parameters") {
            let schema = record.schema.as_ref().map(|s| s.json().clone());
            return Some(schema.unwrap_or_else(|| json!({"type": "object", "properties": {}})));
        }
        let reply = self.consult(record, "parameters", Role::Parameters, None, vec![]).await;
        let schema = match reply.result() {
            Ok(value) => crate::schema::parameters_json(value).and_then(|s| Schema::compile(&s).map(|_| s)),
            Err(failed) => Err(failed.message),
        };
        match schema {
            Ok(schema) if schema["type"] == "object" => Some(schema),
            Ok(_) => self.left_out(record, "its parameters are no object schema"),
            Err(problem) => self.left_out(record, &problem),
        }
    }

    fn left_out<T>(&self, record: &Record, problem: &str) -> Option<T> {
        self.diagnose(&record.extension, "freeze", "tool_left_out", &format!("{}: {problem}", record.key));
        None
    }

    async fn own_sections(&self, snapshot: &Snapshot) -> Vec<SectionRecord> {
        let mut out = Vec::new();
        for record in snapshot.list("prompt_section") {
            let Some(name) = record.text("name").map(str::to_owned) else { continue };
            let text = self.section_text(&record).await;
            out.push(SectionRecord {
                name,
                tier: record.text("tier").and_then(Tier::from_name).unwrap_or(Tier::T0),
                order: record.number("order").map_or(500, |x| x as i64),
                budget: record.number("budget").map(|x| x as u64),
                parent: record.text("parent").map(str::to_owned),
                text,
            });
        }
        out
    }

    async fn section_text(&self, record: &Rc<Record>) -> Option<String> {
        if let Some(text) = record.text("text") {
            return Some(text.to_owned());
        }
        let reply = self.consult(record, "text", Role::Section, None, vec![]).await;
        match reply.result() {
            Ok(value) if value.is_null() => None,
            Ok(value) => match value.as_strings() {
                Some(lines) => Some(lines.join("\n")),
                None => self.omitted(record, "malformed_answer", "the text must be a character vector without NA"),
            },
            Err(failed) => self.omitted(record, &failed.class, &failed.message),
        }
    }

    fn omitted<T>(&self, record: &Record, class: &str, message: &str) -> Option<T> {
        self.diagnose(&record.extension, &record.kind, class, &format!("{}: {message}", record.key));
        None
    }

    /// The blocks that may stand in the next message.
    pub async fn candidates(&self, objects: &[Attached]) -> Vec<Candidate> {
        let mut out = Vec::new();
        let (facts, mode_name, person) = {
            let state = self.session.state.borrow();
            (state.facts.clone(), state.mode, state.settings.person)
        };
        out.push(environment(&environment_facts(&facts)));
        out.push(mode(mode_name.as_str(), person));
        out.extend(workspace_block(&facts));
        out.extend(objects.iter().map(|o| attached(&o.name, &o.text, None)));
        for record in self.list("context_block").await {
            out.extend(self.provided(&record).await);
        }
        let redactor = self.engine.redactor.borrow();
        for candidate in &mut out {
            candidate.content.text = redactor.redact(&candidate.content.text).into_owned();
        }
        out
    }

    async fn provided(&self, record: &Rc<Record>) -> Vec<Candidate> {
        let budget = record.number("budget").unwrap_or(300.0);
        let reply = self.block_call(record, budget).await;
        let blocks = match reply.result() {
            Ok(value) => match contents(value) {
                Ok(blocks) => blocks,
                Err(problem) => return self.omitted(record, "malformed_answer", &problem).unwrap_or_default(),
            },
            Err(failed) => return self.omitted(record, &failed.class, &failed.message).unwrap_or_default(),
        };
        let name = record.text("name").unwrap_or_default();
        blocks
            .into_iter()
            .enumerate()
            .map(|(i, content)| Candidate {
                key: format!("{name}/{i}"),
                kind: name.to_owned(),
                placement: record.text("placement").and_then(Placement::from_name).unwrap_or_default(),
                order: record.number("order").map_or(BLOCK_ORDER, |x| x as i64),
                budget: Some(budget as u64),
                class: Class::Prose,
                anchor: false,
                content,
            })
            .collect()
    }

    async fn block_call(&self, record: &Rc<Record>, budget: f64) -> crate::reply::HostReply {
        let how = super::scene::How {
            record,
            field: "provide",
            role: Role::Block,
            style: crate::task::CallStyle::CtxFirst,
            call: None,
            timeout: Some(self.session.state.borrow().settings.hook_timeout),
            from_model_code: false,
        };
        self.call(how, vec![json!(budget)]).await
    }
}

fn active_tool(record: &Record) -> ActiveTool {
    let guidelines = record.spec.field("guidelines").and_then(HostValue::as_strings).unwrap_or_default();
    ActiveTool {
        name: admission::record_wire_name(record),
        snippet: record.text("snippet").map(str::to_owned),
        guidelines: guidelines.into_iter().map(str::to_owned).collect(),
    }
}

/// The standing lines, by the extensions' names in byte order.
fn guidance(mut records: Vec<Rc<Record>>) -> Vec<String> {
    records.sort_by(|a, b| a.extension.cmp(&b.extension).then(a.seq.cmp(&b.seq)));
    records.iter().filter_map(|r| r.text("text").map(|t| t.trim().to_owned())).collect()
}

fn catalog_lines(engine: &Engine, snapshot: &Snapshot) -> Vec<CatalogLine> {
    snapshot
        .list("tool")
        .iter()
        .filter(|r| {
            r.namespace().is_some() && (r.lazy || r.text("exposure") == Some("r")) && is_offered(engine, snapshot, r)
        })
        .map(|r| CatalogLine { key: r.key.clone(), signature: typed_signature(r) })
        .collect()
}

/// The typed signature line of a tool as a member: its own `signature`, else made from its schema.
pub fn typed_signature(record: &Record) -> String {
    if let Some(own) = record.text("signature") {
        return own.to_owned();
    }
    let prefix = match record.namespace() {
        Some(ns) => format!("peter${ns}$"),
        None => "peter$".to_owned(),
    };
    if record.lazy {
        return declared_signature(record, &prefix);
    }
    let schema = record.schema.as_ref().map_or_else(|| json!({"type": "object"}), |s| s.json().clone());
    signature(&prefix, record.text("name").unwrap_or_default(), &schema, record.text("description"))
}

/// What the manifest says of a tool whose code has not run.
fn declared_signature(record: &Record, prefix: &str) -> String {
    let declaration = record.spec.field("declaration");
    let text = |field: &str| declaration.and_then(|d| d.field(field)).and_then(HostValue::as_str);
    let own = text("signature").map_or_else(|| format!("{}(...)", record.local_name()), str::to_owned);
    let line = if own.starts_with("peter$") { own } else { format!("{prefix}{own}") };
    match text("description").map(first_sentence).filter(|s| !s.is_empty() && !line.contains("  # ")) {
        Some(sentence) => format!("{line}  # {sentence}"),
        None => line,
    }
}

/// The first sentence of a tool's description.
pub fn sentence(record: &Record) -> &str {
    first_sentence(record.text("description").unwrap_or_default())
}

fn environment_facts(facts: &Value) -> EnvironmentFacts {
    let text = |name: &str| facts[name].as_str().unwrap_or_default().to_owned();
    let maybe = |name: &str| facts[name].as_str().map(str::to_owned);
    EnvironmentFacts {
        date: text("date"),
        directory: text("directory"),
        project_root: maybe("project_root"),
        document: None,
        front_end: maybe("front_end"),
        r_version: text("r_version"),
        platform: text("platform"),
        memory: None,
    }
}

fn workspace_block(facts: &Value) -> Option<Candidate> {
    let detail = WorkspaceDetail::from_name(facts["context"].as_str().unwrap_or("summary")).unwrap_or_default();
    let objects: Vec<ObjectFact> = facts["objects"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|o| ObjectFact {
            name: o["name"].as_str().unwrap_or_default().to_owned(),
            class: o["class"].as_str().unwrap_or_default().to_owned(),
            shape: o["shape"].as_str().unwrap_or_default().to_owned(),
            bytes: o["bytes"].as_f64().map(|b| b as u64),
            approximate: o["approximate"].as_bool().unwrap_or(false),
        })
        .collect();
    workspace(facts["env"].as_str().unwrap_or("session"), &objects, detail)
}
