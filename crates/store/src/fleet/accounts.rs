//! Accounts of a fleet. A changed password, a disabled account or disabled API access deletes the
//! session row in the same transaction, so that the session ends at once.

use std::collections::HashMap;

use kiosque_contract::ChangeCounts;
use kiosque_model::audit::AccountChange;
use kiosque_model::fleet::{AccountEntry, EntryKind, Fleet};
use kiosque_model::{AccountNo, GroupNo, LoginName, UnixMs};

use super::groups::Groups;
use super::{ApplyError, FleetError, NewHash, NewHashes, count_entry, lists_of, next_number};
use crate::accounts::{AccountRow, KeyedAccount};
use crate::audit::LiveSession;
use crate::change_counts::Changed;
use crate::db::{Read, Write};
use crate::error::Error;
use crate::sessions;
use crate::sql::{Value, distinct, numbers, statements};

statements! {
    ACCOUNTS_BY_NAME() -> KeyedAccount = "select a.login_name, a.account_no, a.display_name,
            a.password_hash, a.third_party_api, a.enabled
        from {rows r: name text} cross join accounts a where a.login_name = r.name";
    NEXT_ACCOUNT() -> i64 = "select coalesce(max(account_no), 0) + 1 from accounts";
    SET_ACCOUNTS() = "insert into accounts
            (account_no, login_name, display_name, password_hash, third_party_api, enabled)
        select r.number, r.login, r.name, r.hash, r.api, r.enabled
        from {rows r: number bigint, login text, name text, hash text, api boolean,
            enabled boolean} where true
        on conflict (account_no) do update set display_name = excluded.display_name,
            password_hash = excluded.password_hash,
            third_party_api = excluded.third_party_api, enabled = excluded.enabled";
    GROUPS_OF_ACCOUNTS() -> (AccountNo, String) = "select a.account_no, g.group_id
        from {rows r: account bigint} cross join account_groups a cross join groups g
        where a.account_no = r.account and g.group_no = a.group_no
        order by a.account_no, a.position";
    DELETE_ACCOUNT_GROUPS() = "delete from account_groups using {rows r: account bigint}
        where account_groups.account_no = r.account";
    INSERT_ACCOUNT_GROUPS() = "insert into account_groups (account_no, group_no, position)
        select r.account_no, r.group_no, r.place
        from {rows r: account_no bigint, group_no bigint, place bigint} where true";
}

/// Returns the ids of the groups of accounts, in each account's order.
pub(crate) async fn groups_of_accounts(
    read: &Read<'_>,
    accounts: &[[Value<'_>; 1]],
) -> Result<HashMap<AccountNo, Vec<String>>, Error> {
    lists_of(read, &GROUPS_OF_ACCOUNTS, accounts).await
}

/// The stored accounts of a fleet's entries.
pub(super) struct Accounts {
    by_name: HashMap<String, Account>,
    next: i64,
}

#[derive(Clone, PartialEq)]
pub(super) struct Account {
    number: AccountNo,
    pub(super) row: AccountRow,
    /// The ids of its groups, in their order.
    pub(super) groups: Vec<String>,
}

/// An account that an apply creates or changes.
pub(super) struct ChangedAccount<'a> {
    pub(super) name: &'a LoginName,
    pub(super) account: Changed<Account>,
    /// The groups, if the entry has them.
    groups: Option<Vec<GroupNo>>,
}

/// A session that ended because its account lost its access.
pub(super) struct EndedSession {
    pub(super) account: String,
    pub(super) reason: AccountChange,
    pub(super) session: LiveSession,
}

impl Accounts {
    /// Reads every account that has an entry in a fleet.
    pub(super) async fn read(read: &Read<'_>, fleet: &Fleet) -> Result<Accounts, Error> {
        let names = distinct(fleet.accounts.iter().map(|entry| entry.login_name.as_str()));
        let stored: Vec<KeyedAccount> = read.all_of(&ACCOUNTS_BY_NAME, &names, &[]).await?;
        let keys = numbers(stored.iter().map(|row| row.account_no));
        let mut groups = groups_of_accounts(read, &keys).await?;
        let stored = stored.into_iter().map(|row| {
            let KeyedAccount { login_name, account_no: number, account: row } = row;
            let groups = groups.remove(&number).unwrap_or_default();
            (login_name, Account { number, row, groups })
        });
        let by_name = stored.collect();
        let is_empty = fleet.accounts.is_empty();
        let next = if is_empty { 0 } else { next_number(read, &NEXT_ACCOUNT).await? };
        Ok(Accounts { by_name, next })
    }

    /// Returns the accounts that entries create or change. A new account is left out if its
    /// password has no hash, as when a fleet is only checked.
    ///
    /// # Errors
    /// [`ApplyError::PasswordChanged`].
    pub(super) fn plan<'a>(
        &mut self,
        entries: &'a [AccountEntry],
        new_hashes: &NewHashes,
        groups: &Groups,
        counts: &mut ChangeCounts,
        errors: &mut Vec<FleetError>,
    ) -> Result<Vec<ChangedAccount<'a>>, ApplyError> {
        let mut changes = Vec::new();
        for entry in entries {
            let name = entry.login_name.as_str();
            let old = self.by_name.get(name);
            let old_row = old.map(|account| &account.row);
            let stored_hash = old_row.map(|row| row.password_hash.as_str());
            let hash = match new_hashes.get(name) {
                Some(given) => given.checked_against(stored_hash)?.or(stored_hash),
                None => stored_hash,
            };
            if hash.is_none() && entry.password.is_none() {
                let fields = &["password", "password_hash"];
                errors.push(FleetError::required(EntryKind::Account, name, fields));
            }
            let groups = entry.groups.as_ref().map(|ids| {
                let known = ids.iter().filter_map(|id| {
                    let number = groups.get(id).map(|group| group.group_no);
                    if number.is_none() {
                        let error = format!("account {name}: groups: no group {id} is known");
                        errors.push(error.into());
                    }
                    number
                });
                known.collect::<Vec<_>>()
            });
            let Some(hash) = hash else { continue };
            let row = merged(entry, hash, old_row);
            let number = old.map_or(AccountNo(self.next), |account| account.number);
            let group_ids = match &entry.groups {
                Some(ids) => ids.iter().map(ToString::to_string).collect(),
                None => old.map(|account| account.groups.clone()).unwrap_or_default(),
            };
            let new = Account { number, row, groups: group_ids };
            if count_entry(counts, old, &new) {
                self.next += i64::from(old.is_none());
                let account = Changed { old: old.cloned(), new };
                changes.push(ChangedAccount { name: &entry.login_name, account, groups });
            }
        }
        Ok(changes)
    }
}

