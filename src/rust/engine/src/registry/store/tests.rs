#![allow(clippy::unwrap_used)]

use super::*;
use crate::value::HostValue;

fn registry() -> Registry {
    Registry::new(|| 0.0, |text| text.replace("sk-abc123", "[secret:key]"))
}

fn spec(kind: &str, name: &str) -> HostValue {
    HostValue::named([("kind", kind.into()), ("name", name.into())])
}

fn new_record(spec: HostValue, origin: Origin) -> NewRecord {
    let text = |field: &str| spec.field(field).and_then(HostValue::as_str).unwrap().to_owned();
    NewRecord { kind: text("kind"), key: text("name"), spec, schema: None, origin, attachment: None, lazy: false }
}

fn add(reg: &Registry, kind: &str, key: &str, origin: Origin) -> Rc<Record> {
    reg.add(new_record(spec(kind, key), origin)).unwrap()
}

fn winner(reg: &Registry, session: Option<&str>, kind: &str, key: &str) -> Option<String> {
    reg.snapshot(session).winner(kind, key).map(|r| r.source.clone())
}

fn keys(reg: &Registry, kind: &str) -> Vec<String> {
    reg.snapshot(None).list(kind).iter().map(|r| r.key.clone()).collect()
}

fn set(reg: &Registry, scope: Scope, filters: &[&str]) -> Change {
    reg.set_filters(scope, filters.iter().map(|f| Filter::parse(f).unwrap()).collect())
}

fn log(reg: &Registry) -> Vec<(String, String)> {
    reg.diagnostics().into_iter().map(|d| (d.source, d.class)).collect()
}

#[test]
fn case_36_the_lowest_rank_wins_and_sessions_are_apart() {
    let reg = registry();
    let steps = [Origin::builtin("x"), Origin::plugin("p"), Origin::user(), Origin::process("project", 1)];
    for origin in steps {
        let expected = origin.source.clone();
        add(&reg, "command", "c", origin);
        assert_eq!(winner(&reg, None, "command", "c"), Some(expected));
    }
    add(&reg, "command", "c", Origin::session("s1", "session:1"));
    assert_eq!(winner(&reg, Some("s1"), "command", "c").as_deref(), Some("session"));
    assert_eq!(winner(&reg, Some("s2"), "command", "c").as_deref(), Some("project"));
    assert_eq!(winner(&reg, None, "command", "nope"), None);
}

#[test]
fn case_37_a_tie_keeps_the_first_and_is_reported_once() {
    let reg = registry();
    let a = add(&reg, "command", "c", Origin::plugin("a"));
    add(&reg, "command", "c", Origin::plugin("b"));
    add(&reg, "command", "c", Origin::plugin("b"));
    assert_eq!(winner(&reg, None, "command", "c").as_deref(), Some("plugin:a"));
    let collision = |source: &str| (source.to_owned(), "collision".to_owned());
    assert_eq!(log(&reg), [collision("plugin:b"), collision("plugin:b")]);
    assert!(reg.remove(&a.id));
    assert_eq!(winner(&reg, None, "command", "c").as_deref(), Some("plugin:b"));
}

#[test]
fn h05_a_name_registered_twice_by_one_source_is_reported_and_each_remover_removes_its_own() {
    let reg = registry();
    let first = add(&reg, "command", "c", Origin::user());
    let second = add(&reg, "command", "c", Origin::user());
    assert_eq!(log(&reg).len(), 1);
    assert!(reg.remove(&second.id));
    assert!(Rc::ptr_eq(&reg.snapshot(None).winner("command", "c").unwrap(), &first));
}

#[test]
fn additive_kinds_and_other_ranks_and_sessions_never_collide() {
    let reg = registry();
    for _ in 0..2 {
        add(&reg, "hook", "input", Origin::user());
    }
    add(&reg, "command", "c", Origin::user());
    add(&reg, "command", "c", Origin::plugin("p"));
    add(&reg, "command", "c", Origin::session("s1", "session:1"));
    add(&reg, "command", "c", Origin::session("s2", "session:1"));
    assert!(log(&reg).is_empty());
}

#[test]
fn case_38_overriding_is_by_kind_and_key() {
    let reg = registry();
    for name in ["read", "edit", "grep"] {
        add(&reg, "tool", name, Origin::builtin("tools"));
    }
    let mine = add(&reg, "tool", "read", Origin::user());
    add(&reg, "command", "read", Origin::plugin("p"));
    assert_eq!(winner(&reg, None, "tool", "read").as_deref(), Some("user"));
    assert_eq!(winner(&reg, None, "tool", "edit").as_deref(), Some("builtin:tools"));
    assert_eq!(winner(&reg, None, "command", "read").as_deref(), Some("plugin:p"));
    assert!(reg.remove(&mine.id));
    assert_eq!(winner(&reg, None, "tool", "read").as_deref(), Some("builtin:tools"));
}

