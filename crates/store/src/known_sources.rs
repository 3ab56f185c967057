//! Sources that logged in to an account before. The login limiter does not count failures of other
//! sources against them. Each login refreshes its source; the newest sources are kept, up to a
//! maximum number and age.

use kiosque_model::source::{KNOWN_SOURCE_AGE_MS, KNOWN_SOURCES_MAX};
use kiosque_model::{AccountNo, LoginName, SourcePrefix, UnixMs};

use crate::accounts::Credentials;
use crate::db::Write;
use crate::error::Error;
use crate::sql::statements;
use crate::views::Sessions;

statements! {
    IS_KNOWN(account_no, source, expired_at_ms) -> i64 = "select 1 from known_sources
        where account_no = $account_no and source = $source and last_login_ms > $expired_at_ms";
    REMEMBER(account_no, source, now_ms) = "insert into known_sources
            (account_no, source, last_login_ms) values ($account_no, $source, $now_ms)
        on conflict (account_no, source) do update set last_login_ms = excluded.last_login_ms";
    FORGET(account_no, source, expired_at_ms, most) = "delete from known_sources
        where account_no = $account_no and source <> $source and (
            last_login_ms <= $expired_at_ms or source not in (
                select k.source from known_sources k where k.account_no = $account_no
                order by k.last_login_ms desc, k.source limit $most))";
}

/// Whether a source logged in to an account before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceStatus {
    /// It logged in before, recently enough.
    Known,
    /// It did not log in before, or there is no such account.
    Unknown,
}

impl Sessions<'_> {
    /// Returns the credentials of a login name, if there is such an account, and whether `source`
    /// logged in to it before.
    ///
    /// # Errors
    /// The store failed.
    pub async fn credentials_for(
        self,
        login_name: &LoginName,
        source: SourcePrefix,
        now: UnixMs,
    ) -> Result<Option<(Credentials, SourceStatus)>, Error> {
        // Two statements: on Citus, the account is on every node, its sources are on one shard.
        let credentials = self.credentials(login_name).await?;
        // An unknown login name takes as long: no account has the number 0.
        let account = credentials.as_ref().map_or(AccountNo(0), |found| found.account);
        let source = source.to_string();
        let params = [account.into(), source.as_str().into(), expired_at(now).into()];
        let known: Option<i64> = self.0.db.one(&IS_KNOWN, &params).await?;
        let status = if known.is_some() { SourceStatus::Known } else { SourceStatus::Unknown };
        Ok(credentials.map(|found| (found, status)))
    }
}

/// Stores the source of a login, in its transaction.
pub(crate) async fn remember(
    write: &Write<'_>,
    account: AccountNo,
    source: SourcePrefix,
    now: UnixMs,
) -> Result<(), Error> {
    let source = source.to_string();
    write.execute(&REMEMBER, &[account.into(), source.as_str().into(), now.into()]).await?;
    let expired_at = expired_at(now).into();
    let params = [account.into(), source.as_str().into(), expired_at, KNOWN_SOURCES_MAX.into()];
    write.execute(&FORGET, &params).await?;
    Ok(())
}

/// Returns the time up to which logins are too old to be considered.
fn expired_at(now: UnixMs) -> UnixMs {
    now.plus_ms(-KNOWN_SOURCE_AGE_MS)
}
