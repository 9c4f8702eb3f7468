//! Tools and servers of tools.

use super::names;
use crate::registry::validate::{Draft, Fault, Generate, Verdict, fault};
use crate::schema::{Schema, formals_of, from_formals, parameters_json, to_host};
use crate::value::{HostData, HostValue, Signature, Value, json};

/// Annotations as MCP spells them, and as they are kept.
const ANNOTATIONS: [(&str, &str); 4] = [
    ("readOnlyHint", "read_only"),
    ("destructiveHint", "destructive"),
    ("idempotentHint", "idempotent"),
    ("openWorldHint", "open_world"),
];

/// The rule of kind `tool`.
pub(crate) fn check(draft: &mut Draft<'_>) -> Verdict {
    if !names::TOOL.fits(&draft.name) {
        return fault("name", names::TOOL.problem());
    }
    if draft.field("execute").is_none() && draft.field("fun").is_none() {
        return fault("execute", "is required, unless there is a fun");
    }
    check_namespace(draft)?;
    if draft.field("timeout").and_then(HostValue::as_number).is_some_and(|seconds| seconds <= 0.0) {
        return fault("timeout", "must be greater than 0");
    }
    let schema = schema(draft)?;
    rename_annotations(draft);
    draft.generate = generated(draft, schema.as_ref());
    draft.schema = schema;
    Ok(())
}

fn check_namespace(draft: &mut Draft<'_>) -> Verdict {
    let Some(namespace) = draft.text("namespace").map(str::to_owned) else { return Ok(()) };
    if !names::NAMESPACE.fits(&namespace) {
        return fault("namespace", names::NAMESPACE.problem());
    }
    if draft.text("exposure") == Some("direct") && namespace.len() + 2 + draft.name.len() > names::LONGEST {
        return fault("namespace", format!("must leave <namespace>__<name> within {} characters", names::LONGEST));
    }
    draft.key = format!("{namespace}/{}", draft.name);
    Ok(())
}

fn function<'d>(draft: &'d Draft<'_>, field: &str) -> Option<&'d Signature> {
    match draft.field(field).map(|v| &v.data) {
        Some(HostData::Function(signature)) => Some(signature),
        _ => None,
    }
}

/// The compiled schema; none when it is a function, which is evaluated when a session freezes.
fn schema(draft: &mut Draft<'_>) -> Result<Option<Schema>, Fault> {
    let formals = function(draft, "fun").map(from_formals);
    let json = match draft.field("parameters") {
        None => {
            let json = formals.clone().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
            draft.set("parameters", to_host(&json));
            json
        }
        Some(written) if written.is_function() => return Ok(None),
        Some(written) => {
            let json = parameters_json(written).map_err(parameters_fault)?;
            if written.as_str().is_some() {
                draft.set("parameters", to_host(&json));
            }
            json
        }
    };
    if json.get("type").and_then(Value::as_str) != Some("object") {
        return fault("parameters", "must have the type \"object\"");
    }
    let compiled = Schema::compile(&json).map_err(parameters_fault)?;
    if let Some(fun) = function(draft, "fun") {
        check_fun(fun, &json)?;
    }
    draft.derived = formals.as_ref() == Some(&json);
    Ok(Some(compiled))
}

fn parameters_fault(problem: String) -> Fault {
    Fault { field: "parameters".to_owned(), problem }
}

/// The schema's properties and the function's formals must match.
fn check_fun(fun: &Signature, schema: &Value) -> Verdict {
    let properties = schema.get("properties").and_then(Value::as_object);
    let has_formal = |name: &str| fun.formals.iter().any(|f| f.name == name);
    if !fun.has_dots()
        && let Some(missing) = properties.into_iter().flatten().map(|(n, _)| n).find(|n| !has_formal(n))
    {
        return fault("fun", format!("must have an argument '{missing}' for the schema's property"));
    }
    let declared = |name: &str| properties.is_some_and(|p| p.contains_key(name));
    match fun.formals.iter().find(|f| f.required && f.name != "..." && !declared(&f.name)) {
        Some(formal) => fault("fun", format!("must not need '{}', which the schema doesn't declare", formal.name)),
        None => Ok(()),
    }
}

fn rename_annotations(draft: &mut Draft<'_>) {
    let Some(annotations) = draft.field("annotations") else { return };
    let mut renamed = annotations.clone();
    for name in renamed.names.iter_mut().flatten() {
        if let Some((_, ours)) = ANNOTATIONS.iter().find(|(theirs, _)| theirs == name) {
            *name = (*ours).to_owned();
        }
    }
    // Both spellings of one annotation: the first stays.
    if renamed.names != annotations.names {
        let renamed = first_of_each(&renamed);
        draft.set("annotations", renamed);
    }
}

fn first_of_each(list: &HostValue) -> HostValue {
    let mut out = HostValue::named::<String>([]);
    for (name, value) in list.names.iter().flatten().zip(list.items().unwrap_or_default()) {
        if out.get(name).is_none() {
            out.set(name, value.clone());
        }
    }
    out
}

fn generated(draft: &Draft<'_>, schema: Option<&Schema>) -> Option<Generate> {
    let has = |field: &str| draft.field(field).is_some();
    match draft.text("exposure") {
        Some("direct") if !has("execute") => Some(Generate::Execute),
        Some("r") if !has("fun") => {
            let dots = || vec![("...".to_owned(), false)];
            Some(Generate::Fun { formals: schema.map_or_else(dots, |s| formals_of(s.json())) })
        }
        _ => None,
    }
}

/// The rule of kind `mcp_server`.
pub(crate) fn check_mcp_server(draft: &mut Draft<'_>) -> Verdict {
    if draft.text("type") == Some("sse") {
        return fault("type", "must not be sse, which is no longer spoken");
    }
    if draft.field("enabled").and_then(HostValue::as_flag) == Some(false) {
        return Ok(());
    }
    match (draft.field("command").is_some(), draft.field("url").is_some()) {
        (true, false) | (false, true) => Ok(()),
        _ => fault("command", "must be given, or url, and not both"),
    }
}