#[test]
fn case_39_additive_kinds_are_listed_by_order_and_named_by_registration() {
    let reg = registry();
    let policy = |name: &str, order: Option<f64>, origin: Origin| {
        let mut spec = spec("policy", name);
        if let Some(o) = order {
            spec.set("order", o.into());
        }
        reg.add(new_record(spec, origin)).unwrap();
    };
    policy("late", Some(900.0), Origin::builtin("x"));
    policy("early", Some(100.0), Origin::user());
    policy("middle", None, Origin::plugin("p"));
    policy("just before", Some(499.5), Origin::plugin("p"));
    policy("also early", Some(100.0), Origin::process("project", 1));
    assert_eq!(keys(&reg, "policy"), ["also early", "early", "just before", "middle", "late"]);
    assert_eq!(reg.snapshot(None).names("policy"), ["late", "early", "middle", "just before", "also early"]);
}

#[test]
fn case_40_and_h07_removing_twice_is_true_then_false_and_spares_a_successor() {
    let reg = registry();
    let r = add(&reg, "command", "c", Origin::user());
    assert!(reg.remove(&r.id));
    add(&reg, "command", "c", Origin::user());
    assert!(!reg.remove(&r.id));
    assert_eq!(keys(&reg, "command"), ["c"]);
}

#[test]
fn only_ids_of_records_are_ids() {
    let reg = registry();
    add(&reg, "command", "c", Origin::user());
    for bad in ["", "r", "1", "r01", "r+1", "r1\n", "R1", "r99999999999999999999999"] {
        assert!(!reg.remove(bad), "{bad:?}");
    }
    assert!(reg.remove("r1"));
}

fn kind_record(name: &str, resolve: &str) -> HostValue {
    let mut spec = spec("kind", name);
    spec.set("resolve", resolve.into());
    spec
}

#[test]
fn case_41_a_kind_record_defines_a_kind_and_takes_it_away() {
    let reg = registry();
    let definer = reg.add(new_record(kind_record("reviewer", "first"), Origin::plugin("demo"))).unwrap();
    let kind = reg.kind("reviewer").unwrap();
    assert!(kind.experimental && kind.source == "plugin:demo");
    assert_eq!(kind.validator.as_ref().unwrap().record.as_ref(), Some(&definer.id));
    for (taken, by) in [("reviewer", "plugin:demo"), ("tool", "builtin:registry")] {
        let again = reg.add(new_record(kind_record(taken, "first"), Origin::user())).map(|_| ());
        let Err(Error::InvalidSpec { field, problem, .. }) = again else { panic!("{again:?}") };
        assert_eq!((field.as_str(), problem), ("name", format!("is already defined by {by}")));
    }
    add(&reg, "reviewer", "stats", Origin::user());
    let own = add(&reg, "reviewer", "own", Origin::session("s1", "session:1"));
    let version = reg.version();
    assert!(reg.remove(&definer.id));
    assert!(reg.kind("reviewer").is_err() && reg.version() > version);
    assert!(!reg.remove(&own.id));
    assert_eq!(winner(&reg, Some("s1"), "reviewer", "stats"), None);
    reg.add(new_record(kind_record("reviewer", "all"), Origin::user())).unwrap();
    assert!(reg.snapshot(Some("s1")).list("reviewer").is_empty());
}

#[test]
fn a_kind_that_a_session_defined_leaves_with_it() {
    let reg = registry();
    reg.add(new_record(kind_record("reviewer", "first"), Origin::session("s1", "session:1"))).unwrap();
    add(&reg, "reviewer", "stats", Origin::user());
    reg.remove_session("s1");
    assert!(reg.kind("reviewer").is_err());
    assert!(reg.process_records("reviewer").is_empty());
}

#[test]
fn case_49_the_last_thousand_diagnostics_are_kept_and_redacted() {
    let reg = registry();
    (0..1005).for_each(|i| reg.diagnose("s", "e", "c", &format!("{i} sk-abc123")));
    let rows = reg.diagnostics();
    assert_eq!((rows.len(), rows[0].message.as_str()), (1000, "5 [secret:key]"));
}

