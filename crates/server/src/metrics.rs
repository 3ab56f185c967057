//! What an operator watches, in Prometheus' text format. Names begin with `kiosque_`; no label
//! tells of a group, a device, an account or a source. Each counter is looked up once, so that a
//! request costs a few atomic additions.

mod listeners;
mod registry;

use std::time::Duration;

use kiosque_contract::{ActivityReceived, ENDPOINTS};
use kiosque_ingest::stream::OrderCounts;
use kiosque_model::{Refusal, UnixMs};
use kiosque_store::FileSizes;
use prometheus::{IntCounter, IntGauge, Registry, TextEncoder};

use crate::answer::{Failure, FaultKind};
use crate::listener::Audience;
pub(crate) use listeners::Connected;
use listeners::{ListenerCounters, ListenerMetrics};
use registry::{Each, MetricRegistry};

/// What [`Metrics::text`] is.
pub(crate) const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

/// All that is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    gateway: ListenerMetrics,
    operator: ListenerMetrics,
    logins: Each<LoginOutcome>,
    faults: Each<FaultKind>,
    pub(crate) orders: OrderCounters,
    heartbeats_accepted: IntCounter,
    heartbeats_rejected: IntCounter,
    gauges: Gauges,
}

/// What became of orders that came in over the operator's listener.
#[derive(Clone, Debug)]
pub(crate) struct OrderCounters {
    pub(crate) accepted: IntCounter,
    pub(crate) updated: IntCounter,
    pub(crate) unchanged: IntCounter,
    pub(crate) rejected: IntCounter,
}

impl OrderCounters {
    pub(crate) fn add(&self, counts: OrderCounts) {
        self.accepted.inc_by(counts.accepted);
        self.updated.inc_by(counts.updated);
        self.unchanged.inc_by(counts.unchanged);
        self.rejected.inc_by(counts.rejected);
    }
}

/// What is looked at when somebody asks.
#[derive(Debug)]
struct Gauges {
    database_bytes: IntGauge,
    log_bytes: IntGauge,
    heartbeats_waiting: IntGauge,
    streams_open: IntGauge,
    queue_bytes: IntGauge,
}

/// How things stand when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Of a store that has files.
    pub(crate) store: Option<FileSizes>,
    pub(crate) heartbeats_waiting: usize,
    pub(crate) streams_open: usize,
    pub(crate) queue_bytes: usize,
}

/// What became of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoginOutcome {
    Accepted,
    Refused,
    Limited,
    NotAllowed,
    Invalid,
    Failed,
}

const LOGIN_OUTCOMES: [(LoginOutcome, &str); 6] = [
    (LoginOutcome::Accepted, "accepted"),
    (LoginOutcome::Refused, "refused"),
    (LoginOutcome::Limited, "limited"),
    (LoginOutcome::NotAllowed, "not_allowed"),
    (LoginOutcome::Invalid, "invalid"),
    (LoginOutcome::Failed, "failed"),
];

const FAULT_KINDS: [(FaultKind, &str); 4] = [
    (FaultKind::StoreBusy, "store_busy"),
    (FaultKind::StoreFailed, "store_failed"),
    (FaultKind::Overloaded, "overloaded"),
    (FaultKind::Internal, "internal"),
];

impl LoginOutcome {
    fn of<T>(outcome: &Result<T, Failure>) -> LoginOutcome {
        let refusal = match outcome {
            Ok(_) => return LoginOutcome::Accepted,
            Err(Failure::System(_)) => return LoginOutcome::Failed,
            Err(Failure::Refusal(refusal)) => refusal,
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
            | Refusal::TokenInvalid => LoginOutcome::Invalid,
        }
    }
}

