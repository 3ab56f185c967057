//! Devices whose stored rows contradict each other.

use std::collections::BTreeSet;

use kiosque_store::OrderOutcome;

/// Logs each reason for which orders of a batch were rejected because of such a device.
pub(crate) fn log_inconsistent_devices(outcomes: &[OrderOutcome]) {
    let reasons = outcomes.iter().filter_map(|outcome| match outcome {
        OrderOutcome::Inconsistent(reason) => Some(reason.as_str()),
        _ => None,
    });
    for cause in reasons.collect::<BTreeSet<_>>() {
        tracing::error!(cause, "orders of an inconsistent device are rejected");
    }
}