#[test]
fn case_50_a_remover_acts_on_its_own_registry_alone() {
    let live = registry();
    let there = add(&live, "command", "c", Origin::user());
    let scratch = live.scratch();
    assert!(!scratch.remove(&there.id));
    let here = add(&scratch, "command", "d", Origin::user());
    assert!(!live.remove(&here.id));
    assert_eq!((keys(&live, "command"), keys(&scratch, "command")), (vec!["c".into()], vec!["c".into(), "d".into()]));
    assert!(scratch.remove(&here.id) && live.remove(&there.id));
    assert_eq!(keys(&scratch, "command"), ["c"]);
}

#[test]
fn a_scratch_registry_sees_what_every_session_sees_without_placeholders() {
    let live = registry();
    add(&live, "service", "s", Origin::builtin("core"));
    add(&live, "command", "own", Origin::session("s1", "session:1"));
    add(&live, "command", "off", Origin::user());
    set(&live, Scope::User, &["-command:off"]);
    let lazy = NewRecord {
        lazy: true,
        ..new_record(spec("command", "lazy"), Origin { load: Some(1), ..Origin::plugin("p") })
    };
    live.add(lazy).unwrap();
    let scratch = live.scratch();
    assert!(keys(&scratch, "command").is_empty() && scratch.snapshot(None).names("command").is_empty());
    assert!(matches!(scratch.service(None, "s"), Ok(Service::Record(_))));
    assert_eq!(live.snapshot(None).names("command"), ["lazy"]);
}

#[test]
fn case_52_a_filter_hides_and_gives_back() {
    let reg = registry();
    add(&reg, "command", "grep", Origin::builtin("tools"));
    let before = reg.version();
    assert_eq!(set(&reg, Scope::Session, &["-command:grep"]).effective, ["command:grep"]);
    assert!(reg.version() > before);
    let snapshot = reg.snapshot(None);
    assert!(snapshot.winner("command", "grep").is_none() && snapshot.names("command").is_empty());
    assert!(snapshot.list("command").is_empty() && snapshot.is_disabled(&reg.process_records("command")[0]));
    set(&reg, Scope::Session, &["-command:grep", "+command:grep"]);
    assert_eq!(keys(&reg, "command"), ["grep"]);
}

#[test]
fn a_filter_on_the_winner_lets_the_next_one_win() {
    let reg = registry();
    add(&reg, "command", "c", Origin::plugin("a"));
    add(&reg, "command", "c", Origin::user());
    add(&reg, "command", "c", Origin::plugin("b"));
    set(&reg, Scope::User, &["-plugin:a"]);
    reg.remove_source("user");
    assert_eq!(winner(&reg, None, "command", "c").as_deref(), Some("plugin:b"));
}

#[test]
fn case_54_a_source_is_turned_off_as_a_whole() {
    let reg = registry();
    for kind in ["command", "hook", "policy"] {
        add(&reg, kind, "input", Origin::plugin("panel"));
        add(&reg, kind, "input", Origin::builtin("mcp"));
    }
    set(&reg, Scope::User, &["-builtin:mcp", "-plugin:panel"]);
    for kind in ["command", "hook", "policy"] {
        assert!(keys(&reg, kind).is_empty());
    }
    assert!(reg.snapshot(None).hooks("input").is_empty());
    assert!(reg.is_source_disabled("plugin:panel") && !reg.is_source_disabled("plugin:pane"));
    set(&reg, Scope::User, &[]);
    assert_eq!(reg.snapshot(None).hooks("input").len(), 2);
}

#[test]
fn case_55_records_of_permissions_plan_and_secrets_are_immune() {
    let reg = registry();
    add(&reg, "policy", "mode", Origin::builtin("permissions"));
    add(&reg, "policy", "mode", Origin::plugin("p"));
    let change = set(&reg, Scope::Session, &["-policy:mode", "-builtin:permissions"]);
    assert_eq!((change.effective, change.refused), (vec!["policy:mode".into()], vec!["-builtin:permissions".into()]));
    let left: Vec<String> = reg.snapshot(None).list("policy").iter().map(|r| r.source.clone()).collect();
    assert_eq!(left, ["builtin:permissions"]);
    assert_eq!(log(&reg), [("filters:session".to_owned(), "filter_refused".to_owned())]);
}

#[test]
fn case_56_a_project_turns_off_policies_of_plugins_alone() {
    let reg = registry();
    add(&reg, "policy", "mine", Origin::user());
    add(&reg, "policy", "theirs", Origin::plugin("p"));
    add(&reg, "hook", "input", Origin::builtin("core"));
    add(&reg, "command", "core", Origin::builtin("core"));
    set(&reg, Scope::Project, &["-policy:mine", "-policy:theirs", "-builtin:core"]);
    assert_eq!(keys(&reg, "policy"), ["mine"]);
    assert_eq!(reg.snapshot(None).hooks("input").len(), 1);
    assert!(keys(&reg, "command").is_empty());
    let limited = ("filters:project".to_owned(), "filter_limited".to_owned());
    assert_eq!(log(&reg), [limited.clone(), limited]);
    set(&reg, Scope::Session, &["-policy:mine"]);
    assert!(keys(&reg, "policy").is_empty());
}

