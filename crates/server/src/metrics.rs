//! Metrics in the text format of Prometheus. Names begin with `kiosque_`; no label reveals a group,
//! a device, an account or a source. Each counter is looked up once, so that a request costs a few
//! atomic additions.

mod listeners;
mod registry;

use std::time::Duration;

use kiosque_contract::operator_call::{Readyz, ReadyzOrders};
use kiosque_contract::{ActivityReceived, Code, ENDPOINTS, OPERATOR_CALLS, OperatorCall};
use kiosque_ingest::stream::StreamIntake;
use kiosque_listener::ConnectionMetrics;
use kiosque_model::intake::OrderCounts;
use kiosque_model::{Refusal, UnixMs};
use kiosque_store::Store;
use prometheus::{IntCounter, IntGauge, IntGaugeVec, Registry, TextEncoder};
use strum::{IntoStaticStr, VariantArray};

use crate::audience::Audience;
use crate::failure::{Failure, FailureKind};
use listeners::{ListenerCounters, ListenerMetrics};
use registry::{Each, MetricRegistry};

/// Every metric of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// The time of the start.
    pub(crate) started: UnixMs,
    registry: Registry,
    gateway: ListenerMetrics,
    operator: ListenerMetrics,
    logins: Each<LoginOutcome>,
    faults: Each<FailureKind>,
    /// New, changed, already stored, and rejected ones.
    orders: [IntCounter; 4],
    /// Accepted and rejected ones.
    heartbeats: [IntCounter; 2],
    gauges: Gauges,
    ready: Vec<(&'static str, IntGauge)>,
}

/// Gauges that are set when metrics are read.
#[derive(Debug)]
struct Gauges {
    store_bytes: IntGaugeVec,
    /// Without labels; absent until it is set.
    free_bytes: IntGaugeVec,
    /// The same.
    certificate_not_after_s: IntGaugeVec,
    heartbeats_waiting: IntGauge,
    requests_waiting: IntGauge,
    change_look_ups: IntCounter,
    streams_open: IntGauge,
    queue_bytes: IntGauge,
}

/// The outcome of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
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
        let refusal = match outcome {
            Ok(_) => return LoginOutcome::Accepted,
            Err(Failure::Refusal(refusal)) => refusal,
            Err(_) => return LoginOutcome::Failed,
        };
        match refusal {
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
        }
    }
}

