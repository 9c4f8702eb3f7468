//! The risk of the members of `peter$` that come with gptr and do more than read.

use super::command::{self, Judged};
use super::facts::{Arg, Kind};
use super::risk::Category;
use crate::value::Value;

/// Where `sh` has its command, working directory and environment among unnamed arguments.
const SH: [(&str, usize); 3] = [("cmd", 0), ("wd", 2), ("env", 4)];

/// The risk of a call of a member in code; `None` for a member that is not judged here.
pub fn in_code(path: &str, args: &[Arg]) -> Option<Judged> {
    if path != "sh" {
        let kills = args.first().is_some_and(|a| a.kind != Kind::Missing);
        return fixed(path, kills);
    }
    let [cmd, wd, env] = SH.map(|(name, place)| argument(args, name, place));
    let Some(cmd) = cmd.filter(|a| a.kind == Kind::Strings) else { return Some(command::UNKNOWN) };
    let given = |arg: Option<&Arg>| arg.filter(|a| !matches!(a.kind, Kind::Null | Kind::Missing)).is_some();
    let here = match wd {
        Some(wd) if given(Some(wd)) => wd.kind == Kind::Strings && wd.strings.iter().all(|d| d == "."),
        _ => true,
    };
    Some(sh(&cmd.strings, here, given(env)))
}

/// The risk of a call with this input.
pub fn with_input(path: &str, input: &Value) -> Option<Judged> {
    let given = |name: &str| input.get(name).is_some_and(|v| !v.is_null());
    if path != "sh" {
        return fixed(path, input.get("kill").is_some_and(|k| *k != Value::Bool(false)));
    }
    let words: Option<Vec<String>> = match input.get("cmd") {
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(items)) => items.iter().map(|i| i.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let here = !given("wd") || input.get("wd").and_then(Value::as_str) == Some(".");
    Some(words.map_or(command::UNKNOWN, |words| sh(&words, here, given("env"))))
}

/// An argument by its name, else by its place among the unnamed ones, as R matches them.
fn argument<'a>(args: &'a [Arg], name: &str, place: usize) -> Option<&'a Arg> {
    const FORMALS: [&str; 8] = ["cmd", "input", "wd", "timeout", "env", "merge", "check", "max_tokens"];
    let matches = |a: &Arg, formal: &str| !a.name.is_empty() && formal.starts_with(a.name.as_str());
    args.iter().find(|a| matches(a, name)).or_else(|| {
        let taken = FORMALS[..place].iter().filter(|f| args.iter().any(|a| matches(a, f))).count();
        args.iter().filter(|a| a.name.is_empty()).nth(place - taken)
    })
}

fn sh(words: &[String], here: bool, changed_environment: bool) -> Judged {
    let judged = match words {
        [text] => command::of_shell(text),
        words => command::of_words(words),
    };
    // Another environment may change what a command is; another directory, which files it is about.
    let least = if changed_environment { 3 } else { u8::from(!here) };
    if judged.level < least || (!here && judged.moves) {
        return Judged { level: if judged.moves { 3 } else { least }, moves: false, ..judged };
    }
    judged
}

fn fixed(path: &str, kills: bool) -> Option<Judged> {
    let (level, category) = match path {
        "script" | "bg" => (3, Category::Process),
        "web_fetch" => (1, Category::Network),
        "jobs" if kills => (2, Category::Process),
        "jobs" => (0, Category::Read),
        _ => return None,
    };
    Some(Judged { level, category, moves: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    fn arg(name: &str, kind: Kind, strings: &[&str]) -> Arg {
        let strings = strings.iter().map(|s| (*s).to_owned()).collect();
        Arg { name: name.into(), kind, strings, ..Arg::default() }
    }

    fn text(name: &str, value: &str) -> Arg {
        arg(name, Kind::Strings, &[value])
    }

    fn level(args: &[Arg]) -> u8 {
        in_code("sh", args).map_or(9, |j| j.level)
    }

    #[test]
    fn sh_is_judged_by_its_command_and_what_is_around_it() {
        assert_eq!(level(&[text("", "git status")]), 0);
        assert_eq!(level(&[text("cmd", "git status")]), 0);
        assert_eq!(level(&[arg("", Kind::Strings, &["git", "status"])]), 0);
        assert_eq!(level(&[arg("", Kind::Symbol, &[])]), 3);
        assert_eq!(level(&[]), 3);
        assert_eq!(level(&[text("wd", "/etc"), text("", "ls")]), 1);
        assert_eq!(level(&[text("", "ls"), text("w", "..")]), 1);
        assert_eq!(level(&[text("", "ls"), arg("", Kind::Null, &[]), text("", ".")]), 0);
        assert_eq!(level(&[text("", "ls"), arg("wd", Kind::Symbol, &[])]), 1);
        assert_eq!(level(&[text("", "mkdir a"), text("wd", "/etc")]), 3);
        assert_eq!(level(&[text("", "ls"), arg("env", Kind::Call, &[])]), 3);
        assert_eq!(level(&[text("", "ls"), arg("env", Kind::Null, &[])]), 0);
        assert_eq!(level(&[text("", "sudo ls"), arg("env", Kind::Call, &[])]), 4);
    }

    #[test]
    fn an_input_is_judged_like_a_call() {
        let level = |input: Value| with_input("sh", &input).map(|j| (j.level, j.moves));
        assert_eq!(level(json!({"cmd": "git status"})), Some((0, false)));
        assert_eq!(level(json!({"cmd": ["git", "push"]})), Some((3, false)));
        assert_eq!(level(json!({"cmd": "mkdir a"})), Some((2, true)));
        assert_eq!(level(json!({"cmd": "mkdir a", "wd": "/x"})), Some((3, false)));
        assert_eq!(level(json!({"cmd": "ls", "env": {"PATH": "."}})), Some((3, false)));
        assert_eq!(level(json!({"cmd": {"$r": null}})), Some((3, false)));
        assert_eq!(level(json!({})), Some((3, false)));
    }

    #[test]
    fn the_others_have_their_level() {
        let level = |path: &str, input: Value| with_input(path, &input).map(|j| j.level);
        assert_eq!(level("bg", json!({"cmd": "ls"})), Some(3));
        assert_eq!(level("script", json!({"path": "a.R"})), Some(3));
        assert_eq!(level("web_fetch", json!({"url": "x"})), Some(1));
        assert_eq!((level("jobs", json!({})), level("jobs", json!({"kill": true}))), (Some(0), Some(2)));
        assert_eq!(level("demo/sh", json!({})), None);
    }
}
