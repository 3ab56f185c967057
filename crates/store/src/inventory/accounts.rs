//! The lists of accounts and of sessions.

use std::collections::{BTreeSet, HashMap};

use kiosque_contract::FleetAccount;
use kiosque_contract::inventory::{AccountItem, SessionItem};
use kiosque_model::{AccountNo, UnixMs};

use super::{Listed, Listing, numbers};
use crate::accounts::KeyedAccount;
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::fleet::groups_of_accounts;
use crate::sql::{Value, distinct, row, statements};
use crate::views::Inventory;

row! {
    for SessionItem {
        account, group_id, opened_timestamp, expires_timestamp, source, request_id,
    }
}

statements! {
    ACCOUNTS(after, count) -> KeyedAccount = "select login_name, account_no, display_name,
            password_hash, third_party_api, enabled
        from accounts where login_name > $after order by login_name limit $count";
    ACCOUNT(login_name) -> KeyedAccount = "select login_name, account_no, display_name,
            password_hash, third_party_api, enabled
        from accounts where login_name = $login_name";
    /// The accounts that belong to an active group, once for each.
    WITH_ACTIVE_GROUP() -> String = "select a.login_name
        from {rows r: name text} cross join accounts a
        join account_groups ag on ag.account_no = a.account_no
        join groups g on g.group_no = ag.group_no
        where a.login_name = r.name and g.active";
    SESSIONS_OF_ACCOUNTS(now_ms) -> (AccountNo, SessionItem) = "select s.account_no,
            a.login_name as account, g.group_id, s.opened_at_ms as opened_timestamp,
            s.expires_at_ms as expires_timestamp, s.source, s.request_id
        from {rows r: account bigint} cross join sessions s cross join accounts a
        left join groups g on g.group_no = s.group_no
        where s.account_no = r.account and s.expires_at_ms > $now_ms
            and a.account_no = r.account";
}

/// Whether accounts include the hashes of their passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passwords {
    /// They have no password.
    Left,
    /// They have the stored hash.
    Hashed,
}

impl Inventory<'_> {
    /// Returns a part of the list of accounts, by login name, without their passwords.
    ///
    /// # Errors
    /// The store failed.
    pub async fn accounts(
        self,
        listing: Listing,
        now: UnixMs,
    ) -> Result<Listed<AccountItem>, Error> {
        let list = async move |read: &Read<'_>| {
            items(read, account_rows(read, &listing).await?, now).await
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }

    /// Returns an account with its live session; `None` if there is no such account.
    ///
    /// # Errors
    /// The store failed.
    pub async fn account(
        self,
        login_name: String,
        now: UnixMs,
    ) -> Result<Option<(AccountItem, Option<SessionItem>)>, Error> {
        let find = async move |read: &Read<'_>| {
            let row = read.one(&ACCOUNT, &[login_name.as_str().into()]).await?;
            let entries: Vec<KeyedAccount> = row.into_iter().collect();
            let session = sessions(read, &entries, now).await?.into_values().next();
            let account = items(read, Listed { entries, next: None }, now).await?.entries.pop();
            Ok(account.map(|account| (account, session)))
        };
        self.0.db.read(Deadline::OfRequest, find).await
    }

    /// Returns the given accounts that belong to an active group; no other can log in.
    ///
    /// # Errors
    /// The store failed.
    pub async fn with_active_group(
        self,
        login_names: Vec<String>,
    ) -> Result<BTreeSet<String>, Error> {
        let find = async move |read: &Read<'_>| {
            let keys = distinct(login_names.iter().map(String::as_str));
            read.all_of::<String>(&WITH_ACTIVE_GROUP, &keys, &[]).await
        };
        Ok(self.0.db.read(Deadline::OfRequest, find).await?.into_iter().collect())
    }

    /// Returns the live sessions of a part of the accounts, by login name. A part may have fewer
    /// sessions than accounts, or none.
    ///
    /// # Errors
    /// The store failed.
    pub async fn sessions(
        self,
        listing: Listing,
        now: UnixMs,
    ) -> Result<Listed<SessionItem>, Error> {
        let list = async move |read: &Read<'_>| {
            let rows = account_rows(read, &listing).await?;
            let mut sessions = sessions(read, &rows.entries, now).await?;
            let live = rows.entries.iter().filter_map(|row| sessions.remove(&row.account_no));
            Ok(Listed { entries: live.collect(), next: rows.next })
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

async fn account_rows(read: &Read<'_>, listing: &Listing) -> Result<Listed<KeyedAccount>, Error> {
    listing.read(read, &ACCOUNTS, &[], |row: &KeyedAccount| &row.login_name).await
}

async fn items(
    read: &Read<'_>,
    rows: Listed<KeyedAccount>,
    now: UnixMs,
) -> Result<Listed<AccountItem>, Error> {
    let mut groups = groups_of_accounts(read, &keys(&rows.entries)).await?;
    let sessions = sessions(read, &rows.entries, now).await?;
    Ok(rows.map(|row| AccountItem {
        account: row.login_name,
        display_name: row.account.display_name,
        third_party_api: row.account.third_party_api,
        enabled: row.account.enabled,
        group_ids: groups.remove(&row.account_no).unwrap_or_default(),
        session_expires_timestamp: sessions
            .get(&row.account_no)
            .map(|session| session.expires_timestamp),
    }))
}

/// Returns a part of the accounts as entries of a fleet file.
pub(super) async fn fleet_accounts(
    read: &Read<'_>,
    listing: &Listing,
    passwords: Passwords,
) -> Result<Listed<FleetAccount>, Error> {
    let rows = account_rows(read, listing).await?;
    let mut groups = groups_of_accounts(read, &keys(&rows.entries)).await?;
    Ok(rows.map(|KeyedAccount { login_name, account_no, account }| FleetAccount {
        login_name,
        display_name: Some(account.display_name),
        password: None,
        password_hash: Some(account.password_hash).filter(|_| passwords == Passwords::Hashed),
        third_party_api: Some(account.third_party_api),
        enabled: Some(account.enabled),
        groups: Some(groups.remove(&account_no).unwrap_or_default()),
    }))
}

/// Returns the keys by which bulk statements find accounts.
fn keys(accounts: &[KeyedAccount]) -> Vec<[Value<'static>; 1]> {
    numbers(accounts.iter().map(|row| row.account_no))
}

/// Returns the live sessions of accounts.
async fn sessions(
    read: &Read<'_>,
    accounts: &[KeyedAccount],
    now: UnixMs,
) -> Result<HashMap<AccountNo, SessionItem>, Error> {
    let sessions = read.all_of(&SESSIONS_OF_ACCOUNTS, &keys(accounts), &[now.into()]).await?;
    Ok(sessions.into_iter().collect())
}
