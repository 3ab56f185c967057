//! Accounts, as far as a login needs them.

use kiosque_model::{AccountNo, GroupId, GroupNo, LoginName};

use crate::db::{Ask, Read};
use crate::sessions::SwitchableGroup;
use crate::sql::statements;
use crate::{Error, Store};

statements! {
    CREDENTIALS = "select account_no, password_hash from accounts where login_name = $1";
    GROUPS = "select g.group_no, g.group_id, g.group_name
        from account_groups ag join groups g on g.group_no = ag.group_no
        where ag.account_no = $1 and g.active
        order by ag.position";
    OPEN_GROUP = "select g.group_no
        from groups g join account_groups ag on ag.group_no = g.group_no
        where g.group_id = $2 and ag.account_no = $1 and g.active";
}

/// What a password is compared with.
#[derive(Clone)]
pub struct Credentials {
    /// Whose.
    pub account: AccountNo,
    /// Its argon2id hash in PHC form.
    pub password_hash: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({:?}, ***)", self.account)
    }
}

impl Store {
    /// The credentials of a login name, if there is such an account.
    ///
    /// # Errors
    /// The store failed.
    pub async fn credentials(&self, login_name: &LoginName) -> Result<Option<Credentials>, Error> {
        self.db
            .one(&CREDENTIALS, &[login_name.as_str().into()], |row| {
                let password_hash = row.text(1)?.to_owned();
                Ok(Credentials { account: AccountNo(row.int(0)?), password_hash })
            })
            .await
    }
}

/// The active groups of an account, its default first.
pub(crate) async fn switchable(
    read: &Read<'_>,
    account: AccountNo,
) -> Result<Vec<(GroupNo, SwitchableGroup)>, Error> {
    read.all(&GROUPS, &[account.0.into()], |row| {
        let (group_id, group_name) = (row.text(1)?.to_owned(), row.text(2)?.to_owned());
        Ok((GroupNo(row.int(0)?), SwitchableGroup { group_id, group_name }))
    })
    .await
}

/// An active group of the account, by the id that people see.
pub(crate) async fn open_group(
    read: &Read<'_>,
    account: AccountNo,
    group: &GroupId,
) -> Result<Option<GroupNo>, Error> {
    let params = [account.0.into(), group.as_str().into()];
    read.one(&OPEN_GROUP, &params, |row| Ok(GroupNo(row.int(0)?))).await
}

/// Asks for the number of an active group of the account, by the id that people see.
pub(crate) fn ask_open_group(account: AccountNo, group: &GroupId) -> Ask<'_> {
    Ask::new(&OPEN_GROUP, [account.0.into(), group.as_str().into()])
}
