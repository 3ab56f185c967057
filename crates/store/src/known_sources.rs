//! Sources that logged in to an account before. The login limiter does not count failures of other
//! sources against them. Each login refreshes its source; the newest sources are kept, up to a
//! maximum number and age.

use kiosque_model::source::{KNOWN_SOURCE_AGE_MS, KNOWN_SOURCES_MAX};
use kiosque_model::{AccountNo, LoginName, SourcePrefix, UnixMs};

use crate::accounts::Credentials;
use crate::db::Write;
use crate::error::Error;
use crate::sql::{row, statements};
use crate::views::Sessions;

row! {
    struct CredentialsRow { account_no: AccountNo, password_hash: String, is_known_source: bool }
}

statements! {
    /// Not on Citus, which cannot run it: the account is on every node, its sources on one shard.
    CREDENTIALS_AND_SOURCE(login_name, source, expired_at_ms) -> CredentialsRow = "select
            a.account_no, a.password_hash, exists (
                select 1 from known_sources k where k.account_no = a.account_no
                    and k.source = $source and k.last_login_ms > $expired_at_ms
            ) as is_known_source
        from accounts a where a.login_name = $login_name";
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

impl SourceStatus {
    fn of(is_known: bool) -> SourceStatus {
        if is_known { SourceStatus::Known } else { SourceStatus::Unknown }
    }
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
        let (source, expired_at) = (source.to_string(), expired_at(now));
        if self.0.db.is_sharded() {
            return self.credentials_then_source(login_name, &source, expired_at).await;
        }
        let params = [login_name.as_str().into(), source.as_str().into(), expired_at.into()];
        self.0
            .db
            .one(&CREDENTIALS_AND_SOURCE, &params, |row| {
                let row: CredentialsRow = row.read()?;
                let status = SourceStatus::of(row.is_known_source);
                let (account, password_hash) = (row.account_no, row.password_hash);
                Ok((Credentials { account, password_hash }, status))
            })
            .await
    }

    /// Reads the account and then its sources, each from one shard.
    async fn credentials_then_source(
        self,
        login_name: &LoginName,
        source: &str,
        expired_at: UnixMs,
    ) -> Result<Option<(Credentials, SourceStatus)>, Error> {
        let credentials = self.credentials(login_name).await?;
        // An unknown login name takes as long: no account has the number 0.
        let account = credentials.as_ref().map_or(AccountNo(0), |found| found.account);
        let params = [account.into(), source.into(), expired_at.into()];
        let known: Option<i64> = self.0.db.one(&IS_KNOWN, &params, |row| row.read()).await?;
        Ok(credentials.map(|found| (found, SourceStatus::of(known.is_some()))))
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
