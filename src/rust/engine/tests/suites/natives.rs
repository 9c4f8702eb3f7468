//! A host that leaves its loop while native bodies run leaves a session that can go on.

use crate::harness::host::{Left, World};
use crate::harness::{end_line, invariants, world};

const SIDE_BY_SIDE: &str = r#"
script
  {"tools": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}
  "done"
register
  tool a native:echo {"params": {"text": "string?"}, "execution": "concurrent"}
  tool b native:echo {"params": {"text": "string?"}, "execution": "concurrent"}
  policy p =check
watch tool_execution_start tool_call tool_result tool_execution_end message_end turn_end
"#;

/// More steps than the run has, however long its bodies take.
const STEPS: usize = 80;

fn goes_on(mut world: World, at: usize) {
    assert_eq!(invariants::broken(&world), Vec::<String>::new(), "left before step {at}");
    (world.jump_at, world.cancel_at, world.drop_at) = (None, None, None);
    let Left::Done(outcome, _) = world.say(Some("again")) else { panic!("the session can't go on after step {at}") };
    assert_eq!(end_line(outcome), "idle", "after step {at}");
    assert_eq!(invariants::broken(&world), Vec::<String>::new(), "after step {at}");
}

#[test]
fn a_jump_while_bodies_run_leaves_a_session_that_can_go_on() {
    for at in 0..STEPS {
        let mut world = world(SIDE_BY_SIDE);
        world.jump_at = Some(at);
        world.say(Some("go"));
        goes_on(world, at);
    }
}

#[test]
fn ctrl_c_while_bodies_run_leaves_a_session_that_can_go_on() {
    for at in 0..STEPS {
        let mut world = world(SIDE_BY_SIDE);
        world.cancel_at = Some(at);
        let Left::Done(outcome, _) = world.say(Some("go")) else { panic!("the run does not end") };
        let end = end_line(outcome);
        assert!(end == "aborted" || end == "idle", "{end} after Ctrl-C at step {at}");
        goes_on(world, at);
    }
}
