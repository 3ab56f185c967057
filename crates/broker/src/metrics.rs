//! The metrics of the broker, for Prometheus.

use std::sync::Mutex;

use kiosque_model::UnixMs;
use prometheus::core::Collector;
use prometheus::{Histogram, HistogramOpts, IntCounter, Registry};

/// The bounds of the histograms, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// The metrics of the broker.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) registry: Registry,
    pub(crate) log_ins: IntCounter,
    pub(crate) switches: IntCounter,
    pub(crate) evictions: IntCounter,
    pub(crate) last_eviction: Mutex<Option<UnixMs>>,
    pub(crate) lane_wait: Histogram,
    pub(crate) upstream: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| {
            registered(&registry, IntCounter::new(name, help).expect("the name is valid"))
        };
        let histogram = |name: &str, help: &str| {
            let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
            registered(&registry, Histogram::with_opts(options).expect("the name is valid"))
        };
        Metrics {
            log_ins: counter("kiosque_broker_logins_total", "Logins that were sent to the server."),
            switches: counter(
                "kiosque_broker_switches_total",
                "Switches that were sent to the server.",
            ),
            evictions: counter(
                "kiosque_broker_evictions_total",
                "Sessions that other users of the account have replaced.",
            ),
            last_eviction: Mutex::default(),
            lane_wait: histogram(
                "kiosque_broker_lane_wait_seconds",
                "Time that calls waited until their group had the session.",
            ),
            upstream: histogram(
                "kiosque_broker_upstream_seconds",
                "Time until the server answered.",
            ),
            registry,
        }
    }
}

fn registered<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> C {
    registry.register(Box::new(metric.clone())).expect("each name is registered once");
    metric
}
