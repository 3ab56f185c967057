//! Durations of answers: from the first byte of a request to the last byte of its answer.

use std::sync::Arc;
use std::time::Duration;

use prometheus::Histogram;

/// The histograms of a listener, by path. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AnswerDurations(Arc<[(&'static str, Histogram)]>);

/// The index of a path among the paths of a listener.
pub(crate) type PathIndex = usize;

impl AnswerDurations {
    /// Returns the durations of answers by path. The last histogram is for all unlisted paths.
    pub fn new(paths: impl Iterator<Item = (&'static str, Histogram)>) -> AnswerDurations {
        AnswerDurations(paths.collect())
    }

    pub(crate) fn index(&self, path: &str) -> PathIndex {
        let known = self.0.iter().position(|(known, _)| *known == path);
        known.unwrap_or_else(|| self.0.len().saturating_sub(1))
    }

    /// Counts an answer.
    pub(crate) fn observe(&self, path: PathIndex, took: Duration) {
        if let Some((_, histogram)) = self.0.get(path) {
            histogram.observe(took.as_secs_f64());
        }
    }
}