impl Metrics {
    /// Everything at zero.
    pub(crate) fn new(operator_paths: &[&'static str], started: UnixMs) -> Metrics {
        let making = MetricRegistry(Registry::new());
        making.constants(started);
        let doors = ListenerCounters::new(&making);
        let (heartbeats_accepted, heartbeats_rejected) = heartbeats(&making);
        Metrics {
            gateway: doors.of(Audience::Gateway, ENDPOINTS.iter().map(|one| one.route)),
            operator: doors.of(Audience::Operator, operator_paths.iter().copied()),
            logins: making.each(
                (
                    "kiosque_logins_total",
                    "Logins, by what became of them: accepted; refused (name or password); \
                     limited (too many failures, the password was not looked at); \
                     not_allowed (no API access, no active group); invalid (no login could be \
                     read); failed (the server's fault).",
                    "outcome",
                ),
                &LOGIN_OUTCOMES,
            ),
            faults: making.each(
                (
                    "kiosque_faults_total",
                    "Requests that the server could not answer: store_busy and store_failed; \
                     overloaded (a limit on concurrent work was reached); internal (a defect, \
                     described in the log).",
                    "kind",
                ),
                &FAULT_KINDS,
            ),
            orders: OrderCounters::new(&making),
            heartbeats_accepted,
            heartbeats_rejected,
            gauges: Gauges::new(&making),
            registry: making.0,
        }
    }

    /// A request of the gateway was answered; `login` says that it was one.
    pub(crate) fn answered(&self, path: &str, outcome: &Result<Vec<u8>, Failure>, took: Duration) {
        self.gateway.answered(path, crate::answer::code(outcome).number(), took);
        if let Err(Failure::System(fault)) = outcome {
            self.faults.count(&fault.kind);
        }
    }

    /// A login was answered.
    pub(crate) fn logged_in<T>(&self, outcome: &Result<T, Failure>) {
        self.logins.count(&LoginOutcome::of(outcome));
    }

    /// A call of the operator's was answered.
    pub(crate) fn called(&self, path: &str, status: u16, fault: Option<FaultKind>, took: Duration) {
        self.operator.answered(path, status.into(), took);
        if let Some(kind) = fault {
            self.faults.count(&kind);
        }
    }

    /// A connection was accepted; it is open until what is returned is dropped.
    pub(crate) fn connected(&self, door: Audience) -> Connected {
        self.door(door).connected()
    }

    /// A connection came to no TLS session.
    pub(crate) fn unsecured(&self, door: Audience) {
        self.door(door).unsecured();
    }

    /// Heartbeats came in.
    pub(crate) fn heard(&self, received: &ActivityReceived) {
        self.heartbeats_accepted.inc_by(received.accepted);
        self.heartbeats_rejected.inc_by(received.rejected_count);
    }

    /// All of it.
    ///
    /// # Errors
    /// It could not be written down.
    pub(crate) fn text(&self, standing: Standing) -> Result<String, Failure> {
        self.gauges.set(standing);
        let text = TextEncoder::new().encode_to_string(&self.registry.gather());
        text.map_err(|error| Failure::internal(&error))
    }

    fn door(&self, door: Audience) -> &ListenerMetrics {
        match door {
            Audience::Gateway => &self.gateway,
            Audience::Operator => &self.operator,
        }
    }
}

fn heartbeats(making: &MetricRegistry) -> (IntCounter, IntCounter) {
    let heartbeats = making.counters(
        "kiosque_heartbeats_total",
        "Heartbeats that came in over the operator's listener, by what became of them.",
        &["outcome"],
    );
    let outcome = |outcome| heartbeats.with_label_values(&[outcome]);
    (outcome("accepted"), outcome("rejected"))
}

impl OrderCounters {
    fn new(making: &MetricRegistry) -> OrderCounters {
        let orders = making.counters(
            "kiosque_orders_received_total",
            "Orders that came in over the operator's listener, by what became of them. Those of \
             `kiosque import` are not among them.",
            &["outcome"],
        );
        let outcome = |outcome| orders.with_label_values(&[outcome]);
        OrderCounters {
            accepted: outcome("accepted"),
            updated: outcome("updated"),
            unchanged: outcome("unchanged"),
            rejected: outcome("rejected"),
        }
    }
}

impl Gauges {
    fn new(making: &MetricRegistry) -> Gauges {
        let store = making.gauges(
            "kiosque_store_bytes",
            "Size of the store's files: the database, and the log of what is not in it yet, which \
             grows while a long read or a backup holds on to the past.",
            &["file"],
        );
        Gauges {
            database_bytes: store.with_label_values(&["database"]),
            log_bytes: store.with_label_values(&["log"]),
            heartbeats_waiting: making.gauge(
                "kiosque_heartbeats_unwritten",
                "Devices of which the latest heartbeat is in memory alone; a crash loses these.",
            ),
            streams_open: making
                .gauge("kiosque_order_streams_open", "Streams of orders that are under way."),
            queue_bytes: making.gauge(
                "kiosque_order_queue_bytes",
                "Text of streamed orders that are being checked or wait to be stored.",
            ),
        }
    }

    fn set(&self, standing: Standing) {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        if let Some(sizes) = standing.store {
            self.database_bytes.set(bytes(sizes.database));
            self.log_bytes.set(bytes(sizes.log));
        }
        self.heartbeats_waiting.set(count(standing.heartbeats_waiting));
        self.streams_open.set(count(standing.streams_open));
        self.queue_bytes.set(count(standing.queue_bytes));
    }
}
