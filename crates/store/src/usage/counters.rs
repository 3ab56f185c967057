//! The counters of an account.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use kiosque_contract::{Code, ENDPOINTS};
use kiosque_model::UnixMs;

/// The codes that are counted.
const CODES: [Code; 7] = [
    Code::Success,
    Code::NotFound,
    Code::Business,
    Code::Credentials,
    Code::TokenMissing,
    Code::TokenInvalid,
    Code::System,
];

/// The requests of an account since the start of the process.
#[derive(Debug, Default)]
pub(crate) struct AccountCounters {
    pub(crate) used_ms: AtomicI64,
    /// The last use that was stored.
    pub(crate) stored_ms: AtomicI64,
    functions: [FunctionCounters; ENDPOINTS.len()],
    codes: [AtomicU64; CODES.len()],
}

#[derive(Debug, Default)]
struct FunctionCounters {
    requests: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    micros: AtomicU64,
    slowest_micros: AtomicU64,
}

/// The requests of an account for a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUsage {
    /// The path of the function.
    pub route: &'static str,
    /// Its requests.
    pub requests: u64,
    /// Those of them that were refused.
    pub refused: u64,
    /// Those of them that the server could not answer.
    pub failed: u64,
    /// The mean time until the answer.
    pub mean: Duration,
    /// The longest time until an answer.
    pub slowest: Duration,
}

/// The answers with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeCount {
    /// The code.
    pub code: i64,
    /// The number of answers.
    pub answers: u64,
}

impl AccountCounters {
    pub(crate) fn count(&self, function: Option<usize>, code: i64, took: Duration, now: UnixMs) {
        self.used_ms.fetch_max(now.0, Ordering::Relaxed);
        let at = CODES.iter().position(|known| number(*known) == code);
        if let Some(answers) = at.and_then(|at| self.codes.get(at)) {
            answers.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(counters) = function.and_then(|at| self.functions.get(at)) {
            counters.count(code, took);
        }
    }

    /// Returns the time of the last request.
    pub(crate) fn last_use(&self) -> Option<UnixMs> {
        Some(self.used_ms.load(Ordering::Relaxed)).filter(|used| *used > 0).map(UnixMs)
    }

    /// Returns the functions that were used.
    pub(crate) fn functions(&self) -> Vec<FunctionUsage> {
        let all = ENDPOINTS.iter().zip(&self.functions);
        let all = all.map(|(endpoint, counters)| counters.usage(endpoint.route));
        all.filter(|usage| usage.requests > 0).collect()
    }
}

impl FunctionCounters {
    fn count(&self, code: i64, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.slowest_micros.fetch_max(micros, Ordering::Relaxed);
        if code == number(Code::System) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        } else if code != number(Code::Success) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn usage(&self, route: &'static str) -> FunctionUsage {
        let requests = self.requests.load(Ordering::Relaxed);
        let micros = self.micros.load(Ordering::Relaxed);
        FunctionUsage {
            route,
            requests,
            refused: self.refused.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            mean: Duration::from_micros(micros / requests.max(1)),
            slowest: Duration::from_micros(self.slowest_micros.load(Ordering::Relaxed)),
        }
    }
}

/// Returns the answers of these accounts by code; codes without an answer are left out.
pub(crate) fn by_code<'c>(accounts: impl Iterator<Item = &'c AccountCounters>) -> Vec<CodeCount> {
    let mut counts = CODES.map(|code| CodeCount { code: number(code), answers: 0 });
    for account in accounts {
        for (count, answers) in counts.iter_mut().zip(&account.codes) {
            count.answers += answers.load(Ordering::Relaxed);
        }
    }
    counts.into_iter().filter(|count| count.answers > 0).collect()
}

fn number(code: Code) -> i64 {
    code.number().into()
}
