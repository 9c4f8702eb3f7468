//! Members of `peter$`.

use extendr_api::prelude::*;
use gptr_engine::catalog;
use gptr_engine::error::Error;
use gptr_engine::run::member::{self, Resolved};
use gptr_engine::run::text_within_budget;
use gptr_engine::value::{HostValue, json};

use crate::answer::{answer, engine, guarded};
use crate::arg;
use crate::registry::lazy;
use crate::session::of;
use crate::task::handle;
use crate::value::host_value;

fn path_of(path: &Robj) -> Vec<String> {
    host_value(path).as_strings().unwrap_or_default().into_iter().map(str::to_owned).collect()
}

fn snapshot(session: &Robj) -> gptr_engine::registry::store::Snapshot {
    engine().registry.snapshot(host_value(session).as_str())
}

/// The names below a path.
#[extendr]
fn member_names(path: Robj, session: Robj) -> Robj {
    answer(|| Ok(json!(member::names(&engine(), &snapshot(&session), path_of(&path).first().map(String::as_str)))))
}

/// What a path names: list(type = "namespace"), list(type = "lazy", load), or list(type = "member", record, home, key).
#[extendr]
fn member_resolve(path: Robj, session: Robj) -> Robj {
    answer(|| {
        Ok(match member::resolve(&engine(), &snapshot(&session), &path_of(&path))? {
            Resolved::Member(r) => json!({"type": "member", "record": r.id, "home": r.session, "key": r.key}),
            Resolved::Namespace => json!({"type": "namespace"}),
            Resolved::Lazy(load) => lazy(load),
        })
    })
}

/// What is needed to make a function of a member.
#[extendr]
fn member_describe(path: Robj, session: Robj) -> Robj {
    answer(|| match member::resolve(&engine(), &snapshot(&session), &path_of(&path))? {
        Resolved::Member(record) => Ok(member::describe(&record)),
        _ => Err(Error::argument_message("name", "This is no member.")),
    })
}

/// What is wrong with the arguments of a person's own call.
#[extendr]
fn member_check(record: Robj, args: Robj) -> Robj {
    answer(|| {
        let record = &arg::text(&record, "record")?;
        Ok(json!(member::problems(&engine().registry, record, &host_value(&args))))
    })
}

/// Help on a member, or NULL.
#[extendr]
fn member_help(name: Robj, budget: Robj, session: Robj) -> Robj {
    answer(|| {
        let name = &arg::text(&name, "name")?;
        let budget = arg::number(&budget, "budget")?;
        Ok(json!(member::help(&engine(), &snapshot(&session), name, budget as u64)))
    })
}

/// Lines of help within a budget.
#[extendr]
fn cut_help(lines: Robj, budget: Robj) -> Robj {
    answer(|| {
        let budget = arg::number(&budget, "budget")?;
        Ok(json!(catalog::cut_help(path_of(&lines), budget as u64)))
    })
}

/// A text within a budget of tokens, with the call that gives the whole where it is cut.
#[extendr]
fn text_within(text: Robj, budget: Robj, call: Robj) -> Robj {
    answer(|| {
        let text = &arg::text(&text, "text")?;
        let budget = arg::number(&budget, "budget")?;
        Ok(json!(text_within_budget(text, budget as u64, &arg::text(&call, "call")?)))
    })
}

/// Text of the bytes that a command wrote.
#[extendr]
fn text_of_bytes(bytes: Robj) -> Robj {
    answer(|| {
        let bytes = bytes.as_raw_slice().ok_or_else(|| Error::internal("the output is not raw"))?;
        Ok(json!(gptr_engine::tool::output::text(bytes)))
    })
}

/// The level of a call of a built-in member, or NULL.
#[extendr]
fn member_level(name: Robj, input: Robj) -> Robj {
    answer(|| Ok(json!(member::level(&arg::text(&name, "name")?, &host_value(&input)))))
}

/// The names of those environment variables that hold secrets.
#[extendr]
fn secret_variables(names: Robj, values: Robj, session: Robj) -> Robj {
    answer(|| {
        let (names, values) = (path_of(&names), path_of(&values));
        let variables = names.iter().map(String::as_str).zip(values.iter().map(String::as_str));
        Ok(json!(engine().secret_variables(host_value(&session).as_str(), variables)))
    })
}

/// Hits of a search. `docs` are those of search sources: list(id, kind, text), vectors of one length.
#[extendr]
fn member_search(words: Robj, limit: Robj, docs: Robj, session: Robj) -> Robj {
    answer(|| {
        let words = &arg::text(&words, "words")?;
        let limit = arg::number(&limit, "limit")?;
        let docs = host_value(&docs);
        let column = |name: &str| docs.field(name).and_then(HostValue::as_strings).unwrap_or_default();
        let rows = column("id").into_iter().zip(column("kind")).zip(column("text"));
        let docs = rows.map(|((id, kind), text)| catalog::Doc {
            id: id.to_owned(),
            kind: kind.to_owned(),
            text: text.to_owned(),
            ..catalog::Doc::default()
        });
        Ok(member::find(&engine(), &snapshot(&session), docs.collect(), words, limit as usize))
    })
}

/// A task that calls a member from code inside a run.
#[extendr]
fn task_member(session: Robj, path: Robj, args: Robj, id: Robj, outer: Robj, model_code: Robj) -> Robj {
    guarded(|| {
        let session = of(&session)?;
        let id = &arg::text(&id, "id")?;
        let model_code = arg::flag(&model_code, "model_code")?;
        let snapshot = engine().registry.snapshot(Some(&session.id));
        let key = match member::resolve(&engine(), &snapshot, &path_of(&path))? {
            Resolved::Member(record) => record.key.clone(),
            // The call looks it up again, and activates it.
            Resolved::Lazy(_) => path_of(&path).join("/"),
            Resolved::Namespace => return Err(Error::argument_message("name", "A namespace can't be called.")),
        };
        let call = member::MemberCall {
            key,
            input: host_value(&args),
            args: id.to_owned(),
            outer: host_value(&outer).as_str().map(str::to_owned),
            from_model_code: model_code,
        };
        Ok(handle(member::call(&engine(), &session, call)?))
    })
}

/// A task that calls a tool by its name, as a handler does through `ctx`.
#[extendr]
fn task_tool(session: Robj, name: Robj, args: Robj, id: Robj, outer: Robj, model_code: Robj) -> Robj {
    guarded(|| {
        let session = of(&session)?;
        let call = member::MemberCall {
            key: arg::text(&name, "name")?,
            input: host_value(&args),
            args: arg::text(&id, "id")?,
            outer: host_value(&outer).as_str().map(str::to_owned),
            from_model_code: arg::flag(&model_code, "model_code")?,
        };
        Ok(handle(member::call(&engine(), &session, call)?))
    })
}

extendr_module! {
    mod member;
    fn member_names;
    fn member_resolve;
    fn member_describe;
    fn member_check;
    fn member_help;
    fn cut_help;
    fn text_within;
    fn text_of_bytes;
    fn member_level;
    fn secret_variables;
    fn member_search;
    fn task_member;
    fn task_tool;
}