#[test]
fn case_57_and_58_a_run_keeps_the_policies_and_hooks_that_it_began_with() {
    let reg = registry();
    add(&reg, "policy", "no_installs", Origin::user());
    add(&reg, "hook", "input", Origin::plugin("p"));
    add(&reg, "command", "x", Origin::user());
    add(&reg, "policy", "off", Origin::user());
    set(&reg, Scope::User, &["-policy:off"]);
    reg.begin_run("u1", Some("s1"));
    let change = set(&reg, Scope::Session, &["-policy:no_installs", "-command:x", "-plugin:p", "-hook:input"]);
    assert_eq!(change.refused, ["-policy:no_installs", "-plugin:p", "-hook:input"]);
    assert_eq!(change.effective, ["policy:off", "command:x"]);
    add(&reg, "policy", "new", Origin::user());
    assert!(set(&reg, Scope::Session, &["-policy:new"]).refused.is_empty());
    reg.end_run("u1");
    assert!(set(&reg, Scope::Session, &["-policy:no_installs"]).refused.is_empty());
    assert_eq!(keys(&reg, "policy"), ["new"]);
}

#[test]
fn a_run_keeps_what_lifted_a_filter() {
    let reg = registry();
    add(&reg, "policy", "mine", Origin::user());
    set(&reg, Scope::User, &["-policy:mine"]);
    set(&reg, Scope::Session, &["+policy:mine"]);
    reg.begin_run("u1", None);
    assert_eq!(set(&reg, Scope::Session, &["-tool:x"]).refused, ["+policy:mine"]);
    assert_eq!(reg.filters_of(Scope::Session), ["-tool:x", "+policy:mine"]);
    assert_eq!(set(&reg, Scope::Session, &["-policy:mine"]).refused, ["-policy:mine", "+policy:mine"]);
    assert_eq!(keys(&reg, "policy"), ["mine"]);
    reg.end_run("u1");
    assert!(set(&reg, Scope::Session, &[]).refused.is_empty());
    assert!(keys(&reg, "policy").is_empty());
}

#[test]
fn a_run_guards_the_policies_of_its_session_too() {
    let reg = registry();
    add(&reg, "policy", "own", Origin::session("s1", "session:1"));
    reg.begin_run("u1", Some("s1"));
    assert_eq!(set(&reg, Scope::User, &["-policy:own"]).refused, ["-policy:own"]);
}

#[test]
fn case_60_a_filter_on_a_kind_to_come_is_kept() {
    let reg = registry();
    set(&reg, Scope::User, &["-reviewer:stats"]);
    assert_eq!(log(&reg), [("filters:user".to_owned(), "filter_unknown_kind".to_owned())]);
    reg.add(new_record(kind_record("reviewer", "first"), Origin::plugin("demo"))).unwrap();
    add(&reg, "reviewer", "stats", Origin::user());
    add(&reg, "reviewer", "style", Origin::user());
    assert_eq!(keys(&reg, "reviewer"), ["style"]);
}

#[test]
fn case_61_a_built_in_that_is_not_replaceable_stays() {
    let reg = registry();
    let gateway = Declaration { name: "gateway".into(), after: vec![], replaceable: false };
    reg.declare_builtins(vec![gateway]);
    add(&reg, "command", "c", Origin::builtin("gateway"));
    assert_eq!(set(&reg, Scope::User, &["-builtin:gateway"]).refused, ["-builtin:gateway"]);
    assert!(set(&reg, Scope::User, &["-command:c"]).refused.is_empty());
    assert!(keys(&reg, "command").is_empty());
}

#[test]
fn a_filtered_built_in_loads_when_the_filter_is_lifted() {
    let reg = registry();
    let declare = |name: &str| Declaration { name: name.into(), after: vec![], replaceable: true };
    set(&reg, Scope::User, &["-builtin:mcp"]);
    assert_eq!(reg.declare_builtins(vec![declare("mcp"), declare("core")]), ["mcp", "core"]);
    assert_eq!((reg.next_builtin().as_deref(), reg.next_builtin()), (Some("core"), None));
    set(&reg, Scope::Session, &["+builtin:mcp"]);
    assert_eq!(reg.due_builtins(), ["mcp"]);
    assert_eq!((reg.next_builtin().as_deref(), reg.next_builtin()), (Some("mcp"), None));
}

