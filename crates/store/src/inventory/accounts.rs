//! The lists of accounts and of sessions.

use std::collections::{BTreeSet, HashMap};

use kiosque_contract::FleetAccount;
use kiosque_contract::inventory::{AccountItem, SessionItem};
use kiosque_model::{AccountNo, UnixMs};

use super::{Listed, Listing, numbers};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::sql::{distinct, row, statements};
use crate::views::Inventory;

row! {
    struct AccountRow {
        account_no: AccountNo,
        login_name: String,
        display_name: String,
        third_party_api: bool,
        enabled: bool,
    }
    struct HashOfAccount { account_no: AccountNo, password_hash: String }
    struct GroupOfAccount { account_no: AccountNo, group_id: String }
    struct SessionRow {
        account_no: AccountNo,
        group_id: Option<String>,
        opened_at_ms: Option<UnixMs>,
        expires_at_ms: UnixMs,
        source: Option<String>,
        request_id: Option<String>,
    }
}

statements! {
    ACCOUNTS(after, count) -> AccountRow = "select account_no, login_name, display_name,
            third_party_api, enabled
        from accounts where login_name > $after order by login_name limit $count";
    ACCOUNT(login_name) -> AccountRow = "select account_no, login_name, display_name,
            third_party_api, enabled
        from accounts where login_name = $login_name";
    HASHES_OF_ACCOUNTS() -> HashOfAccount = "select a.account_no, a.password_hash
        from {rows r: account bigint} cross join accounts a where a.account_no = r.account";
    GROUPS_OF_ACCOUNTS() -> GroupOfAccount = "select a.account_no, g.group_id
        from {rows r: account bigint} cross join account_groups a
        join groups g on g.group_no = a.group_no
        where a.account_no = r.account order by a.account_no, a.position";
    /// The accounts that belong to an active group, once for each.
    WITH_ACTIVE_GROUP() -> String = "select a.login_name
        from {rows r: name text} cross join accounts a
        join account_groups ag on ag.account_no = a.account_no
        join groups g on g.group_no = ag.group_no
        where a.login_name = r.name and g.active";
    SESSIONS_OF_ACCOUNTS(now_ms) -> SessionRow = "select s.account_no, g.group_id, s.opened_at_ms,
            s.expires_at_ms, s.source, s.request_id
        from {rows r: account bigint} cross join sessions s
        left join groups g on g.group_no = s.group_no
        where s.account_no = r.account and s.expires_at_ms > $now_ms";
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
            let entries: Vec<AccountRow> = row.into_iter().collect();
            let session = session_items(read, &entries, now).await?.pop();
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
            Ok(Listed { entries: session_items(read, &rows.entries, now).await?, next: rows.next })
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

async fn account_rows(read: &Read<'_>, listing: &Listing) -> Result<Listed<AccountRow>, Error> {
    listing.read(read, &ACCOUNTS, &[], |row: &AccountRow| &row.login_name).await
}

/// Returns the live sessions of accounts, in the same order.
async fn session_items(
    read: &Read<'_>,
    rows: &[AccountRow],
    now: UnixMs,
) -> Result<Vec<SessionItem>, Error> {
    let mut sessions = sessions(read, rows, now).await?;
    let items = rows.iter().filter_map(|row| {
        let session = sessions.remove(&row.account_no)?;
        Some(SessionItem {
            account: row.login_name.clone(),
            group_id: session.group_id,
            opened_timestamp: session.opened_at_ms.map(|at| at.0),
            expires_timestamp: session.expires_at_ms.0,
            source: session.source,
            request_id: session.request_id,
        })
    });
    Ok(items.collect())
}

async fn items(
    read: &Read<'_>,
    rows: Listed<AccountRow>,
    now: UnixMs,
) -> Result<Listed<AccountItem>, Error> {
    let mut groups = groups(read, &rows.entries).await?;
    let sessions = sessions(read, &rows.entries, now).await?;
    Ok(rows.map(|row| AccountItem {
        account: row.login_name,
        display_name: row.display_name,
        third_party_api: row.third_party_api,
        enabled: row.enabled,
        group_ids: groups.remove(&row.account_no).unwrap_or_default(),
        session_expires_timestamp: sessions
            .get(&row.account_no)
            .map(|session| session.expires_at_ms.0),
    }))
}

/// Returns a part of the accounts as entries of a fleet file.
pub(super) async fn fleet_accounts(
    read: &Read<'_>,
    listing: &Listing,
    passwords: Passwords,
) -> Result<Listed<FleetAccount>, Error> {
    let rows = account_rows(read, listing).await?;
    let mut groups = groups(read, &rows.entries).await?;
    let mut hashes = HashMap::new();
    if passwords == Passwords::Hashed {
        let keys = numbers(rows.entries.iter().map(|row| row.account_no));
        for row in read.all_of::<HashOfAccount>(&HASHES_OF_ACCOUNTS, &keys, &[]).await? {
            hashes.insert(row.account_no, row.password_hash);
        }
    }
    Ok(rows.map(|row| FleetAccount {
        login_name: row.login_name,
        display_name: Some(row.display_name),
        password: None,
        password_hash: hashes.remove(&row.account_no),
        third_party_api: Some(row.third_party_api),
        enabled: Some(row.enabled),
        groups: Some(groups.remove(&row.account_no).unwrap_or_default()),
    }))
}

/// Returns the groups of accounts, in each account's order.
async fn groups(
    read: &Read<'_>,
    accounts: &[AccountRow],
) -> Result<HashMap<AccountNo, Vec<String>>, Error> {
    let keys = numbers(accounts.iter().map(|row| row.account_no));
    let mut groups: HashMap<AccountNo, Vec<String>> = HashMap::new();
    for row in read.all_of::<GroupOfAccount>(&GROUPS_OF_ACCOUNTS, &keys, &[]).await? {
        groups.entry(row.account_no).or_default().push(row.group_id);
    }
    Ok(groups)
}

/// Returns the live sessions of accounts.
async fn sessions(
    read: &Read<'_>,
    accounts: &[AccountRow],
    now: UnixMs,
) -> Result<HashMap<AccountNo, SessionRow>, Error> {
    let keys = numbers(accounts.iter().map(|row| row.account_no));
    let sessions: Vec<SessionRow> =
        read.all_of(&SESSIONS_OF_ACCOUNTS, &keys, &[now.into()]).await?;
    Ok(sessions.into_iter().map(|row| (row.account_no, row)).collect())
}
