//! The run loop, table by table: each file of `tests/tables` is a test of its name.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;
mod suites;

macro_rules! tables {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            harness::play_file(stringify!($name));
        })*

        const LISTED: &[&str] = &[$(stringify!($name)),*];
    };
}

tables! {
    a_batch_ends_at_a_call_that_nobody_can_approve
    a_body_that_registers_a_tool_and_calls_it
    a_body_that_removes_itself_runs_on_and_is_released
    a_finished_session_without_input_has_nothing_to_run
    a_hidden_tool_and_one_for_code_only_are_not_found
    a_hook_may_run_a_session_and_change_the_registry
    a_hook_removed_during_the_dispatch_runs_this_time_and_not_the_next
    a_hook_that_registers_a_policy_binds_the_same_call
    a_native_body_has_the_time_of_its_tool
    a_policy_that_asks_about_a_member_is_heard_though_the_code_ran_freely
    a_provider_that_left_is_an_error_and_the_session_stays
    a_required_policy_that_is_gone_stops_all_but_reading
    a_run_ends_when_all_results_say_so
    a_tool_that_an_observer_removed_is_not_found
    an_abort_of_the_parent_stops_its_children
    an_interrupt_in_a_child_ends_the_parent
    an_interrupt_while_the_prompt_is_made_ends_the_run
    an_unfinished_path_goes_on_from_its_end
    approved_code_is_not_asked_about_again
    case_16_text_only_has_its_events_in_order
    case_17_one_tool_call_in_full_order
    case_18_calls_of_one_reply_with_one_id_get_ids_of_their_own
    case_18_a_closure_or_a_sequential_call_parts_a_batch
    case_18_native_calls_marked_concurrent_run_side_by_side
    case_18_several_calls_run_one_whole_call_after_another
    case_19_an_unknown_tool_is_an_error_result
    case_19_broken_json_is_never_run
    case_20_a_schema_that_is_a_function_guards_its_tool_too
    case_20_a_wrong_type_and_a_missing_argument_are_refused
    case_20_an_unknown_argument_is_refused_before_anyone_is_asked
    case_21_calls_of_a_cut_reply_are_not_executed
    case_21_calls_of_a_refusal_are_not_executed
    case_22_a_matcher_decides_which_hooks_are_called
    case_22_a_throwing_hook_blocks
    case_22_blocking_hooks_give_their_reason_or_their_name
    case_22_modifying_hooks_are_chained_and_the_result_is_validated
    case_23_a_modifying_policy_gets_a_second_pass
    case_23_a_policy_that_always_modifies_denies
    case_23_an_input_of_a_policy_is_validated_and_names_the_policy
    case_24_a_deny_beside_a_modify_decides_without_a_second_pass
    case_24_modifying_policies_are_chained
    case_24_policies_that_fail_or_answer_nonsense_deny
    case_25_a_permission_hook_may_deny_and_a_failing_one_denies
    case_25_ask_human_passes_hooks_by
    case_25_hook_policy_question_body_result_in_that_order
    case_26_a_body_that_stops_is_an_error_result
    case_27_deny_when_alone_goes_on
    case_27_with_nobody_there_the_run_is_blocked
    case_29_a_failed_request_is_made_again
    case_29_attempts_run_out
    case_30_a_refused_key_is_not_tried_again
    case_30_an_exhausted_quota_is_not_tried_again
    case_30_too_long_a_wait_is_an_error
    case_30_what_the_person_has_seen_is_not_tried_again
    case_32_a_hanging_request_is_cancelled
    case_32_a_wait_before_a_retry_is_cancelled
    case_32_an_abort_in_a_stream_drops_what_is_queued
    case_33_a_question_that_fails_is_no_approval
    case_33_an_abort_between_hooks_and_body_leaves_the_call_undone
    case_33_an_abort_from_a_body_lets_it_finish
    case_33_an_interrupt_in_a_body_ends_the_run
    case_33_an_interrupt_in_a_hook_denies_and_ends_the_run
    case_33_an_interrupt_in_a_member_ends_the_run
    case_33_an_interrupt_in_a_policy_denies_and_ends_the_run
    case_33_an_interrupt_in_a_script_ends_the_run
    case_33_an_interrupt_in_an_observer_ends_the_run
    case_33_ctrl_c_ends_native_calls_that_run_side_by_side
    case_33_jumps_and_timeouts_of_deciders_deny_and_the_run_goes_on
    case_33_the_person_aborts_at_a_question
    case_34_a_steer_before_the_first_request_is_a_user_message
    case_34_a_steer_from_a_body_comes_before_the_next_request
    case_34_two_steers_come_one_at_a_time
    case_35_a_follow_up_of_an_idle_session_opens_a_turn
    case_35_a_follow_up_waits_for_the_end_of_the_work
    case_36_queued_input_at_the_limit_waits
    case_36_the_request_limit_ends_a_run
    case_38_a_child_keeps_the_guards_of_its_parent
    case_38_a_child_session_is_tightened
    case_38_sessions_are_nested_one_deep
    case_38_usage_of_children_counts_for_their_parent
    case_42_a_critical_tool_needs_a_person_in_auto_mode
    case_42_a_tool_that_reads_runs_in_plan_mode_and_no_other
    case_48_without_permissions_a_registered_policy_still_denies
    case_58_a_call_goes_out_in_halves
    case_59_a_script_shorter_than_the_run_repeats_its_last_reply
    case_59_an_empty_script_is_an_error_of_the_request
    case_59_scripts_that_fail_are_errors_of_the_request
    case_60_an_abort_before_the_request_logs_nothing
    hooks_see_the_level_of_the_input_as_it_stands
    members_that_call_themselves_come_to_an_end
    names_on_the_wire_and_keys_in_the_registry
    nested_arguments_of_a_derived_schema_are_checked_by_name
    nested_calls_are_noted_in_the_details_of_the_call_around_them
    nested_calls_from_model_code_are_marked
    nested_calls_of_hooks_pass_the_pipeline
    nested_calls_pass_hooks_and_policies
    nested_calls_that_nobody_can_approve_block_the_run
    nested_input_is_modified_where_it_is_plain_data
    nested_refusals_are_errors_in_the_calling_code
    options_changed_in_a_run_do_not_loosen_it
    policies_see_the_raw_arguments_and_the_level_of_the_code_around
    results_are_patched_by_field_and_bad_patches_are_ignored
    secrets_do_not_reach_handlers_piece_by_piece
    sections_and_blocks_that_fail_are_left_out
    session_start_brings_sections_and_blocks
    tools_that_are_not_available_are_left_out
}

#[test]
fn every_table_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut listed: Vec<String> = LISTED.iter().map(|n| (*n).to_owned()).collect();
    listed.sort();
    assert_eq!(files, listed);
}
