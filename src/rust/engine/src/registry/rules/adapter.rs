//! Adapters: how a provider's API is spoken.

use crate::registry::validate::{Draft, Verdict, fault};
use crate::value::{HostData, HostValue};

/// The functions of `classify` with their arguments.
const CLASSIFY: [(&str, &[&str]); 3] = [
    ("run", &["model", "state", "questions", "opts"]),
    ("build", &["model", "state", "questions", "opts"]),
    ("parse", &["model", "status", "headers", "body", "questions"]),
];

/// The rule of kind `adapter`.
pub(crate) fn check(draft: &mut Draft<'_>) -> Verdict {
    match draft.text("api") {
        None => draft.set("api", draft.name.clone().into()),
        Some(api) if api == draft.name => {}
        Some(_) => return fault("api", "must be equal to the name"),
    }
    let in_process = draft.text("transport") == Some("inprocess");
    if let Some(classify) = draft.field("classify") {
        return check_classify(classify, in_process);
    }
    let needed: &[&str] = if in_process { &["stream"] } else { &["build", "parse"] };
    match needed.iter().find(|f| draft.field(f).is_none()) {
        Some(missing) => fault(missing, "is required for this transport"),
        None => Ok(()),
    }
}

fn check_classify(classify: &HostValue, in_process: bool) -> Verdict {
    let needed: &[&str] = if in_process { &["run"] } else { &["build", "parse"] };
    if let Some(missing) = needed.iter().find(|f| classify.field(f).is_none()) {
        return fault("classify", format!("must have {missing} for this transport"));
    }
    for (name, arguments) in CLASSIFY {
        let Some(value) = classify.field(name) else { continue };
        if !matches!(&value.data, HostData::Function(f) if f.accepts(arguments.len())) {
            let problem = format!("must be a function accepting ({})", arguments.join(", "));
            return fault(&format!("classify.{name}"), problem);
        }
    }
    Ok(())
}