#[test]
fn case_83_a_circle_of_built_ins_is_reported_once() {
    let reg = registry();
    let declare =
        |name: &str, after: &str| Declaration { name: name.into(), after: vec![after.into()], replaceable: true };
    reg.declare_builtins(vec![declare("a", "b"), declare("b", "a")]);
    assert_eq!(reg.declare_builtins(vec![declare("c", "none")]), ["c", "a", "b"]);
    assert_eq!(log(&reg), [("builtins".to_owned(), "cycle".to_owned())]);
}

fn answers(reg: &Registry, name: &str) -> String {
    match reg.service(None, name) {
        Ok(Service::Record(r)) => r.source.clone(),
        Ok(Service::Lazy(load)) => format!("lazy {load}"),
        Ok(Service::Bootstrap(builtin)) => format!("bootstrap of {builtin:?}"),
        Err(Error::NotAvailable { member, provided_by }) => format!("no {member} of {provided_by:?}"),
        Err(other) => other.to_string(),
    }
}

#[test]
fn a_service_record_replaces_the_bootstrap_service() {
    let reg = registry();
    assert!(!reg.declare_service("eval", Some("core")));
    assert!(reg.declare_service("eval", Some("core")));
    assert_eq!(log(&reg), [("builtin:core".to_owned(), "service".to_owned())]);
    assert_eq!(answers(&reg, "eval"), "bootstrap of Some(\"core\")");
    let own = add(&reg, "service", "eval", Origin::user());
    assert_eq!(answers(&reg, "eval"), "user");
    reg.remove(&own.id);
    add(&reg, "command", "other", Origin::user());
    assert_eq!(answers(&reg, "eval"), "no eval of Some(\"core\")");
    add(&reg, "command", "c", Origin::builtin("core"));
    assert_eq!(answers(&reg, "eval"), "bootstrap of Some(\"core\")");
    set(&reg, Scope::User, &["-builtin:core"]);
    assert_eq!(answers(&reg, "eval"), "no eval of Some(\"core\")");
    assert_eq!(answers(&reg, "agent_def.get"), "no agent_def.get of Some(\"skills\")");
    assert_eq!(answers(&reg, "nobody"), "no nobody of None");
}

#[test]
fn a_snapshot_keeps_what_was_there_and_its_records_alive() {
    let reg = registry();
    let id = add(&reg, "hook", "input", Origin::user()).id.clone();
    let before = reg.snapshot(None);
    assert!(reg.remove(&id));
    set(&reg, Scope::User, &["-hook:input"]);
    assert_eq!(before.hooks("input").len(), 1);
    assert!(reg.released().is_empty());
    drop(before);
    assert_eq!(reg.released(), [id]);
}

#[test]
fn hooks_are_dispatched_by_event_whatever_their_name() {
    let reg = registry();
    let mut named = spec("hook", "watch");
    named.set("event", "input".into());
    reg.add(new_record(named, Origin::user())).unwrap();
    add(&reg, "hook", "input", Origin::session("s1", "session:1"));
    let names: Vec<String> = reg.snapshot(Some("s1")).hooks("input").iter().map(|r| r.key.clone()).collect();
    assert_eq!(names, ["input", "watch"]);
    assert!(reg.snapshot(None).hooks("watch").is_empty());
}

#[test]
fn a_session_leaves_with_all_its_records() {
    let reg = registry();
    let id = add(&reg, "command", "c", Origin::session("s1", "session:1")).id.clone();
    reg.remove_session("s1");
    assert_eq!(winner(&reg, Some("s1"), "command", "c"), None);
    assert!(!reg.remove(&id));
    assert_eq!(reg.released(), [id]);
}

#[test]
fn case_76_a_source_leaves_as_a_whole() {
    let reg = registry();
    add(&reg, "command", "a", Origin::plugin("p"));
    add(&reg, "hook", "input", Origin::plugin("p"));
    add(&reg, "command", "b", Origin::plugin("pq"));
    assert_eq!(reg.remove_source("plugin:p"), 2);
    assert_eq!(reg.remove_source("plugin:p"), 0);
    assert_eq!(keys(&reg, "command"), ["b"]);
}

#[test]
fn session_records_leave_the_listing_as_it_is() {
    let reg = registry();
    let version = reg.version();
    add(&reg, "command", "c", Origin::session("s1", "session:1"));
    reg.remove_session("s1");
    assert_eq!(reg.version(), version);
}
