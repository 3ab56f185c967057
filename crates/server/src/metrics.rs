//! Metrics in the text format of Prometheus. Names begin with `kiosque_`; no label reveals a group,
//! a device, an account or a source. The counters of requests are looked up once, so that a request
//! costs a few atomic additions.

mod listeners;
mod registry;

use std::time::Duration;

use kiosque_contract::operator_call::{Readyz, ReadyzOrders};
use kiosque_contract::{Code, OperatorCall};
use kiosque_ingest::stream::StreamIntake;
use kiosque_listener::ConnectionMetrics;
use kiosque_model::intake::OrderCounts;
use kiosque_model::{Refusal, UnixMs};
use kiosque_store::Store;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Registry, TextEncoder};
use strum::{IntoStaticStr, VariantArray};

use crate::audience::Audience;
use crate::failure::{Failure, FailureKind};
use listeners::ListenerMetrics;
use registry::MetricRegistry;

/// Every metric of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// The time of the start.
    pub(crate) started: UnixMs,
    registry: Registry,
    gateway: ListenerMetrics,
    operator: ListenerMetrics,
    /// Logins by [`LoginOutcome`].
    logins: IntCounterVec,
    /// Failures of the server by [`FailureKind`].
    faults: IntCounterVec,
    /// Streamed orders by outcome, one of [`ORDER_OUTCOMES`].
    orders: IntCounterVec,
    /// Heartbeats by outcome, one of [`HEARTBEAT_OUTCOMES`].
    heartbeats: IntCounterVec,
    /// The result of each health check, by its path.
    ready: IntGaugeVec,
}

/// The outcomes of streamed orders.
const ORDER_OUTCOMES: [&str; 4] = ["accepted", "updated", "unchanged", "rejected"];
/// The outcomes of heartbeats.
const HEARTBEAT_OUTCOMES: [&str; 2] = ["accepted", "rejected"];

/// The outcome of a login.
#[derive(Clone, Copy, Debug, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
enum LoginOutcome {
    Accepted,
    Refused,
    Limited,
    NotAllowed,
    Invalid,
    Failed,
}

impl LoginOutcome {
    fn of<T>(outcome: &Result<T, Failure>) -> LoginOutcome {
        match outcome {
            Ok(_) => LoginOutcome::Accepted,
            Err(Failure::Refusal(refusal)) => match refusal {
                Refusal::Credentials => LoginOutcome::Refused,
                Refusal::TooManyFailures { .. } => LoginOutcome::Limited,
                Refusal::ApiNotEnabled | Refusal::NoGroup => LoginOutcome::NotAllowed,
                Refusal::Invalid(_)
                | Refusal::Unreadable(_)
                | Refusal::NotFound
                | Refusal::GroupClosed
                | Refusal::OutOfScope
                | Refusal::OrderUnknown
                | Refusal::TokenMissing
                | Refusal::TokenInvalid
                | Refusal::SessionExpired => LoginOutcome::Invalid,
            },
            Err(_) => LoginOutcome::Failed,
        }
    }
}

impl Metrics {
    /// Returns metrics at zero.
    pub(crate) fn new(started: UnixMs) -> Metrics {
        let registry = MetricRegistry(Registry::new());
        registry.constants(started);
        let [gateway, operator] = ListenerMetrics::of_both(&registry);
        Metrics {
            started,
            gateway,
            operator,
            logins: registry.each(
                "kiosque_logins_total",
                "Logins, by outcome: accepted; refused (wrong name or password); limited (too \
                 many failures, the password was not checked); not_allowed (no API access \
                 or no active group); invalid (the request could not be read); failed \
                 (the server failed).",
                "outcome",
                LoginOutcome::VARIANTS.iter().copied(),
            ),
            faults: registry.each(
                "kiosque_faults_total",
                "Requests that the server could not answer: store_busy and store_failed; \
                 damaged_order (the checksum of a stored order is wrong); \
                 too_much_work (a read took too long, or its account had too many at a time); \
                 overloaded (a limit on concurrent work was reached); internal (a defect, \
                 described in the log).",
                "kind",
                FailureKind::VARIANTS.iter().copied(),
            ),
            orders: registry.each(
                "kiosque_orders_received_total",
                "Orders received by the operator's listener, by outcome. Orders of `kiosque \
                 import` are not counted.",
                "outcome",
                ORDER_OUTCOMES,
            ),
            heartbeats: registry.each(
                "kiosque_heartbeats_total",
                "Heartbeats received by the operator's listener, by outcome.",
                "outcome",
                HEARTBEAT_OUTCOMES,
            ),
            ready: ready(&registry),
            registry: registry.0,
        }
    }

    /// Counts an answer of the gateway.
    pub(crate) fn answered(&self, path: &str, code: Code, took: Duration) {
        self.gateway.answered(path, code.number(), took);
    }

    /// Counts a failure of the server.
    pub(crate) fn failed(&self, kind: FailureKind) {
        self.faults_of(kind).inc();
    }

