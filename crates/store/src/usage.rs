//! Use of this process by integrators since its start: requests by account and function, refusals
//! by code, the last use of each account's session, and failed logins by source. It is bounded and
//! in memory; the last use is also stored, at most once a minute.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use kiosque_contract::{Code, ENDPOINTS, EndpointInfo};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::usage::{FunctionUsage, Guesses};
use kiosque_model::{AccountNo, SourcePrefix, UnixMs};

/// The maximum number of accounts that are counted separately; further ones are counted together.
const ACCOUNTS_MAX: usize = 1_000;
/// The maximum number of sources of failed logins that are counted. A new one replaces the one
/// whose last failure is the oldest.
const SOURCES_MAX: usize = 256;
/// The age at which the stored last use of a session or a key is stored again.
const USE_STORED_MS: i64 = 60_000;

/// The counters of a process, since its start.
#[derive(Debug, Default)]
pub struct Usage {
    requests: Mutex<Requests>,
    guesses: Mutex<BTreeMap<SourcePrefix, Guesses>>,
}

#[derive(Debug, Default)]
struct Requests {
    last_uses: HashMap<AccountNo, LastUse>,
    accounts: HashMap<AccountNo, AccountCounters>,
    /// Accounts beyond [`ACCOUNTS_MAX`], and requests that prove no account.
    others: AccountCounters,
}

/// The last use of an account's session.
#[derive(Debug)]
struct LastUse {
    used: UnixMs,
    /// The last one that was stored.
    stored: Option<UnixMs>,
}

/// The requests of an account since the start of the process, by function, as its position in
/// [`ENDPOINTS`], and code.
type AccountCounters = BTreeMap<(Option<usize>, i64), Answers>;

#[derive(Debug, Default)]
struct Answers {
    number: u64,
    micros: u64,
    slowest_micros: u64,
}

impl Usage {
    /// Counts an answered request. `account` is the one proven by its token.
    pub fn count(
        &self,
        account: Option<AccountNo>,
        path: &str,
        code: i64,
        took: Duration,
        now: UnixMs,
    ) {
        let function = ENDPOINTS.iter().position(|endpoint| endpoint.route == path);
        let mut requests = lock_ignoring_poison(&self.requests);
        let Requests { last_uses, accounts, others } = &mut *requests;
        if let Some(account) = account {
            let last = last_uses.entry(account).or_insert(LastUse { used: now, stored: None });
            last.used = last.used.max(now);
        }
        let has_room = accounts.len() < ACCOUNTS_MAX;
        let counters = match account {
            Some(account) if has_room || accounts.contains_key(&account) => {
                accounts.entry(account).or_default()
            }
            _ => others,
        };
        let answers = counters.entry((function, code)).or_default();
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        answers.number += 1;
        answers.micros = answers.micros.saturating_add(micros);
        answers.slowest_micros = answers.slowest_micros.max(micros);
    }

    /// Returns the last use of an account, and its requests by function.
    pub(crate) fn of_account(&self, account: AccountNo) -> (Option<UnixMs>, Vec<FunctionUsage>) {
        let requests = lock_ignoring_poison(&self.requests);
        let used = requests.last_uses.get(&account).map(|last| last.used);
        (used, requests.accounts.get(&account).map(functions).unwrap_or_default())
    }

    /// Counts a failed login.
    pub fn count_guess(&self, source: SourcePrefix, now: UnixMs) {
        let mut guesses = lock_ignoring_poison(&self.guesses);
        if guesses.len() >= SOURCES_MAX && !guesses.contains_key(&source) {
            let quiet = guesses.iter().min_by_key(|(_, of)| of.last).map(|(source, _)| *source);
            if let Some(quiet) = quiet {
                guesses.remove(&quiet);
            }
        }
        let of = guesses.entry(source).or_insert(Guesses { logins: 0, last: now });
        *of = Guesses { logins: of.logins + 1, last: now };
    }

