//! What happens at each listener: connections, handshakes, and requests by path.

use std::time::Duration;

use http::StatusCode;
use kiosque_contract::Code;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use super::registry::MetricRegistry;
use crate::listener::Audience;

/// The label of what is not one of a fixed set.
const OTHER: &str = "other";

/// HTTP statuses that the operator's calls answer with.
const STATUSES: [StatusCode; 11] = [
    StatusCode::OK,
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNPROCESSABLE_ENTITY,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// The counters of all listeners.
pub(super) struct ListenerCounters {
    requests: IntCounterVec,
    durations: HistogramVec,
    open: IntGaugeVec,
    accepted: IntCounterVec,
    unsecured: IntCounterVec,
}

/// The counters of one.
#[derive(Debug)]
pub(super) struct ListenerMetrics {
    paths: Vec<(&'static str, PathMetrics)>,
    elsewhere: PathMetrics,
    open: IntGauge,
    accepted: IntCounter,
    unsecured: IntCounter,
}

#[derive(Debug)]
struct PathMetrics {
    by_code: Vec<(i32, IntCounter)>,
    other: IntCounter,
    duration: Histogram,
}

impl ListenerCounters {
    pub(super) fn new(making: &MetricRegistry) -> ListenerCounters {
        ListenerCounters {
            requests: making.counters(
                "kiosque_requests_total",
                "Requests that were answered, by listener, path and code: at the gateway the \
                 `code` of the body (200, -1, …; 0 for an unknown path), at the operator's \
                 listener the HTTP status.",
                &["door", "path", "code"],
            ),
            durations: making.durations(
                "kiosque_request_duration_seconds",
                "From a request's headers to its answer, with the time that its body took to \
                 arrive.",
                &["door", "path"],
            ),
            open: making.gauges(
                "kiosque_connections_open",
                "Connections that are open, those in their TLS handshake among them.",
                &["door"],
            ),
            accepted: making.counters(
                "kiosque_connections_total",
                "Connections that were accepted.",
                &["door"],
            ),
            unsecured: making.counters(
                "kiosque_tls_handshakes_failed_total",
                "Connections that came to no TLS session: closed, late, or talking otherwise.",
                &["door"],
            ),
        }
    }

    pub(super) fn of(
        &self,
        door: Audience,
        paths: impl Iterator<Item = &'static str>,
    ) -> ListenerMetrics {
        let (name, codes): (_, Vec<i32>) = match door {
            Audience::Gateway => ("gateway", Code::ALL.map(Code::number).into()),
            Audience::Operator => {
                ("operator", STATUSES.map(|status| status.as_u16().into()).into())
            }
        };
        let path = |path| self.path(name, path, &codes);
        ListenerMetrics {
            paths: paths.map(|known| (known, path(known))).collect(),
            elsewhere: path(OTHER),
            open: self.open.with_label_values(&[name]),
            accepted: self.accepted.with_label_values(&[name]),
            unsecured: self.unsecured.with_label_values(&[name]),
        }
    }

    fn path(&self, door: &str, path: &str, codes: &[i32]) -> PathMetrics {
        let counter = |code: &str| self.requests.with_label_values(&[door, path, code]);
        PathMetrics {
            by_code: codes.iter().map(|code| (*code, counter(&code.to_string()))).collect(),
            other: counter(OTHER),
            duration: self.durations.with_label_values(&[door, path]),
        }
    }
}

impl ListenerMetrics {
    pub(super) fn answered(&self, path: &str, code: i32, took: Duration) {
        let known = self.paths.iter().find(|(known, _)| *known == path);
        let of_path = known.map_or(&self.elsewhere, |(_, of_path)| of_path);
        let known = of_path.by_code.iter().find(|(known, _)| *known == code);
        known.map_or(&of_path.other, |(_, counter)| counter).inc();
        of_path.duration.observe(took.as_secs_f64());
    }

    pub(super) fn unsecured(&self) {
        self.unsecured.inc();
    }

    pub(super) fn connected(&self) -> Connected {
        self.accepted.inc();
        self.open.inc();
        Connected(self.open.clone())
    }
}

/// A connection that is open until this is dropped.
#[derive(Debug)]
pub(crate) struct Connected(IntGauge);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}
