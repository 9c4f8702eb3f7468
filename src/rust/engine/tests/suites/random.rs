//! Random scripts and random hosts: what must hold after any run does.

use gptr_engine::value::{Value, json};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::harness::host::{Left, World};
use crate::harness::spec::Entry;
use crate::harness::table::{Act, Answer, Outcome, Script, Table};
use crate::harness::{end_line, invariants};

const RECORDS: [&str; 9] = [
    r#"tool t =body {"params": {"x": "integer"}}"#,
    r#"tool look =look {"annotations": {"read_only": true}}"#,
    r#"tool add =add {"namespace": "demo", "exposure": "r", "fun": "=fun()"}"#,
    "hook tool_call =guard",
    "hook permission_request =asked",
    "hook tool_result =result",
    "hook message_end =observer",
    "policy p =check",
    "context_block b =block",
];

fn call() -> impl Strategy<Value = Value> {
    let name = prop_oneof![4 => Just("t"), 2 => Just("look"), 1 => Just("nope")];
    let input = prop_oneof![
        4 => Just(json!({"x": 1})),
        1 => Just(json!({"x": "one"})),
        1 => Just(json!({"y": 1})),
        1 => Just(json!("{\"x\":")),
        2 => Just(json!({})),
    ];
    let id = prop_oneof![4 => Just(Value::Null), 1 => Just(json!("same"))];
    (name, input, id).prop_map(|(name, input, id)| json!({"name": name, "input": input, "id": id}))
}

fn reply() -> impl Strategy<Value = Value> {
    let stop = prop_oneof![6 => Just(Value::Null), 1 => Just(json!("length")), 1 => Just(json!("refusal"))];
    prop_oneof![
        3 => Just(json!("text")),
        6 => (vec(call(), 1..4), stop).prop_map(|(tools, stop)| json!({"text": "calls", "tools": tools, "stop": stop})),
        1 => (0..3u8).prop_map(|after| json!({"error": "busy", "status": 503, "after": after})),
        1 => Just(json!({"error": "bad key", "status": 401})),
        1 => Just(json!({"hang": true})),
        1 => Just(json!(42)),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => Just(Act::Call("demo/add".into(), json!({}))),
        1 => Just(Act::Call("demo/gone".into(), json!({}))),
        1 => Just(Act::Steer("steer", "look here".into())),
        1 => Just(Act::Steer("follow_up", "and then".into())),
        1 => Just(Act::Abort("enough".into())),
        1 => Just(Act::Remove("guard".into())),
        1 => Just(Act::Remove("body".into())),
        1 => Just(Act::Run),
        1 => Just(Act::Register(Entry::parse("policy late =check").expect("a record"))),
        1 => Just(Act::Child(json!({"mode": "auto", "model": "other/other-1"}), "sub".into())),
    ]
}

fn outcome(good: Vec<Outcome>) -> impl Strategy<Value = Outcome> {
    let n = good.len();
    prop_oneof![
        8 => (0..n).prop_map(move |i| good[i].clone()),
        1 => Just(Outcome::Error("simpleError".into(), "oops".into())),
        1 => Just(Outcome::Interrupt),
        1 => Just(Outcome::Jump),
        1 => Just(Outcome::Timeout),
        1 => Just(Outcome::Odd("frame")),
        1 => Just(Outcome::Odd("na")),
    ]
}

fn answers(closure: &'static str, good: Vec<Outcome>) -> impl Strategy<Value = Vec<(String, Answer)>> {
    let last = good[good.len() - 1].clone();
    let acts = prop_oneof![5 => Just(Vec::new()), 2 => vec(act(), 1..3)];
    let one = (acts, outcome(good)).prop_map(|(acts, outcome)| Answer { acts, outcome });
    // The last answer repeats: it does nothing, so that handlers that set off each other come to an end.
    let quiet = Answer { acts: Vec::new(), outcome: last };
    vec(one, 1..4).prop_map(move |mut all| {
        all.push(quiet.clone());
        all.into_iter().map(|a| (closure.to_owned(), a)).collect()
    })
}

fn decisions(words: &[&str]) -> Vec<Outcome> {
    let mut out: Vec<Outcome> =
        words.iter().map(|w| Outcome::Value(json!({"decision": w, "input": {"x": 2}}))).collect();
    out.extend([Outcome::Value(Value::Null), Outcome::Value(Value::Null)]);
    out
}

fn closures() -> impl Strategy<Value = Vec<(String, Answer)>> {
    let text = || vec![Outcome::Text("ran".into()), Outcome::Echo];
    let null = || vec![Outcome::Value(Value::Null)];
    (
        answers("body", text()),
        answers("look", text()),
        answers("fun", text()),
        answers("guard", decisions(&["allow", "block", "modify"])),
        answers("asked", decisions(&["allow", "deny"])),
        answers("check", decisions(&["allow", "ask", "ask_human", "deny", "modify"])),
        answers("person", decisions(&["allow", "deny", "abort"])),
        answers("result", null()),
        answers("observer", null()),
        answers("block", null()),
    )
        .prop_map(|(a, b, c, d, e, f, g, h, i, j)| [a, b, c, d, e, f, g, h, i, j].concat())
}

fn table() -> impl Strategy<Value = Table> {
    let mode = prop_oneof![Just("auto"), Just("manual"), Just("plan"), Just("edits")];
    let settings = (any::<bool>(), any::<bool>(), 1..5u8).prop_map(|(person, alone, turns)| {
        json!({"person": person, "deny_when_alone": alone, "max_turns": turns, "max_attempts": 1})
    });
    (mode, settings, vec(reply(), 1..6), closures()).prop_map(|(mode, settings, script, mut answers)| {
        let replies = script.into_iter().map(|r| Answer { acts: Vec::new(), outcome: Outcome::Value(r) });
        answers.extend(replies.map(|a| ("script".to_owned(), a)));
        Table {
            args: json!({"mode": mode, "settings": settings}),
            scripts: vec![
                ("fake".into(), Script::Closure("script".into())),
                ("other".into(), Script::Replies(vec![json!({"tool": "look"}), json!("sub done")])),
            ],
            records: RECORDS.iter().map(|r| Entry::parse(r).expect("a record")).collect(),
            answers,
            ..Table::default()
        }
    })
}

fn run(world: &mut World, prompt: &str) -> String {
    match world.say(Some(prompt)) {
        Left::Done(outcome, _) => end_line(outcome),
        Left::Jumped => "jumped".into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_run_settles_and_the_session_goes_on(table in table()) {
        let mut world = World::new(&table).expect("a world");
        world.cancel_on_wait = true;
        for prompt in ["first", "second"] {
            let end = run(&mut world, prompt);
            prop_assert!(!end.starts_with("failed") && end != "jumped", "{}", end);
            prop_assert_eq!(invariants::broken(&world), Vec::<String>::new());
        }
        world.calm("calm");
        // What was queued may take a run of its own before the limit lets the last prompt through.
        let mut end = run(&mut world, "last");
        for _ in 0..40 {
            if !end.starts_with("max_turns") {
                break;
            }
            end = match world.say(None) {
                Left::Done(outcome, _) => end_line(outcome),
                Left::Jumped => "jumped".into(),
            };
        }
        prop_assert_eq!(end, "idle");
        prop_assert_eq!(world.session.text(), Some("calm".to_owned()));
        prop_assert_eq!(invariants::broken(&world), Vec::<String>::new());
        prop_assert_eq!(invariants::shown_amiss(&world), Vec::<String>::new());
    }
}