impl Metrics {
    /// Returns metrics at zero.
    pub(crate) fn new(started: UnixMs) -> Metrics {
        let registry = MetricRegistry(Registry::new());
        registry.constants(started);
        let listeners = ListenerCounters::new(&registry);
        Metrics {
            started,
            gateway: listeners.of(Audience::Gateway, ENDPOINTS.iter().map(|one| one.route)),
            operator: listeners.of(Audience::Operator, OPERATOR_CALLS.iter().map(|one| one.path)),
            logins: registry.each(
                "kiosque_logins_total",
                "Logins, by outcome: accepted; refused (wrong name or password); limited (too \
                 many failures, the password was not checked); not_allowed (no API access \
                 or no active group); invalid (the request could not be read); failed \
                 (the server failed).",
                "outcome",
            ),
            faults: registry.each(
                "kiosque_faults_total",
                "Requests that the server could not answer: store_busy and store_failed; \
                 damaged_order (the checksum of a stored order is wrong); \
                 too_much_work (a read took too long, or its account had too many at a time); \
                 overloaded (a limit on concurrent work was reached); internal (a defect, \
                 described in the log).",
                "kind",
            ),
            orders: registry.by_outcome(
                "kiosque_orders_received_total",
                "Orders received by the operator's listener, by outcome. Orders of `kiosque \
                 import` are not counted.",
                ["accepted", "updated", "unchanged", "rejected"],
            ),
            heartbeats: registry.by_outcome(
                "kiosque_heartbeats_total",
                "Heartbeats received by the operator's listener, by outcome.",
                ["accepted", "rejected"],
            ),
            gauges: Gauges::new(&registry),
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
        self.faults.count(&kind);
    }

    /// Returns the number of requests that failed by overload, with the label of their kind.
    pub(crate) fn overload(&self) -> [(&'static str, u64); FailureKind::OVERLOAD.len()] {
        FailureKind::OVERLOAD.map(|kind| {
            let count = self.faults.of(&kind).map_or(0, IntCounter::get);
            (kind.into(), count)
        })
    }

    /// Returns the number of requests that needed a damaged stored order.
    pub(crate) fn damaged_orders(&self) -> u64 {
        self.faults.of(&FailureKind::DamagedOrder).map_or(0, IntCounter::get)
    }

    /// Counts the outcome of a login.
    pub(crate) fn logged_in<T>(&self, outcome: &Result<T, Failure>) {
        self.logins.count(&LoginOutcome::of(outcome));
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
        let known = self.ready.iter().find(|(known, _)| *known == path);
        known.is_none_or(|(_, gauge)| {
            let before = gauge.get();
            gauge.set(i64::from(checked.is_ok()));
            before == 1
        })
    }

    /// Counts streamed orders.
    pub(crate) fn received(&self, counts: OrderCounts) {
        let OrderCounts { accepted, updated, unchanged, rejected } = counts;
        let counts = [accepted, updated, unchanged, rejected];
        self.orders.iter().zip(counts).for_each(|(counter, count)| counter.inc_by(count));
    }

    /// Counts heartbeats.
    pub(crate) fn heard(&self, received: &ActivityReceived) {
        let [accepted, rejected] = &self.heartbeats;
        accepted.inc_by(received.accepted);
        rejected.inc_by(received.rejected_count);
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
        self.gauges.set(store, intake, certificate_end);
        let text = TextEncoder::new().encode_to_string(&self.registry.gather());
        text.map_err(|error| Failure::internal(&error))
    }
}

/// Returns a gauge for each readiness check, which is expected to succeed at first.
fn ready(registry: &MetricRegistry) -> Vec<(&'static str, IntGauge)> {
    let ready = registry.gauges(
        "kiosque_ready",
        "Whether a readiness check succeeded in the last second, by its path: 1 or 0.",
        &["path"],
    );
    let of = |path| {
        let gauge = ready.with_label_values(&[path]);
        gauge.set(1);
        (path, gauge)
    };
    [Readyz::PATH, ReadyzOrders::PATH].map(of).into()
}

impl Gauges {
    fn new(registry: &MetricRegistry) -> Gauges {
        Gauges {
            store_bytes: registry.gauges(
                "kiosque_store_bytes",
                "Size of the store's files: the database and the write-ahead log, which grows \
                 while a long read or a backup needs an old snapshot; absent with PostgreSQL.",
                &["file"],
            ),
            free_bytes: registry.gauges(
                "kiosque_store_free_bytes",
                "Free bytes of the data's file system for this program; absent with PostgreSQL.",
                &[],
            ),
            certificate_not_after_s: registry.gauges(
                "kiosque_certificate_not_after_seconds",
                "End of the certificate in use, in seconds since 1970.",
                &[],
            ),
            heartbeats_waiting: registry.gauge(
                "kiosque_heartbeats_unwritten",
                "Devices whose latest heartbeat is not written yet; a crash loses these \
                 heartbeats.",
            ),
            requests_waiting: registry
                .gauge("kiosque_requests_waiting", "Requests that wait for changes of orders."),
            change_look_ups: registry.counter(
                "kiosque_change_look_ups_total",
                "Look-ups for waiting requests: at most one a second, and none while no request \
                 waits.",
            ),
            streams_open: registry.gauge("kiosque_order_streams_open", "Open streams of orders."),
            queue_bytes: registry.gauge(
                "kiosque_order_queue_bytes",
                "Text of streamed orders that are being validated or wait to be stored.",
            ),
        }
    }

    fn set(&self, store: &Store, intake: &StreamIntake, certificate_end: Option<UnixMs>) {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        // A store in PostgreSQL has no files.
        if let Some(sizes) = store.file_sizes() {
            for (file, size) in [("database", sizes.database), ("log", sizes.log)] {
                self.store_bytes.with_label_values(&[file]).set(bytes(size));
            }
            self.free_bytes.with_label_values::<&str>(&[]).set(bytes(sizes.free));
        }
        if let Some(end) = certificate_end {
            let gauge = self.certificate_not_after_s.with_label_values::<&str>(&[]);
            gauge.set(end.0.div_euclid(1_000));
        }
        self.heartbeats_waiting.set(count(store.intake().unwritten_activity()));
        self.requests_waiting.set(count(store.orders().waiting_followers()));
        let known = self.change_look_ups.get();
        self.change_look_ups.inc_by(store.orders().look_ups().saturating_sub(known));
        self.streams_open.set(count(intake.streams_open()));
        self.queue_bytes.set(count(intake.queue_bytes()));
    }
}
