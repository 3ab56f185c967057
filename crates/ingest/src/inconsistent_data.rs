//! Stored data that is damaged or contradicts itself.

use std::collections::BTreeSet;

use kiosque_store::OrderOutcome;

/// Logs each reason for which orders of a batch were rejected because of such data.
pub(crate) fn log_inconsistent_data(outcomes: &[OrderOutcome]) {
    let reasons = outcomes.iter().filter_map(|outcome| match outcome {
        OrderOutcome::Inconsistent(reason) => Some(reason.as_str()),
        _ => None,
    });
    for cause in reasons.collect::<BTreeSet<_>>() {
        tracing::error!(cause, "orders are rejected because of inconsistent stored data");
    }
}
