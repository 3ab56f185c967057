//! The use of accounts: counters in memory, and the last use of their sessions, which is also
//! stored.

use std::collections::HashMap;

use kiosque_model::usage::FunctionUsage;
use kiosque_model::{AccountNo, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::sql::{Value, distinct, row, statements};
use crate::usage::Usage;
use crate::views::Trail;

row! {
    struct UseRow { account_no: AccountNo, login_name: String, used_at_ms: Option<UnixMs> }
}

statements! {
    SET_USES() = "update accounts set used_at_ms = r.used_at_ms
        from {rows r: account_no bigint, used_at_ms bigint}
        where accounts.account_no = r.account_no
            and coalesce(accounts.used_at_ms, 0) < r.used_at_ms";
    CAP_USES(now_ms) = "update accounts set used_at_ms = $now_ms where used_at_ms > $now_ms";
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

impl<'s> Trail<'s> {
    /// Returns the counters of this process.
    pub fn usage(self) -> &'s Usage {
        &self.0.usage
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

/// Replaces stored uses by a clock that was ahead, when it is set back to `now`.
pub(crate) async fn cap_uses(write: &Write<'_>, now: UnixMs) -> Result<(), Error> {
    write.execute(&CAP_USES, &[now.into()]).await.map(drop)
}
