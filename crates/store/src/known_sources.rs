//! Sources that logged in to an account before: guessing from elsewhere is not held against them.
//! Each login refreshes its own; the newest stay, and none for longer than their age allows.

use kiosque_model::source::{KNOWN_SOURCE_AGE_MS, KNOWN_SOURCES_MAX};
use kiosque_model::{AccountNo, LoginName, Place, UnixMs};

use crate::db::Write;
use crate::sql::statements;
use crate::{Credentials, Error, Store};

statements! {
    CREDENTIALS_AND_KNOWLEDGE = "select a.account_no, a.password_hash, exists (
            select 1 from known_sources k
            where k.account_no = a.account_no and k.source = $2 and k.last_login_ms > $3
        ) from accounts a where a.login_name = $1";
    REMEMBER = "insert into known_sources (account_no, source, last_login_ms) values ($1, $2, $3)
        on conflict (account_no, source) do update set last_login_ms = excluded.last_login_ms";
    FORGET = "delete from known_sources where account_no = $1 and source <> $2 and (
            last_login_ms <= $3 or source not in (
                select k.source from known_sources k where k.account_no = $1
                order by k.last_login_ms desc, k.source limit $4))";
}

/// Whether a source logged in to an account before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceStatus {
    /// It did, not too long ago.
    Known,
    /// It did not, or there is no such account.
    Unknown,
}

impl Store {
    /// The credentials of a login name, if there is such an account, and whether it has seen the
    /// place where a login comes from.
    ///
    /// # Errors
    /// The store failed.
    pub async fn credentials_for(
        &self,
        login_name: &LoginName,
        place: Place,
        now: UnixMs,
    ) -> Result<Option<(Credentials, SourceStatus)>, Error> {
        let (place, since) = (place.to_string(), forgotten_until(now));
        let params = [login_name.as_str().into(), place.as_str().into(), since.0.into()];
        self.db
            .one(&CREDENTIALS_AND_KNOWLEDGE, &params, |row| {
                let password_hash = row.text(1)?.to_owned();
                let credentials = Credentials { account: AccountNo(row.int(0)?), password_hash };
                let known = row.flag(2)?;
                let seen = if known { SourceStatus::Known } else { SourceStatus::Unknown };
                Ok((credentials, seen))
            })
            .await
    }
}

/// Remembers where a login came from, in its transaction.
pub(crate) async fn remember(
    write: &Write<'_>,
    account: AccountNo,
    place: Place,
    now: UnixMs,
) -> Result<(), Error> {
    let place = place.to_string();
    write.execute(&REMEMBER, &[account.0.into(), place.as_str().into(), now.0.into()]).await?;
    let until = forgotten_until(now).0;
    let params = [account.0.into(), place.as_str().into(), until.into(), KNOWN_SOURCES_MAX.into()];
    write.execute(&FORGET, &params).await?;
    Ok(())
}

fn forgotten_until(now: UnixMs) -> UnixMs {
    now.plus_ms(-KNOWN_SOURCE_AGE_MS)
}
