//! Failures of the server in the log. Requests that fail for the same cause, such as a database
//! that is down, are counted after the first one, so that they cannot fill the log.

use std::sync::Mutex;

use kiosque_locks::lock_ignoring_poison;

use crate::failure::FailureKind;

/// Causes that are counted separately in a second. A further one replaces the last.
const CAUSES_MAX: usize = 16;

/// The recently logged failures of the store.
#[derive(Debug, Default)]
pub(crate) struct FailureLog(Mutex<Vec<Logged>>);

/// A logged cause, and the failures for it since.
#[derive(Debug)]
struct Logged {
    message: String,
    cause: String,
    /// The last request.
    request_id: String,
    /// Requests that are not in the log yet.
    requests: u64,
}

impl FailureLog {
    /// Logs a failure. A failure by overload, and one of the store for a cause that was logged in
    /// the last second, is only logged at the level `debug`: [`crate::App::log_failures`] logs
    /// their number.
    pub(crate) fn log(&self, kind: FailureKind, message: &str, cause: &str, request_id: &str) {
        let is_counted = FailureKind::OVERLOAD.contains(&kind)
            || (matches!(kind, FailureKind::StoreFailed | FailureKind::DamagedOrder)
                && self.is_repeated(message, cause, request_id));
        if is_counted {
            tracing::debug!(request.id = request_id, cause, "{message}");
        } else {
            tracing::error!(request.id = request_id, cause, "{message}");
        }
    }

    /// Counts a failure if its cause was logged recently; otherwise records the cause.
    fn is_repeated(&self, message: &str, cause: &str, request_id: &str) -> bool {
        let mut logged = lock_ignoring_poison(&self.0);
        let known = logged.iter().position(|it| it.message == message && it.cause == cause);
        let is_full = logged.len() == CAUSES_MAX;
        let at = known.or_else(|| is_full.then_some(CAUSES_MAX - 1));
        let Some(it) = at.and_then(|at| logged.get_mut(at)) else {
            let [message, cause, request_id] = [message, cause, request_id].map(str::to_owned);
            logged.push(Logged { message, cause, request_id, requests: 0 });
            return false;
        };
        if known.is_none() {
            (it.message, it.cause) = (message.to_owned(), cause.to_owned());
        }
        it.request_id = request_id.to_owned();
        it.requests += 1;
        true
    }

    /// Logs the number of failures of each cause since the last call, with the last request, and
    /// forgets the causes without any.
    pub(crate) fn log_repeated(&self) {
        lock_ignoring_poison(&self.0).retain_mut(
            |Logged { message, cause, request_id, requests }| {
                let requests = std::mem::take(requests);
                if requests > 0 {
                    tracing::error!(
                        request.id = request_id,
                        cause,
                        requests,
                        "{message}, repeatedly"
                    );
                }
                requests > 0
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of unlogged failures of each cause.
    fn counted(log: &FailureLog) -> Vec<(String, u64)> {
        let logged = log.0.lock().unwrap();
        logged.iter().map(|it| (it.cause.clone(), it.requests)).collect()
    }

    #[test]
    fn the_first_failure_of_a_cause_is_logged_and_the_others_are_counted() {
        let log = FailureLog::default();
        assert!(!log.is_repeated("m", "refused", "1"));
        assert!(log.is_repeated("m", "refused", "2") && log.is_repeated("m", "refused", "3"));
        assert!(!log.is_repeated("m", "closed", "4") && !log.is_repeated("n", "refused", "5"));
        let of = |cause: &str, requests| (cause.to_owned(), requests);
        assert_eq!(counted(&log), [of("refused", 2), of("closed", 0), of("refused", 0)]);
        assert_eq!(log.0.lock().unwrap()[0].request_id, "3");
        log.log_repeated();
        assert_eq!(counted(&log), [of("refused", 0)]);
        // A cause that continues is still counted; one that has ended is logged again at once.
        assert!(log.is_repeated("m", "refused", "6") && !log.is_repeated("m", "closed", "7"));
        log.log_repeated();
        log.log_repeated();
        assert_eq!(counted(&log), []);
        assert!(!log.is_repeated("m", "refused", "8"));
    }

    #[test]
    fn causes_that_differ_from_request_to_request_are_bounded() {
        let log = FailureLog::default();
        let lines = (0..1_000).filter(|id| !log.is_repeated("m", &format!("order {id}"), ""));
        assert_eq!(lines.count(), CAUSES_MAX);
        let all = counted(&log);
        let requests: u64 = all.iter().map(|(_, requests)| requests).sum();
        assert_eq!((all.len(), requests), (CAUSES_MAX, 1_000 - CAUSES_MAX as u64));
        assert_eq!(all[CAUSES_MAX - 1].0, "order 999");
    }
}
