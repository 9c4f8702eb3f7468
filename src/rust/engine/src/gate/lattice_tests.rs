#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::value::{HostData, json};
use proptest::prelude::*;

fn said(fields: &[(&str, HostValue)]) -> HostReply {
    HostReply::Value(HostValue::named(fields.iter().cloned()))
}

fn word(decision: &str, reason: &str) -> HostReply {
    said(&[("decision", decision.into()), ("reason", reason.into())])
}

fn modify(code: &str) -> HostReply {
    said(&[("decision", "modify".into()), ("input", HostValue::named([("code", code.into())]))])
}

fn guarded() -> Guards {
    Guards { mode_active: true, ..Guards::default() }
}

/// One pass over `replies`, which must decide.
fn decide(guards: Guards, replies: &[HostReply]) -> Verdict {
    let mut round = Round::new(json!({"code": "x = 1"}), guards);
    for (i, reply) in replies.iter().enumerate() {
        round.answer(&format!("p{i}"), "user", reply);
    }
    match round.end_pass(false) {
        Next::Decided(verdict) => verdict,
        Next::Again => panic!("a second pass"),
    }
}

#[test]
fn no_opinion_at_all_allows() {
    let empty = HostReply::Value(HostValue::list([]));
    let without = said(&[("note", "x".into())]);
    let v = decide(guarded(), &[HostReply::null(), empty, without]);
    assert_eq!((v.decision, v.reason.as_str(), v.policy), (Decision::Allow, "", None));
    assert!(v.diagnostics.is_empty());
}

#[test]
fn the_strictest_wins_and_the_earliest_reason_of_it() {
    let v = decide(
        guarded(),
        &[word("allow", "a"), word("ask", "b"), word("deny", "c"), word("deny", "d"), word("ask_human", "e")],
    );
    assert_eq!((v.decision, v.reason.as_str(), v.policy.as_deref()), (Decision::Deny, "c", Some("p2")));
    assert_eq!(v.reasons, ["c", "d"]);
}

#[test]
fn h17_the_full_cross_table_of_two_sources() {
    let words = ["allow", "ask", "ask_human", "deny"];
    for (i, a) in words.iter().enumerate() {
        for (j, b) in words.iter().enumerate() {
            let v = decide(guarded(), &[word(a, ""), word(b, "")]);
            assert_eq!(v.decision.as_str(), words[i.max(j)], "{a} + {b}");
        }
    }
}

#[test]
fn h16_unknown_and_malformed_decisions_deny_and_are_reported() {
    let na: HostValue = HostData::Character(vec![None]).into();
    let mut frame = HostValue::named([("decision", "allow".into())]);
    frame.class = vec!["data.frame".into()];
    let bad = [
        word("Deny", "x"),
        word("block", "x"),
        said(&[("decision", na)]),
        said(&[("decision", HostValue::strings(["allow", "allow"]))]),
        said(&[("decision", true.into())]),
        said(&[("dec", "allow".into())]),
        said(&[("decision", "allow".into()), ("reason", 1.into())]),
        said(&[("decision", "allow".into()), ("decision", "allow".into())]),
        said(&[("decision", "modify".into())]),
        said(&[("decision", "modify".into()), ("input", "x".into())]),
        HostReply::Value(HostValue::list(["allow".into()])),
        HostReply::Value("allow".into()),
        HostReply::Value(true.into()),
        HostReply::Value(frame),
    ];
    for reply in bad {
        let v = decide(guarded(), std::slice::from_ref(&reply));
        assert_eq!(v.decision, Decision::Deny, "{reply:?}");
        assert_eq!(v.reason, "policy 'p0' returned a malformed decision");
        assert_eq!(v.diagnostics.len(), 1);
        assert_eq!(v.diagnostics[0].class, "malformed_decision");
    }
}

#[test]
fn h14_h73_every_exit_denies_and_only_an_interrupt_aborts() {
    let cases = [
        (HostReply::error("{1+1}"), "policy 'p0' failed: {1+1}", false),
        (HostReply::Timeout, "policy 'p0' failed: timed out", false),
        (HostReply::Abort, "policy 'p0' failed: aborted", false),
        (HostReply::Interrupt, "policy 'p0' failed: interrupted", true),
    ];
    for (reply, reason, abort) in cases {
        let v = decide(guarded(), &[reply]);
        assert_eq!((v.decision, v.reason.as_str(), v.abort, v.diagnostics.len()), (Decision::Deny, reason, abort, 1));
    }
}

#[test]
fn case_23_a_modified_input_is_judged_once_more() {
    let mut round = Round::new(json!({"code": "x = 1"}), guarded());
    round.answer("a", "user", &modify("x = 2"));
    assert_eq!(round.input()["code"], "x = 2");
    assert_eq!(round.end_pass(false), Next::Again);
    round.answer("a", "user", &HostReply::null());
    let Next::Decided(v) = round.end_pass(false) else { panic!() };
    assert_eq!((v.decision, v.modified, &v.input), (Decision::Allow, true, &json!({"code": "x = 2"})));
}

