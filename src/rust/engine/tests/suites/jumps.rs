//! A host that jumps out of its loop leaves a session that can go on, wherever it jumps.

use crate::harness::host::{Left, World};
use crate::harness::{end_line, invariants, world};

const BUSY: &str = r#"
mode manual
settings {"person": true, "max_attempts": 2}
script
  {"text": "Working.", "tools": [{"name": "outer"}, {"name": "t", "input": {"x": 1}}, {"name": "nope"}, {"name": "t"}]}
  {"tool": "t", "input": {"x": 2}, "stop": "length"}
  {"tool": "t", "input": {"x": 2}}
  "done"
script other
  {"tool": "inner"}
  "child done"
register
  prompt_section s =section
  context_block b =block
  tool outer =outer
  tool t =body {"params": {"x": "integer"}}
  tool inner =inner
  tool add =add {"namespace": "demo", "exposure": "r", "fun": "=fun()"}
  hook session_start =start
  hook tool_call =guard
  hook tool_result =result
  policy p =check
watch agent_start turn_start message_start message_end message_update before_request request_params usage
watch tool_execution_start tool_execution_end turn_end agent_end queue_update subagent_start subagent_end
on outer: call demo/add & child {"mode": "auto", "model": "other/other-1"} sub & register tool late =late & steer look & text outer
on body: text ran
on fun: text added
on inner: text inner
on person: value {"decision": "allow"}
"#;

/// The steps of a whole run.
fn steps_of(text: &str) -> usize {
    let mut whole = world(text);
    let Left::Done(outcome, _) = whole.say(Some("go")) else { panic!("the run does not end") };
    assert_eq!(end_line(outcome), "idle");
    assert_eq!(invariants::broken(&whole), Vec::<String>::new());
    whole.steps
}

fn goes_on(mut world: World, at: usize) {
    assert_eq!(invariants::broken(&world), Vec::<String>::new(), "left before step {at}");
    world.jump_at = None;
    let Left::Done(outcome, _) = world.say(Some("again")) else { panic!("the session can't go on after step {at}") };
    assert_eq!(end_line(outcome), "idle", "after step {at}");
    assert_eq!(invariants::broken(&world), Vec::<String>::new(), "after step {at}");
    assert_eq!(invariants::shown_amiss(&world), Vec::<String>::new(), "after step {at}");
}

#[test]
fn a_jump_at_any_step_leaves_a_session_that_can_go_on() {
    let steps = steps_of(BUSY);
    assert!(steps > 120, "the table has become too small: {steps} steps");
    for at in 0..steps {
        let mut world = world(BUSY);
        world.jump_at = Some(at);
        assert!(matches!(world.say(Some("go")), Left::Jumped), "step {at} was never reached");
        goes_on(world, at);
    }
}

#[test]
fn a_task_that_is_dropped_at_any_step_leaves_a_session_that_can_go_on() {
    let steps = steps_of(BUSY);
    for at in (0..steps).step_by(3) {
        let mut world = world(BUSY);
        world.drop_at = Some(at);
        assert!(matches!(world.say(Some("go")), Left::Jumped), "step {at} was never reached");
        world.drop_at = None;
        world.lost_requests = 1;
        goes_on(world, at);
    }
}

#[test]
fn ctrl_c_at_any_step_leaves_a_session_that_can_go_on() {
    let steps = steps_of(BUSY);
    for at in 0..steps {
        let mut world = world(BUSY);
        world.cancel_at = Some(at);
        let Left::Done(outcome, _) = world.say(Some("go")) else { panic!("the run does not end") };
        let end = end_line(outcome);
        assert!(end == "aborted" || end == "idle", "{end} after Ctrl-C at step {at}");
        world.cancel_at = None;
        goes_on(world, at);
    }
}
