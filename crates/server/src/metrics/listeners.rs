//! The metrics of each listener: connections, handshakes, and requests by path.

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use kiosque_contract::{Code, ENDPOINTS, OPERATOR_CALLS};
use kiosque_listener::{AnswerDurations, ConnectionMetrics};
use prometheus::{Histogram, IntCounter};

use super::registry::{DURATIONS_S, FINE_DURATIONS_S, MetricRegistry};

/// The label for paths and codes that are not in the tables.
const OTHER: &str = "other";

/// The metrics of one listener.
#[derive(Debug)]
pub(super) struct ListenerMetrics {
    paths: Vec<(&'static str, PathMetrics)>,
    elsewhere: PathMetrics,
    pub(super) connections: ConnectionMetrics,
}

#[derive(Debug)]
struct PathMetrics {
    by_code: Vec<(i32, IntCounter)>,
    other: IntCounter,
    duration: Histogram,
}

impl ListenerMetrics {
    /// Returns the metrics of the listeners of integrators and of the operator.
    pub(super) fn of_both(registry: &MetricRegistry) -> [ListenerMetrics; 2] {
        let requests = registry.counters(
            "kiosque_requests_total",
            "Answered requests, by listener, path and code: at the gateway the `code` of the \
             body (200, -1, …; 0 for an unknown path), at the operator's listener the HTTP \
             status.",
            &["listener", "path", "code"],
        );
        let durations = registry.durations(
            "kiosque_request_duration_seconds",
            "Time from the headers of a request to its answer, the transfer of its body \
             included.",
            &["listener", "path"],
            &DURATIONS_S,
        );
        let answer_durations = registry.durations(
            "kiosque_answer_duration_seconds",
            "Time from the first byte of a request to the last byte of its answer passed to \
             the socket. Only requests over HTTP/1.1, without those that were sent before \
             the previous answer.",
            &["listener", "path"],
            &FINE_DURATIONS_S,
        );
        let open = registry.gauges(
            "kiosque_connections_open",
            "Open connections, including those in their TLS handshake.",
            &["listener"],
        );
        let accepted =
            registry.counters("kiosque_connections_total", "Accepted connections.", &["listener"]);
        let refused = registry.counters(
            "kiosque_connections_refused_total",
            "Connections that were closed because their source had the maximum number.",
            &["listener"],
        );
        let handshakes_failed = registry.counters(
            "kiosque_tls_handshakes_failed_total",
            "TLS handshakes that failed: closed by the peer, timed out, or not TLS.",
            &["listener"],
        );
        let listeners: [(_, Vec<&'static str>, Vec<i32>); 2] = [
            (
                "gateway",
                ENDPOINTS.iter().map(|endpoint| endpoint.route).collect(),
                Code::ALL.iter().map(|code| code.number()).collect(),
            ),
            (
                "operator",
                OPERATOR_CALLS.iter().map(|call| call.path).collect(),
                operator_statuses(),
            ),
        ];
        listeners.map(|(name, paths, codes)| {
            let of_path = |path| {
                let counter = |code: &str| requests.with_label_values(&[name, path, code]);
                PathMetrics {
                    by_code: codes.iter().map(|code| (*code, counter(&code.to_string()))).collect(),
                    other: counter(OTHER),
                    duration: durations.with_label_values(&[name, path]),
                }
            };
            let known = paths.iter().copied().chain([OTHER]);
            let answers =
                known.map(|path| (path, answer_durations.with_label_values(&[name, path])));
            ListenerMetrics {
                paths: paths.iter().map(|path| (*path, of_path(path))).collect(),
                elsewhere: of_path(OTHER),
                connections: ConnectionMetrics {
                    open: open.with_label_values(&[name]),
                    accepted: accepted.with_label_values(&[name]),
                    refused: refused.with_label_values(&[name]),
                    handshakes_failed: handshakes_failed.with_label_values(&[name]),
                    answers: AnswerDurations::new(answers),
                },
            }
        })
    }

    pub(super) fn answered(&self, path: &str, code: i32, took: Duration) {
        let known = self.paths.iter().find(|(known, _)| *known == path);
        let of_path = known.map_or(&self.elsewhere, |(_, of_path)| of_path);
        let known = of_path.by_code.iter().find(|(known, _)| *known == code);
        known.map_or(&of_path.other, |(_, counter)| counter).inc();
        of_path.duration.observe(took.as_secs_f64());
    }
}

/// Returns the HTTP statuses of the operator's calls and of requests that are not calls.
fn operator_statuses() -> Vec<i32> {
    let not_a_call = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED];
    let listed = OPERATOR_CALLS.iter().flat_map(|call| call.statuses).copied();
    let all: BTreeSet<u16> = listed.chain(not_a_call.map(|status| status.as_u16())).collect();
    all.into_iter().map(i32::from).collect()
}
