//! Use of this process by integrators since its start: requests by account and function, refusals
//! by code, the last use of each account's session, and failed logins by source. It is bounded and
//! in memory; the last use is also stored, at most once a minute.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use kiosque_contract::{Code, ENDPOINTS, EndpointInfo};
use kiosque_locks::{lock_ignoring_poison, read_ignoring_poison, write_ignoring_poison};
use kiosque_model::{AccountNo, SourcePrefix, UnixMs};

/// The maximum number of accounts that are counted separately; further ones are counted together.
const ACCOUNTS_MAX: usize = 1_000;
/// The maximum number of sources of failed logins that are counted. A new one replaces the one
/// whose last failure is the oldest.
pub(crate) const SOURCES_MAX: usize = 256;
/// The interval at which the last use of a session is stored.
const USE_STORED_MS: i64 = 60_000;

/// The counters of a process.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    accounts: RwLock<HashMap<AccountNo, Arc<Mutex<AccountCounters>>>>,
    /// Accounts beyond [`ACCOUNTS_MAX`], and requests that prove no account.
    others: Mutex<AccountCounters>,
    pub(crate) guesses: Mutex<BTreeMap<SourcePrefix, Guesses>>,
}

/// The requests of an account since the start of the process.
#[derive(Debug, Default)]
struct AccountCounters {
    used: Option<UnixMs>,
    /// The last use that was stored.
    stored: Option<UnixMs>,
    /// By function, as its position in [`ENDPOINTS`], and code.
    answers: BTreeMap<(Option<usize>, i64), Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    number: u64,
    micros: u64,
    slowest_micros: u64,
}

/// The requests of an account for a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUsage {
    /// The path of the function.
    pub route: &'static str,
    /// Its requests.
    pub requests: u64,
    /// The number of refused requests among them.
    pub refused: u64,
    /// The number of requests among them that the server could not answer.
    pub failed: u64,
    /// The mean time until the answer.
    pub mean: Duration,
    /// The longest time until an answer.
    pub slowest: Duration,
}

/// The failed logins of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    /// The number of failed logins.
    pub logins: u64,
    /// The time of the last one.
    pub last: UnixMs,
}

impl Usage {
    /// Counts an answered request.
    pub(crate) fn count(
        &self,
        account: Option<AccountNo>,
        (path, code): (&str, i64),
        took: Duration,
        now: UnixMs,
    ) {
        let function = ENDPOINTS.iter().position(|endpoint| endpoint.route == path);
        let counters = account.and_then(|account| self.of(account));
        let mut counters = lock_ignoring_poison(counters.as_deref().unwrap_or(&self.others));
        counters.used = counters.used.max(Some(now));
        let answers = counters.answers.entry((function, code)).or_default();
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        answers.number += 1;
        answers.micros = answers.micros.saturating_add(micros);
        answers.slowest_micros = answers.slowest_micros.max(micros);
    }

    fn of(&self, account: AccountNo) -> Option<Arc<Mutex<AccountCounters>>> {
        if let Some(known) = read_ignoring_poison(&self.accounts).get(&account) {
            return Some(Arc::clone(known));
        }
        let mut accounts = write_ignoring_poison(&self.accounts);
        let has_room = accounts.len() < ACCOUNTS_MAX;
        has_room.then(|| Arc::clone(accounts.entry(account).or_default()))
    }

    /// Returns the last use of an account, and its requests by function.
    pub(crate) fn of_account(&self, account: AccountNo) -> (Option<UnixMs>, Vec<FunctionUsage>) {
        let accounts = read_ignoring_poison(&self.accounts);
        let counters = accounts.get(&account).map(|counters| lock_ignoring_poison(counters));
        counters.map_or((None, Vec::new()), |counters| (counters.used, counters.functions()))
    }

    /// Returns the number of answers with each code, success first and server failures last.
    pub(crate) fn answers_by_code(&self) -> Vec<(i64, u64)> {
        let mut by_code: BTreeMap<_, u64> = BTreeMap::new();
        let accounts = read_ignoring_poison(&self.accounts);
        for counters in accounts.values().map(AsRef::as_ref).chain([&self.others]) {
            for ((_, code), answers) in &lock_ignoring_poison(counters).answers {
                let place = (*code == number(Code::System), Reverse(*code));
                *by_code.entry(place).or_default() += answers.number;
            }
        }
        by_code.into_iter().map(|((_, Reverse(code)), answers)| (code, answers)).collect()
    }

    /// Returns the accounts whose last use should be stored, by number.
    pub(crate) fn due(&self, now: UnixMs) -> Vec<(AccountNo, UnixMs)> {
        let accounts = read_ignoring_poison(&self.accounts);
        let due = accounts.iter().filter_map(|(account, counters)| {
            let counters = lock_ignoring_poison(counters);
            let is_due = counters.stored.is_none_or(|stored| {
                now.0.saturating_sub(stored.0).saturating_abs() >= USE_STORED_MS
            });
            let used = counters.used.filter(|_| is_due && counters.used > counters.stored);
            used.map(|used| (*account, used))
        });
        let mut due: Vec<(AccountNo, UnixMs)> = due.collect();
        due.sort_unstable_by_key(|(account, _)| *account);
        due
    }

    /// Records that the last use of an account is stored.
    pub(crate) fn stored(&self, account: AccountNo, used: UnixMs) {
        if let Some(counters) = read_ignoring_poison(&self.accounts).get(&account) {
            lock_ignoring_poison(counters).stored = Some(used);
        }
    }
}

impl AccountCounters {
    /// Returns the functions that were used.
    fn functions(&self) -> Vec<FunctionUsage> {
        let usage = |(at, endpoint): (usize, &'static EndpointInfo)| {
            let (mut refused, mut failed, mut micros, mut slowest) = (0, 0, 0_u64, 0);
            let mut requests = 0;
            let of_function = (Some(at), i64::MIN)..=(Some(at), i64::MAX);
            for ((_, code), answers) in self.answers.range(of_function) {
                requests += answers.number;
                micros = micros.saturating_add(answers.micros);
                slowest = answers.slowest_micros.max(slowest);
                if *code == number(Code::System) {
                    failed += answers.number;
                } else if *code != number(Code::Success) {
                    refused += answers.number;
                }
            }
            (requests > 0).then(|| FunctionUsage {
                route: endpoint.route,
                requests,
                refused,
                failed,
                mean: Duration::from_micros(micros / requests),
                slowest: Duration::from_micros(slowest),
            })
        };
        ENDPOINTS.iter().enumerate().filter_map(usage).collect()
    }
}

fn number(code: Code) -> i64 {
    code.number().into()
}