    /// Returns the number of requests that failed by overload, with the label of their kind.
    pub(crate) fn overload(&self) -> [(&'static str, u64); FailureKind::OVERLOAD.len()] {
        FailureKind::OVERLOAD.map(|kind| (kind.into(), self.faults_of(kind).get()))
    }

    /// Returns the number of requests that needed a damaged stored order.
    pub(crate) fn damaged_orders(&self) -> u64 {
        self.faults_of(FailureKind::DamagedOrder).get()
    }

    fn faults_of(&self, kind: FailureKind) -> IntCounter {
        let label: &str = kind.into();
        self.faults.with_label_values(&[label])
    }

    /// Counts the outcome of a login.
    pub(crate) fn logged_in<T>(&self, outcome: &Result<T, Failure>) {
        let label: &str = LoginOutcome::of(outcome).into();
        self.logins.with_label_values(&[label]).inc();
    }

    /// Counts an answer to the operator.
    pub(crate) fn called(&self, path: &str, status: u16, took: Duration) {
        self.operator.answered(path, status.into(), took);
    }

    /// Returns the metrics of the connections of an audience.
    pub(crate) fn connections(&self, audience: Audience) -> ConnectionMetrics {
        let metrics = match audience {
            Audience::Gateway => &self.gateway,
            Audience::Operator => &self.operator,
        };
        metrics.connections.clone()
    }

    /// Records whether a readiness check succeeds, by its path and its result. Returns the previous
    /// value.
    pub(crate) fn set_ready<T, E>(&self, path: &str, checked: &Result<T, E>) -> bool {
        let gauge = self.ready.with_label_values(&[path]);
        let before = gauge.get();
        gauge.set(i64::from(checked.is_ok()));
        before == 1
    }

    /// Counts streamed orders.
    pub(crate) fn received(&self, counts: OrderCounts) {
        let OrderCounts { accepted, updated, unchanged, rejected } = counts;
        count(&self.orders, ORDER_OUTCOMES, [accepted, updated, unchanged, rejected]);
    }

    /// Counts accepted and rejected heartbeats.
    pub(crate) fn heard(&self, counts: [u64; 2]) {
        count(&self.heartbeats, HEARTBEAT_OUTCOMES, counts);
    }

    /// Returns every metric as text.
    ///
    /// # Errors
    /// The encoder failed.
    pub(crate) fn text(
        &self,
        store: &Store,
        intake: &StreamIntake,
        certificate_end: Option<UnixMs>,
    ) -> Result<String, Failure> {
        let mut families = self.registry.gather();
        families.extend(current(store, intake, certificate_end).gather());
        families.sort_by(|one, other| one.name().cmp(other.name()));
        let text = TextEncoder::new().encode_to_string(&families);
        text.map_err(|error| Failure::internal(&error))
    }
}

/// Adds the number of each outcome to its counter.
fn count<const N: usize>(counters: &IntCounterVec, outcomes: [&str; N], counts: [u64; N]) {
    for (outcome, count) in outcomes.iter().zip(counts) {
        counters.with_label_values(&[outcome]).inc_by(count);
    }
}

/// Returns a gauge for each readiness check, which is expected to succeed at first.
fn ready(registry: &MetricRegistry) -> IntGaugeVec {
    let ready = registry.gauges(
        "kiosque_ready",
        "Whether a readiness check succeeded in the last second, by its path: 1 or 0.",
        &["path"],
    );
    for path in [Readyz::PATH, ReadyzOrders::PATH] {
        ready.with_label_values(&[path]).set(1);
    }
    ready
}

/// Returns the metrics whose values other parts of the server have. Those of files are absent with
/// PostgreSQL.
fn current(store: &Store, intake: &StreamIntake, certificate_end: Option<UnixMs>) -> Registry {
    let registry = MetricRegistry(Registry::new());
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let gauge = |name, help, value| registry.gauge(name, help).set(value);
    if let Some(sizes) = store.engine().file_sizes() {
        let files = registry.gauges(
            "kiosque_store_bytes",
            "Size of the store's files: the database and the write-ahead log, which grows while a \
             long read or a backup needs an old snapshot; absent with PostgreSQL.",
            &["file"],
        );
        files.with_label_values(&["database"]).set(bytes(sizes.database));
        files.with_label_values(&["log"]).set(bytes(sizes.log));
        gauge(
            "kiosque_store_free_bytes",
            "Free bytes of the data's file system for this program; absent with PostgreSQL.",
            bytes(sizes.free),
        );
    }
    if let Some(end) = certificate_end {
        gauge(
            "kiosque_certificate_not_after_seconds",
            "End of the certificate in use, in seconds since 1970.",
            end.0.div_euclid(1_000),
        );
    }
    gauge(
        "kiosque_heartbeats_unwritten",
        "Devices whose latest heartbeat is not written yet; a crash loses these heartbeats.",
        count(store.intake().unwritten_activity()),
    );
    gauge(
        "kiosque_requests_waiting",
        "Requests that wait for changes of orders.",
        count(store.orders().waiting_followers()),
    );
    let look_ups = registry.counter(
        "kiosque_change_look_ups_total",
        "Look-ups for waiting requests: at most one a second, and none while no request waits.",
    );
    look_ups.inc_by(store.orders().look_ups());
    gauge("kiosque_order_streams_open", "Open streams of orders.", count(intake.streams_open()));
    gauge(
        "kiosque_order_queue_bytes",
        "Bytes of streamed orders that are being validated or wait to be stored.",
        count(intake.queue_bytes()),
    );
    registry.0
}
