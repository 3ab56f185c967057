//! Accounts of a fleet. A changed password, a disabled account or disabled API access deletes the
//! session row in the same transaction, so that the session ends at once.

use kiosque_model::audit::AccountChange;
use kiosque_model::fleet::AccountEntry;
use kiosque_model::{AccountNo, GroupId, GroupNo};

use super::{EndedSession, EntryChange, FleetApplier};
use crate::sql::{row, statements};
use crate::{Error, audit, sessions};

row! {
    #[derive(PartialEq)]
    struct AccountRow {
        display_name: String,
        password_hash: String,
        third_party_api: bool,
        enabled: bool,
    }
    struct NumberedAccount { account_no: AccountNo, account: AccountRow }
}

statements! {
    ACCOUNT_BY_NAME(login_name) -> NumberedAccount = "select account_no, display_name,
            password_hash, third_party_api, enabled
        from accounts where login_name = $login_name";
    NEXT_ACCOUNT() -> i64 = "select coalesce(max(account_no), 0) + 1 from accounts";
    SET_ACCOUNT(
        account_no, login_name, display_name, password_hash, third_party_api, enabled
    ) = "insert into accounts
            (account_no, login_name, display_name, password_hash, third_party_api, enabled)
        values ($account_no, $login_name, $display_name, $password_hash, $third_party_api, $enabled)
        on conflict (account_no) do update set display_name = excluded.display_name,
            password_hash = excluded.password_hash,
            third_party_api = excluded.third_party_api, enabled = excluded.enabled";
    GROUPS(account_no) -> GroupNo = "select group_no from account_groups
        where account_no = $account_no order by position";
    DELETE_GROUPS(account_no) = "delete from account_groups where account_no = $account_no";
    INSERT_GROUP(account_no, group_no, position) = "insert into account_groups
            (account_no, group_no, position)
        values ($account_no, $group_no, $position)";
    DELETE_SESSION(account_no) = "delete from sessions where account_no = $account_no";
}

impl FleetApplier<'_> {
    /// Creates or changes an account.
    pub(super) async fn account(
        &mut self,
        entry: &AccountEntry,
        new_hash: Option<&str>,
    ) -> Result<EntryChange, Error> {
        let name = entry.login_name.as_str();
        let known = self.write.one(&ACCOUNT_BY_NAME, &[name.into()], |row| row.read()).await?;
        let (number, old) = match known {
            Some(NumberedAccount { account_no, account }) => (account_no, Some(account)),
            None => (AccountNo(self.next_no(&NEXT_ACCOUNT).await?), None),
        };
        let Some(hash) = new_hash.or(old.as_ref().map(|account| account.password_hash.as_str()))
        else {
            let required = "password or password_hash: required for a new account";
            return Ok(self.fault(format!("account {name}: {required}")));
        };
        let former = old.as_ref();
        let new = AccountRow {
            display_name: entry.display_name.clone().unwrap_or_else(|| {
                former.map_or_else(|| name.to_owned(), |account| account.display_name.clone())
            }),
            password_hash: hash.to_owned(),
            third_party_api: entry
                .third_party_api
                .unwrap_or_else(|| former.is_some_and(|account| account.third_party_api)),
            enabled: entry.enabled.unwrap_or_else(|| former.is_none_or(|account| account.enabled)),
        };
        self.set_account(number, name, &new).await?;
        let groups = self.account_groups(number, name, entry.groups.as_deref()).await?;
        self.end_session_without_access((number, name), old.as_ref(), &new).await?;
        Ok(match old {
            None => EntryChange::Created,
            Some(old) if old == new => groups,
            Some(_) => EntryChange::Changed,
        })
    }

    async fn set_account(
        &self,
        number: AccountNo,
        name: &str,
        account: &AccountRow,
    ) -> Result<(), Error> {
        let params = [
            number.into(),
            name.into(),
            account.display_name.as_str().into(),
            account.password_hash.as_str().into(),
            account.third_party_api.into(),
            account.enabled.into(),
        ];
        self.write.execute(&SET_ACCOUNT, &params).await?;
        Ok(())
    }

    async fn account_groups(
        &mut self,
        number: AccountNo,
        name: &str,
        groups: Option<&[GroupId]>,
    ) -> Result<EntryChange, Error> {
        let Some(groups) = groups else { return Ok(EntryChange::Unchanged) };
        let old = self.write.all(&GROUPS, &[number.into()], |row| row.read()).await?;
        let mut new = Vec::with_capacity(groups.len());
        for group in groups {
            match self.group_no(group).await? {
                Some(known) => new.push(known),
                None => {
                    self.fault(format!("account {name}: groups: no group {group} is known"));
                }
            }
        }
        if old != new {
            self.write.execute(&DELETE_GROUPS, &[number.into()]).await?;
            for (position, group) in (0_i64..).zip(&new) {
                let params = [number.into(), (*group).into(), position.into()];
                self.write.execute(&INSERT_GROUP, &params).await?;
            }
        }
        Ok(EntryChange::between(&old, &new))
    }

    async fn end_session_without_access(
        &mut self,
        (number, name): (AccountNo, &str),
        old: Option<&AccountRow>,
        new: &AccountRow,
    ) -> Result<(), Error> {
        let Some(reason) = old.and_then(|old| lost_access(old, new)) else { return Ok(()) };
        sessions::lock(self.write, number).await?;
        let live = audit::live_session(self.write, number, self.by.at).await?;
        self.ended.extend(live.map(|session| EndedSession {
            account: name.to_owned(),
            reason,
            session,
        }));
        self.write.execute(&DELETE_SESSION, &[number.into()]).await?;
        Ok(())
    }
}

fn lost_access(old: &AccountRow, new: &AccountRow) -> Option<AccountChange> {
    if old.enabled && !new.enabled {
        Some(AccountChange::Account)
    } else if old.third_party_api && !new.third_party_api {
        Some(AccountChange::ApiAccess)
    } else if old.password_hash != new.password_hash {
        Some(AccountChange::Password)
    } else {
        None
    }
}
