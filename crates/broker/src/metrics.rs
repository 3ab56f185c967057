//! The metrics of the broker, for Prometheus.

use std::sync::Mutex;

use kiosque_clock::Clock;
use kiosque_model::UnixMs;
use prometheus::core::Collector;
use prometheus::{Histogram, HistogramOpts, IntCounter, Registry};

use crate::upstream::Upstream;

/// The bounds of the histograms, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// The metrics of the broker.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) registry: Registry,
    pub(crate) evictions: IntCounter,
    pub(crate) last_eviction: Mutex<Option<UnixMs>>,
    pub(crate) lane_wait: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let registry = Registry::new();
        let evictions = counter(
            &registry,
            "kiosque_broker_evictions_total",
            "Sessions that other users of the account have replaced.",
        );
        let lane_wait = histogram(
            &registry,
            "kiosque_broker_lane_wait_seconds",
            "Time that calls waited until their group had the session.",
        );
        Metrics { registry, evictions, last_eviction: Mutex::default(), lane_wait }
    }

    /// Returns the observer of the server, with its metrics.
    pub(crate) fn upstream(&self, clock: Clock) -> Upstream {
        let log_ins = counter(
            &self.registry,
            "kiosque_broker_logins_total",
            "Logins that were sent to the server.",
        );
        let switches = counter(
            &self.registry,
            "kiosque_broker_switches_total",
            "Switches that were sent to the server.",
        );
        let seconds = histogram(
            &self.registry,
            "kiosque_broker_upstream_seconds",
            "Time until the server answered.",
        );
        Upstream::new(log_ins, switches, seconds, clock)
    }
}

fn counter(registry: &Registry, name: &str, help: &str) -> IntCounter {
    registered(registry, IntCounter::new(name, help).expect("the name is valid"))
}

fn histogram(registry: &Registry, name: &str, help: &str) -> Histogram {
    let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
    registered(registry, Histogram::with_opts(options).expect("the name is valid"))
}

fn registered<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> C {
    registry.register(Box::new(metric.clone())).expect("each name is registered once");
    metric
}
