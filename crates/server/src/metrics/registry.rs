//! Creates metrics, each with its name, its help text and its labels.

use kiosque_model::UnixMs;
use prometheus::core::Collector;
use prometheus::{
    Gauge, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};

/// Upper bounds of the buckets of durations, in seconds.
pub(super) const DURATIONS_S: [f64; 13] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Upper bounds of the buckets of durations whose shortest values are compared, in seconds.
pub(super) const FINE_DURATIONS_S: [f64; 20] = [
    0.000_05, 0.000_1, 0.000_15, 0.000_2, 0.000_3, 0.000_4, 0.000_6, 0.000_8, 0.001, 0.001_5,
    0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 10.0,
];

/// A registry under construction.
pub(super) struct MetricRegistry(pub(super) Registry);

impl MetricRegistry {
    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.registered(IntCounterVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.registered(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn counter(&self, name: &str, help: &str) -> IntCounter {
        self.registered(IntCounter::new(name, help))
    }

    /// Returns the counters with one name, at zero for each of the values of their only label.
    pub(super) fn each<V: Into<&'static str>>(
        &self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = V>,
    ) -> IntCounterVec {
        let counters = self.counters(name, help, &[label]);
        for value in values {
            let value: &str = value.into();
            counters.with_label_values(&[value]);
        }
        counters
    }

    pub(super) fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.registered(IntGauge::new(name, help))
    }

    pub(super) fn durations(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        bounds: &[f64],
    ) -> HistogramVec {
        let opts = HistogramOpts::new(name, help).buckets(bounds.to_vec());
        self.registered(HistogramVec::new(opts, labels))
    }

    /// Adds the metrics that never change: the version, and the time of the start.
    pub(super) fn constants(&self, started: UnixMs) {
        let info = "The version of the program; always 1.";
        let info = self.gauges("kiosque_build_info", info, &["version"]);
        info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let start = Gauge::new(
            "kiosque_start_time_seconds",
            "Start time of the server, in seconds since 1970; `time() - this` is its uptime.",
        );
        #[expect(
            clippy::cast_precision_loss,
            reason = "Unix milliseconds of this era fit into 53 bits"
        )]
        self.registered(start).set(started.0 as f64 / 1_000.0);
    }

    fn registered<C: Collector + Clone + 'static>(&self, metric: prometheus::Result<C>) -> C {
        let metric = metric.expect("names and labels are constants, and valid");
        let registered = self.0.register(Box::new(metric.clone()));
        registered.expect("each name is registered once");
        metric
    }
}
