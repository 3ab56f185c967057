//! What integrators have asked of this process since its start: requests by account and function,
//! refusals by code, the last use of each account's session, and failed logins by source. It is
//! bounded and in memory; the last use is stored as well, at most once a minute.

mod counters;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use kiosque_contract::ENDPOINTS;
use kiosque_locks::{lock_ignoring_poison, read_ignoring_poison, write_ignoring_poison};
use kiosque_model::{AccountNo, SourcePrefix, UnixMs};

use crate::Store;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::sql::{Value, row, statements};
use counters::AccountCounters;
pub use counters::{CodeCount, FunctionUsage};

/// The accounts that are counted apart; further ones are counted together.
const ACCOUNTS_MAX: usize = 1_000;
/// The sources of failed logins that are counted. A new one replaces the one whose last failure is
/// the oldest.
const SOURCES_MAX: usize = 256;
/// How often the last use of a session is stored.
const USE_STORED_MS: i64 = 60_000;

row! {
    struct UseRow { account_no: AccountNo, login_name: String, used_at_ms: Option<UnixMs> }
}

statements! {
    SET_USES() = "update accounts set used_at_ms = r.used_at_ms
        from {rows r: account_no bigint, used_at_ms bigint}
        where accounts.account_no = r.account_no
            and coalesce(accounts.used_at_ms, 0) < r.used_at_ms";
    USES() -> UseRow = "select a.account_no, a.login_name, a.used_at_ms
        from {rows r: login_name text} cross join accounts a where a.login_name = r.login_name";
}

/// The counters of a process.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    accounts: RwLock<HashMap<AccountNo, Arc<AccountCounters>>>,
    /// Accounts beyond [`ACCOUNTS_MAX`], and requests that prove no account.
    others: AccountCounters,
    guesses: Mutex<BTreeMap<SourcePrefix, Guesses>>,
}

/// The failed logins of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    /// The number of failed logins.
    pub logins: u64,
    /// The time of the last one.
    pub last: UnixMs,
}

/// The use of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountUse {
    /// The last request with its token, on any node up to a minute ago, and on this one.
    pub last: Option<UnixMs>,
    /// Its requests since the start of this process, by function.
    pub functions: Vec<FunctionUsage>,
}

impl Usage {
    fn of(&self, account: AccountNo) -> Option<Arc<AccountCounters>> {
        if let Some(known) = read_ignoring_poison(&self.accounts).get(&account) {
            return Some(Arc::clone(known));
        }
        let mut accounts = write_ignoring_poison(&self.accounts);
        let has_room = accounts.len() < ACCOUNTS_MAX;
        has_room.then(|| Arc::clone(accounts.entry(account).or_default()))
    }

    fn known(&self, account: AccountNo) -> Option<Arc<AccountCounters>> {
        read_ignoring_poison(&self.accounts).get(&account).cloned()
    }

    /// Returns the accounts whose last use is to be stored, by number.
    fn due(&self, now: UnixMs) -> Vec<(AccountNo, UnixMs)> {
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

impl Store {
    /// Counts an answered request. `account` is the one that its token proves.
    pub fn count_request(
        &self,
        account: Option<AccountNo>,
        (path, code): (&str, i64),
        took: Duration,
        now: UnixMs,
    ) {
        let function = ENDPOINTS.iter().position(|endpoint| endpoint.route == path);
        let counters = account.and_then(|account| self.usage.of(account));
        match &counters {
            Some(counters) => counters.count(function, code, took, now),
            None => self.usage.others.count(function, code, took, now),
        }
    }

    /// Counts a failed login.
    pub fn count_guess(&self, source: SourcePrefix, now: UnixMs) {
        let mut guesses = lock_ignoring_poison(&self.usage.guesses);
        if guesses.len() >= SOURCES_MAX && !guesses.contains_key(&source) {
            let quiet = guesses.iter().min_by_key(|(_, of)| of.last).map(|(source, _)| *source);
            if let Some(quiet) = quiet {
                guesses.remove(&quiet);
            }
        }
        let of = guesses.entry(source).or_insert(Guesses { logins: 0, last: now });
        *of = Guesses { logins: of.logins + 1, last: now };
    }

    /// Returns the sources of failed logins since the start of this process, the ones with the most
    /// first.
    #[must_use]
    pub fn guesses(&self) -> Vec<(SourcePrefix, Guesses)> {
        let guesses = lock_ignoring_poison(&self.usage.guesses);
        let mut all: Vec<(SourcePrefix, Guesses)> =
            guesses.iter().map(|(source, of)| (*source, *of)).collect();
        all.sort_by_key(|(_, of)| std::cmp::Reverse(of.logins));
        all
    }

    /// Returns how many requests since the start of this process were answered with each code.
    #[must_use]
    pub fn answers_by_code(&self) -> Vec<CodeCount> {
        let accounts = read_ignoring_poison(&self.usage.accounts);
        let all = accounts.values().map(AsRef::as_ref).chain([&self.usage.others]);
        counters::by_code(all)
    }

    /// Stores the last use of the sessions that were used since it was stored, at most once a
    /// minute each.
    ///
    /// # Errors
    /// The store failed.
    pub async fn write_uses(&self, now: UnixMs) -> Result<(), Error> {
        let due = self.usage.due(now);
        if due.is_empty() {
            return Ok(());
        }
        let uses = due.clone();
        let write = async move |write: &Write<'_>| {
            let rows: Vec<[Value<'_>; 2]> =
                uses.iter().map(|(account, used)| [(*account).into(), (*used).into()]).collect();
            write.execute_each(&SET_USES, rows.iter(), &[]).await
        };
        self.db.write::<_, Error>(Deadline::OfRequest, write).await?;
        for (account, used) in due {
            if let Some(counters) = self.usage.known(account) {
                counters.stored_ms.store(used.0, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Returns the use of the accounts with these login names, by name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn uses_of(&self, names: Vec<String>) -> Result<HashMap<String, AccountUse>, Error> {
        let find = async move |read: &Read<'_>| {
            let keys: Vec<[Value<'_>; 1]> =
                names.iter().map(|name| [name.as_str().into()]).collect();
            let mut accounts: Vec<UseRow> = Vec::new();
            read.each_of(&USES, &keys, &[], |row| {
                accounts.push(row.read()?);
                Ok(())
            })
            .await?;
            Ok::<_, Error>(accounts)
        };
        let accounts = self.db.read(Deadline::OfRequest, find).await?;
        let uses = accounts.into_iter().map(|UseRow { account_no, login_name, used_at_ms }| {
            let counters = self.usage.known(account_no);
            let used = counters.as_ref().and_then(|counters| counters.last_use());
            let functions = counters.map(|counters| counters.functions()).unwrap_or_default();
            (login_name, AccountUse { last: used.max(used_at_ms), functions })
        });
        Ok(uses.collect())
    }
}
