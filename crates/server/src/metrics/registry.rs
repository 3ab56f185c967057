//! Makes what is counted: each with its name, its help and its labels, once.

use kiosque_model::UnixMs;
use prometheus::core::Collector;
use prometheus::{
    Gauge, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};

/// Upper bounds of the classes of durations, in seconds.
const DURATIONS_S: [f64; 13] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// A registry that is being filled.
pub(super) struct MetricRegistry(pub(super) Registry);

impl MetricRegistry {
    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.kept(IntCounterVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.kept(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.kept(IntGauge::new(name, help))
    }

    pub(super) fn durations(&self, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
        let opts = HistogramOpts::new(name, help).buckets(DURATIONS_S.to_vec());
        self.kept(HistogramVec::new(opts, labels))
    }

    /// The counters of one name, one for each value of its only label.
    pub(super) fn each<K: Copy>(
        &self,
        (name, help, label): (&str, &str, &str),
        values: &[(K, &str)],
    ) -> Each<K> {
        let counters = self.counters(name, help, &[label]);
        let counter = |(key, value): &(K, &str)| (*key, counters.with_label_values(&[value]));
        Each(values.iter().map(counter).collect())
    }

    /// What stays as it is: which program this is, and since when it runs.
    pub(super) fn constants(&self, started: UnixMs) {
        let info = "The program that runs; always 1.";
        let info = self.gauges("kiosque_build_info", info, &["version"]);
        info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let start = Gauge::new(
            "kiosque_start_time_seconds",
            "When the server started, in seconds since 1970; `time() - this` is its uptime.",
        );
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds of our time fit into 53 bits"
        )]
        self.kept(start).set(started.0 as f64 / 1_000.0);
    }

    fn kept<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let made = made.expect("its name and its labels are written here, and are valid");
        let kept = self.0.register(Box::new(made.clone()));
        kept.expect("its name is written once");
        made
    }
}

/// Counters of one name, by what they count.
#[derive(Debug)]
pub(super) struct Each<K>(Vec<(K, IntCounter)>);

impl<K: PartialEq> Each<K> {
    /// The counter of what `key` stands for, if there is one.
    pub(super) fn of(&self, key: &K) -> Option<&IntCounter> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, counter)| counter)
    }

    pub(super) fn count(&self, key: &K) {
        if let Some(counter) = self.of(key) {
            counter.inc();
        }
    }
}