#[test]
fn case_23_a_second_modify_denies_even_with_an_equal_input() {
    let mut round = Round::new(json!({"code": "x = 1"}), guarded());
    round.answer("a", "user", &modify("x = 2"));
    assert_eq!(round.end_pass(false), Next::Again);
    round.answer("a", "user", &modify("x = 2"));
    let Next::Decided(v) = round.end_pass(false) else { panic!() };
    assert_eq!(v.decision, Decision::Deny);
    assert!(v.reason.starts_with("a policy modified the call twice"));
}

#[test]
fn case_24_modifications_chain_and_a_deny_ends_the_first_pass() {
    let mut round = Round::new(json!({"code": ""}), guarded());
    round.answer("a", "user", &modify("a"));
    assert_eq!(round.input()["code"], "a");
    round.answer("b", "user", &modify("ab"));
    assert_eq!(round.end_pass(false), Next::Again);
    assert_eq!(round.input()["code"], "ab");

    let v = decide(guarded(), &[modify("a"), word("deny", "no")]);
    assert_eq!((v.decision, v.reason.as_str()), (Decision::Deny, "no"));
}

#[test]
fn only_the_second_pass_counts() {
    let mut round = Round::new(json!({"code": "x"}), guarded());
    round.answer("a", "user", &word("ask_human", "first"));
    round.answer("b", "user", &modify("y"));
    assert_eq!(round.end_pass(false), Next::Again);
    round.answer("a", "user", &word("ask", "second"));
    round.answer("b", "user", &HostReply::null());
    let Next::Decided(v) = round.end_pass(false) else { panic!() };
    assert_eq!((v.decision, v.reason.as_str()), (Decision::Ask, "second"));
}

#[test]
fn without_a_mode_policy_everything_below_ask_becomes_ask() {
    let none = decide(Guards::default(), &[word("allow", "fine")]);
    assert_eq!((none.decision, none.reason.as_str()), (Decision::Ask, "no permission mode policy is active"));
    assert_eq!(decide(Guards::default(), &[word("ask_human", "x")]).decision, Decision::AskHuman);
    let lifted = Guards { unguarded: true, ..Guards::default() };
    assert_eq!(decide(lifted.clone(), &[HostReply::null()]).decision, Decision::Allow);
    assert_eq!(decide(lifted, &[word("deny", "x")]).decision, Decision::Deny);
}

#[test]
fn h53_a_missing_required_policy_lets_only_read_only_calls_through() {
    let guards = || Guards { mode_active: true, unguarded: true, missing: vec!["audit".into()] };
    let v = decide(guards(), &[word("allow", "")]);
    assert_eq!(v.decision, Decision::Deny);
    assert!(v.reason.contains("'audit'"));
    let mut round = Round::new(json!({}), guards());
    round.answer("a", "user", &word("allow", ""));
    let Next::Decided(v) = round.end_pass(true) else { panic!() };
    assert_eq!(v.decision, Decision::Allow);
}

#[test]
fn an_allow_rule_lifts_the_ask_of_the_mode_only() {
    let of = |opinions: Vec<Opinion>| {
        let mut round = Round::new(json!({}), guarded());
        for o in opinions {
            round.opinion("p", Some(o));
        }
        match round.end_pass(false) {
            Next::Decided(v) => v.decision,
            Next::Again => panic!(),
        }
    };
    let mode = |d| Opinion { liftable: true, ..Opinion::new(d, "mode") };
    let rule = || Opinion { lifts: true, ..Opinion::new(Decision::Allow, "rule") };
    assert_eq!(of(vec![mode(Decision::Ask), rule()]), Decision::Allow);
    assert_eq!(of(vec![mode(Decision::AskHuman), rule()]), Decision::AskHuman);
    assert_eq!(of(vec![mode(Decision::Deny), rule()]), Decision::Deny);
    assert_eq!(of(vec![rule(), Opinion::new(Decision::Ask, "someone's policy")]), Decision::Ask);
    assert_eq!(of(vec![mode(Decision::Ask)]), Decision::Ask);
}

fn answers() -> impl Strategy<Value = Vec<(usize, String)>> {
    prop::collection::vec((0_usize..7, "[a-c]{0,2}"), 0..8)
}

fn reply(kind: usize, reason: &str) -> HostReply {
    match kind {
        0 => HostReply::null(),
        1 => HostReply::Timeout,
        k => word(["allow", "ask", "ask_human", "deny", "Deny"][k - 2], reason),
    }
}

proptest! {
    #[test]
    fn any_order_of_the_same_answers_gives_the_same_decision_and_reasons(
        (given, shuffled) in answers().prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle()))
    ) {
        let of = |answers: &[(usize, String)]| {
            let mut round = Round::new(json!({}), guarded());
            for (kind, reason) in answers {
                round.answer("p", "user", &reply(*kind, reason));
            }
            let Next::Decided(v) = round.end_pass(false) else { panic!() };
            let reasons: BTreeSet<String> = v.reasons.into_iter().collect();
            (v.decision, reasons)
        };
        prop_assert_eq!(of(&given), of(&shuffled));
    }

    #[test]
    fn adding_an_answer_never_loosens(given in answers(), extra in 0_usize..7) {
        let of = |extra: Option<usize>| {
            let mut replies: Vec<HostReply> = given.iter().map(|(k, r)| reply(*k, r)).collect();
            replies.extend(extra.map(|k| reply(k, "x")));
            decide(guarded(), &replies).decision
        };
        prop_assert!(of(Some(extra)) >= of(None));
    }
}
