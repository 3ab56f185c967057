//! The use of accounts: counters in memory, and the last use of their sessions, which is also
//! stored.

use std::collections::HashMap;
use std::time::Duration;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::usage::{FunctionUsage, Guesses};
use kiosque_model::{AccountNo, SourcePrefix, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::sql::{Value, distinct, row, statements};
use crate::usage::SOURCES_MAX;
use crate::views::Trail;

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

/// The use of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountUse {
    /// The last request with its token: on this node, or on any node up to a minute ago.
    pub last: Option<UnixMs>,
    /// Its requests since the start of this process, by function.
    pub functions: Vec<FunctionUsage>,
}

impl Trail<'_> {
    /// Counts an answered request. `account` is the one proven by its token.
    pub fn count_request(
        self,
        account: Option<AccountNo>,
        path_and_code: (&str, i64),
        took: Duration,
        now: UnixMs,
    ) {
        self.0.usage.count(account, path_and_code, took, now);
    }

    /// Counts a failed login.
    pub fn count_guess(self, source: SourcePrefix, now: UnixMs) {
        let mut guesses = lock_ignoring_poison(&self.0.usage.guesses);
        if guesses.len() >= SOURCES_MAX && !guesses.contains_key(&source) {
            let quiet = guesses.iter().min_by_key(|(_, of)| of.last).map(|(source, _)| *source);
            if let Some(quiet) = quiet {
                guesses.remove(&quiet);
            }
        }
        let of = guesses.entry(source).or_insert(Guesses { logins: 0, last: now });
        *of = Guesses { logins: of.logins + 1, last: now };
    }

    /// Returns the sources of failed logins since the start of this process, most failures first.
    pub fn guesses(self) -> Vec<(SourcePrefix, Guesses)> {
        let guesses = lock_ignoring_poison(&self.0.usage.guesses);
        let mut all: Vec<(SourcePrefix, Guesses)> =
            guesses.iter().map(|(source, of)| (*source, *of)).collect();
        all.sort_by_key(|(_, of)| std::cmp::Reverse(of.logins));
        all
    }

    /// Returns the number of answers with each code since the start of this process.
    pub fn answers_by_code(self) -> Vec<(i64, u64)> {
        self.0.usage.answers_by_code()
    }

    /// Stores the last use of sessions that were used since it was last stored, at most once a
    /// minute each.
    ///
    /// # Errors
    /// The store failed.
    pub async fn write_uses(self, now: UnixMs) -> Result<(), Error> {
        let due = self.0.usage.due(now);
        if due.is_empty() {
            return Ok(());
        }
        let uses = due.clone();
        let write = async move |write: &Write<'_>| {
            let rows: Vec<[Value<'_>; 2]> =
                uses.iter().map(|(account, used)| [(*account).into(), (*used).into()]).collect();
            write.execute_each(&SET_USES, rows.iter(), &[]).await
        };
        self.0.db.write::<_, Error>(Deadline::OfRequest, write).await?;
        for (account, used) in due {
            self.0.usage.stored(account, used);
        }
        Ok(())
    }

    /// Returns the use of the accounts with these login names, by name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn uses_of(self, names: Vec<String>) -> Result<HashMap<String, AccountUse>, Error> {
        let find = async move |read: &Read<'_>| {
            let keys = distinct(names.iter().map(String::as_str));
            read.all_of::<UseRow>(&USES, &keys, &[]).await
        };
        let accounts = self.0.db.read(Deadline::OfRequest, find).await?;
        let uses = accounts.into_iter().map(|UseRow { account_no, login_name, used_at_ms }| {
            let (used, functions) = self.0.usage.of_account(account_no);
            (login_name, AccountUse { last: used.max(used_at_ms), functions })
        });
        Ok(uses.collect())
    }
}
