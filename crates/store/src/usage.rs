//! What integrators have asked of this process since its start: requests by account and function,
//! refusals by code, the last use of each account's session, and failed logins by source. It is
//! bounded and in memory; the last use is stored as well, at most once a minute.

mod counters;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, RwLock};

use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::{AccountNo, SourcePrefix, UnixMs};

pub(crate) use counters::{AccountCounters, by_code};
pub use counters::{CodeCount, FunctionUsage};

/// The accounts that are counted apart; further ones are counted together.
const ACCOUNTS_MAX: usize = 1_000;
/// The sources of failed logins that are counted. A new one replaces the one whose last failure is
/// the oldest.
pub(crate) const SOURCES_MAX: usize = 256;
/// How often the last use of a session is stored.
const USE_STORED_MS: i64 = 60_000;

/// The counters of a process.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) accounts: RwLock<HashMap<AccountNo, Arc<AccountCounters>>>,
    /// Accounts beyond [`ACCOUNTS_MAX`], and requests that prove no account.
    pub(crate) others: AccountCounters,
    pub(crate) guesses: Mutex<BTreeMap<SourcePrefix, Guesses>>,
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
    pub(crate) fn of(&self, account: AccountNo) -> Option<Arc<AccountCounters>> {
        if let Some(known) = read_ignoring_poison(&self.accounts).get(&account) {
            return Some(Arc::clone(known));
        }
        let mut accounts = write_ignoring_poison(&self.accounts);
        let has_room = accounts.len() < ACCOUNTS_MAX;
        has_room.then(|| Arc::clone(accounts.entry(account).or_default()))
    }

    pub(crate) fn known(&self, account: AccountNo) -> Option<Arc<AccountCounters>> {
        read_ignoring_poison(&self.accounts).get(&account).cloned()
    }

    /// Returns the accounts whose last use is to be stored, by number.
    pub(crate) fn due(&self, now: UnixMs) -> Vec<(AccountNo, UnixMs)> {
        let accounts = read_ignoring_poison(&self.accounts);
        let due = accounts.iter().filter_map(|(account, counters)| {
            let used = counters.used_ms.load(Ordering::Relaxed);
            let stored = counters.stored_ms.load(Ordering::Relaxed);
            let age = now.0.saturating_sub(stored).saturating_abs();
            (used > stored && age >= USE_STORED_MS).then_some((*account, UnixMs(used)))
        });
        let mut due: Vec<(AccountNo, UnixMs)> = due.collect();
        due.sort_unstable_by_key(|(account, _)| *account);
        due
    }
}