    /// Returns the sources of failed logins, most failures first.
    pub fn guesses(&self) -> Vec<(SourcePrefix, Guesses)> {
        let guesses = lock_ignoring_poison(&self.guesses);
        let mut all: Vec<(SourcePrefix, Guesses)> =
            guesses.iter().map(|(source, of)| (*source, *of)).collect();
        all.sort_by_key(|(_, of)| Reverse(of.logins));
        all
    }

    /// Returns the number of answers with each code, success first and server failures last.
    pub fn answers_by_code(&self) -> Vec<(i64, u64)> {
        let mut by_code: BTreeMap<_, u64> = BTreeMap::new();
        let requests = lock_ignoring_poison(&self.requests);
        for counters in requests.accounts.values().chain([&requests.others]) {
            for ((_, code), answers) in counters {
                let place = (*code == number(Code::System), Reverse(*code));
                *by_code.entry(place).or_default() += answers.number;
            }
        }
        by_code.into_iter().map(|((_, Reverse(code)), answers)| (code, answers)).collect()
    }

    /// Replaces later uses by `now`: the clock was ahead, and was set back.
    pub(crate) fn cap(&self, now: UnixMs) {
        for last in lock_ignoring_poison(&self.requests).last_uses.values_mut() {
            last.used = last.used.min(now);
            last.stored = last.stored.min(Some(now));
        }
    }

    /// Returns the accounts whose last use should be stored, by number.
    pub(crate) fn due(&self, now: UnixMs) -> Vec<(AccountNo, UnixMs)> {
        let requests = lock_ignoring_poison(&self.requests);
        let due = requests.last_uses.iter().filter(|(_, last)| {
            let is_due = |stored: UnixMs| last.used > stored && is_use_due(stored, now);
            last.stored.is_none_or(is_due)
        });
        let due = due.map(|(account, last)| (*account, last.used));
        let mut due: Vec<(AccountNo, UnixMs)> = due.collect();
        due.sort_unstable_by_key(|(account, _)| *account);
        due
    }

    /// Records that the last use of an account is stored.
    pub(crate) fn stored(&self, account: AccountNo, used: UnixMs) {
        if let Some(last) = lock_ignoring_poison(&self.requests).last_uses.get_mut(&account) {
            last.stored = Some(used);
        }
    }
}

/// Returns the functions that an account used.
fn functions(counters: &AccountCounters) -> Vec<FunctionUsage> {
    let usage = |(at, endpoint): (usize, &'static EndpointInfo)| {
        let mut requests = 0;
        let mut refused = 0;
        let mut failed = 0;
        let mut micros = 0_u64;
        let mut slowest = 0;
        let of_function = (Some(at), i64::MIN)..=(Some(at), i64::MAX);
        for ((_, code), answers) in counters.range(of_function) {
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

/// Returns whether a last use that was stored is to be stored again.
pub(crate) fn is_use_due(stored: UnixMs, now: UnixMs) -> bool {
    now.0.saturating_sub(stored.0).saturating_abs() >= USE_STORED_MS
}

fn number(code: Code) -> i64 {
    code.number().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_use_of_every_account_is_stored_though_not_all_are_counted() {
        let usage = Usage::default();
        let accounts: Vec<AccountNo> = (1..=1_002).map(AccountNo).collect();
        for account in &accounts {
            usage.count(Some(*account), "none", 200, Duration::ZERO, UnixMs(5));
        }
        let all = |used| accounts.iter().map(|account| (*account, used)).collect::<Vec<_>>();
        assert_eq!(usage.due(UnixMs(5)), all(UnixMs(5)));
        for account in &accounts {
            usage.stored(*account, UnixMs(5));
        }
        usage.count(Some(AccountNo(1_002)), "none", 200, Duration::ZERO, UnixMs(7));
        assert_eq!(usage.due(UnixMs(8)), []);
        assert_eq!(usage.due(UnixMs(60_005)), [(AccountNo(1_002), UnixMs(7))]);
        assert_eq!(usage.of_account(AccountNo(1_002)), (Some(UnixMs(7)), Vec::new()));
        let counted = lock_ignoring_poison(&usage.requests).accounts.len();
        assert_eq!((counted, usage.answers_by_code()), (ACCOUNTS_MAX, vec![(200, 1_003)]));
    }
}