impl NewHash {
    /// Returns the hash to store, if the stored one is still the one with which the password was
    /// compared.
    fn checked_against(&self, stored: Option<&str>) -> Result<Option<&str>, ApplyError> {
        if self.compared_with.as_deref() == stored {
            Ok(self.new.as_deref())
        } else {
            Err(ApplyError::PasswordChanged)
        }
    }
}

/// Returns the row with the fields of an entry, and the old values of fields that it leaves out.
fn merged(entry: &AccountEntry, hash: &str, old: Option<&AccountRow>) -> AccountRow {
    let display_name = entry.display_name.clone().or_else(|| Some(old?.display_name.clone()));
    AccountRow {
        display_name: display_name.unwrap_or_else(|| entry.login_name.as_str().to_owned()),
        password_hash: hash.to_owned(),
        third_party_api: entry
            .third_party_api
            .unwrap_or_else(|| old.is_some_and(|account| account.third_party_api)),
        enabled: entry.enabled.unwrap_or_else(|| old.is_none_or(|account| account.enabled)),
    }
}

fn lost_access(old: &AccountRow, new: &AccountRow) -> Option<AccountChange> {
    if old.enabled && !new.enabled {
        Some(AccountChange::AccountDisabled)
    } else if old.third_party_api && !new.third_party_api {
        Some(AccountChange::ApiAccessOff)
    } else if old.password_hash != new.password_hash {
        Some(AccountChange::PasswordChanged)
    } else {
        None
    }
}

/// Writes the accounts that a plan changes, and returns the sessions that this ends.
pub(super) async fn write(
    write: &Write<'_>,
    changes: &[ChangedAccount<'_>],
    now: UnixMs,
) -> Result<Vec<EndedSession>, Error> {
    let rows = changes.iter().map(|ChangedAccount { name, account, .. }| {
        let Account { number, row, .. } = &account.new;
        let AccountRow { display_name, password_hash, third_party_api, enabled } = row;
        [
            (*number).into(),
            name.as_str().into(),
            display_name.as_str().into(),
            password_hash.as_str().into(),
            (*third_party_api).into(),
            (*enabled).into(),
        ]
    });
    write.execute_each(&SET_ACCOUNTS, rows, &[]).await?;
    let regrouped = || {
        let regrouped = changes.iter().filter(|ChangedAccount { account, .. }| {
            account.old.as_ref().is_none_or(|old| old.groups != account.new.groups)
        });
        regrouped.filter_map(|one| Some((one.account.new.number, one.groups.as_ref()?)))
    };
    let numbers = regrouped().map(|(number, _)| [number.into()]);
    write.execute_each(&DELETE_ACCOUNT_GROUPS, numbers, &[]).await?;
    let rows = regrouped().flat_map(|(number, groups)| {
        let positions = (0_i64..).zip(groups);
        positions.map(move |(at, group)| [number.into(), (*group).into(), at.into()])
    });
    write.execute_each(&INSERT_ACCOUNT_GROUPS, rows, &[]).await?;
    let mut ended = Vec::new();
    for ChangedAccount { name, account: Changed { old, new }, .. } in changes {
        let reason = old.as_ref().and_then(|old| lost_access(&old.row, &new.row));
        let Some(reason) = reason else { continue };
        let live = sessions::end(write, new.number, now).await?;
        let name = name.as_str();
        ended.extend(live.map(|session| EndedSession {
            account: name.to_owned(),
            reason,
            session,
        }));
    }
    Ok(ended)
}
