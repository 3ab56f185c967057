//! Every limit is a setting, and every limit is reached by a test.

mod connections;
mod dashboards;
pub(crate) mod failures;
mod logins;
mod requests;
mod shutdown;

use clap::Args;
use kiosque_model::Limits;

use crate::abuse::{slow_clients, stalled_clients};
use crate::changes::waiting;
use crate::dashboard::large;
use crate::operator::{orders, overload};

/// Each limit, and the test that reaches it.
const HIT_BY: [(&str, fn()); 34] = [
    ("body_max_bytes", requests::a_body_is_taken_up_to_its_limit),
    ("json_max_depth", requests::json_nests_up_to_its_limit),
    ("page_size_max", requests::a_page_is_as_large_as_its_limit),
    ("dashboard_days_max", dashboards::a_range_is_as_long_as_its_limit),
    ("dashboard_work_max", dashboards::sales_of_devices_are_summed_up_to_a_limit),
    ("device_codes_max", dashboards::a_filter_names_as_many_devices_as_its_limit),
    ("header_max_bytes", requests::headers_are_taken_up_to_their_limit),
    ("connections_max", connections::one_connection_too_many_waits_for_its_turn),
    ("connections_per_source_max", connections::one_source_cannot_take_every_connection),
    ("http2_streams_max", connections::one_stream_too_many_is_refused),
    ("unsent_max_bytes", stalled_clients::a_caller_that_does_not_read_gets_no_further_answers),
    (
        "unread_answers_max_bytes",
        stalled_clients::answers_that_an_account_does_not_read_are_bounded,
    ),
    ("large_answers_max_bytes", large::large_answers_of_an_account_wait_for_each_other),
    ("change_waits_per_account_max", waiting::an_account_has_a_share_of_waiting_requests),
    ("tls_handshake_deadline", slow_clients::slow_clients_that_say_nothing_are_closed),
    (
        "first_byte_deadline",
        slow_clients::slow_clients_that_fall_silent_after_the_handshake_are_closed,
    ),
    ("header_deadline", slow_clients::slow_clients_that_dribble_headers_are_closed),
    ("body_deadline", slow_clients::slow_clients_that_dribble_a_body_are_answered_and_closed),
    ("idle_deadline", slow_clients::slow_clients_that_rest_too_long_are_closed),
    ("hash_slots", logins::as_many_hashes_at_a_time_as_there_are_slots),
    ("hash_queue", logins::a_login_beyond_the_queue_is_refused_at_once),
    ("hash_wait", logins::a_login_waits_for_its_turn_up_to_its_limit),
    ("login_failures_free", failures::a_source_may_fail_so_often_and_then_waits),
    ("login_failure_refill", failures::a_source_may_fail_so_often_and_then_waits),
    ("login_failures_unknown_free", failures::all_strangers_together_may_fail_so_often),
    ("login_failure_unknown_refill", failures::all_strangers_together_may_fail_so_often),
    ("login_failures_kept", failures::more_names_than_the_maximum_free_no_name),
    ("store_wait", logins::a_login_waits_for_the_store_up_to_its_limit),
    ("shutdown_deadline", shutdown::a_stop_waits_up_to_its_limit),
    ("fleet_body_max_bytes", overload::a_fleet_is_taken_up_to_its_limit),
    ("ingest_streams_max", overload::one_stream_too_many_is_refused_at_once),
    ("ingest_queue_max_bytes", overload::what_waits_is_bounded),
    ("ingest_threads", overload::as_many_threads_at_a_time_as_there_may_be),
    ("order_lead_max", orders::an_order_dated_far_ahead_is_rejected),
];

#[test]
fn every_limit_is_hit_by_a_test() {
    let limits = Limits::augment_args(clap::Command::new(""));
    let limits: Vec<&str> = limits.get_arguments().map(|limit| limit.get_id().as_str()).collect();
    assert_eq!(HIT_BY.map(|(limit, _)| limit).as_slice(), limits);
}
