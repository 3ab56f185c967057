//! Accounts: their credentials and their groups.

use kiosque_model::{AccountNo, GroupId, GroupNo, LoginName};

use crate::db::Read;
use crate::error::Error;
use crate::sql::{row, statements};
use crate::views::Sessions;

row! {
    for Credentials { account, password_hash }
    /// An account, without its login name.
    #[derive(Clone, PartialEq)]
    pub(crate) struct AccountRow {
        pub(crate) display_name: String,
        pub(crate) password_hash: String,
        pub(crate) third_party_api: bool,
        pub(crate) enabled: bool,
    }
    pub(crate) struct KeyedAccount {
        pub(crate) login_name: String,
        pub(crate) account_no: AccountNo,
        pub(crate) account: AccountRow,
    }
    /// A group.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct GroupRow {
        pub(crate) group_no: GroupNo,
        pub(crate) group_id: String,
        pub(crate) group_name: String,
        pub(crate) active: bool,
    }
}

statements! {
    CREDENTIALS(login_name) -> Credentials = "select account_no as account, password_hash
        from accounts where login_name = $login_name";
    GROUPS(account_no) -> GroupRow = "select g.group_no, g.group_id, g.group_name, g.active
        from account_groups ag join groups g on g.group_no = ag.group_no
        where ag.account_no = $account_no and g.active
        order by ag.position";
    /// Groups by number; an empty id selects all.
    NUMBERS(group_id) -> GroupNo = "select group_no from groups
        where $group_id = '' or group_id = $group_id order by group_no";
    GROUP(group_id) -> GroupNo = "select group_no from groups where group_id = $group_id";
    GROUP_ID(group_no) -> String = "select group_id from groups where group_no = $group_no";
    OPEN_GROUP(account_no, group_id) -> GroupNo = "select g.group_no
        from groups g join account_groups ag on ag.group_no = g.group_no
        where g.group_id = $group_id and ag.account_no = $account_no and g.active";
}

/// The stored credentials of an account.
#[derive(Clone)]
pub struct Credentials {
    /// The account.
    pub account: AccountNo,
    /// Its argon2id hash in PHC form.
    pub password_hash: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({:?}, ***)", self.account)
    }
}

impl Sessions<'_> {
    /// Returns the credentials of a login name, if there is such an account.
    ///
    /// # Errors
    /// The store failed.
    pub async fn credentials(self, login_name: &LoginName) -> Result<Option<Credentials>, Error> {
        self.0.db.one(&CREDENTIALS, &[login_name.as_str().into()]).await
    }
}

/// Returns the active groups of an account, its default first.
pub(crate) async fn switchable(
    read: &Read<'_>,
    account: AccountNo,
) -> Result<Vec<GroupRow>, Error> {
    read.all(&GROUPS, &[account.into()]).await
}

/// Returns an active group of the account by its public id.
pub(crate) async fn open_group(
    read: &Read<'_>,
    account: AccountNo,
    group: &GroupId,
) -> Result<Option<GroupNo>, Error> {
    let params = [account.into(), group.as_str().into()];
    read.one(&OPEN_GROUP, &params).await
}

/// Returns the number of the group with an id.
pub(crate) async fn group_number(read: &Read<'_>, id: &GroupId) -> Result<Option<GroupNo>, Error> {
    read.one(&GROUP, &[id.as_str().into()]).await
}

/// Returns the id of the group with a number.
pub(crate) async fn group_id(read: &Read<'_>, group: GroupNo) -> Result<Option<String>, Error> {
    read.one(&GROUP_ID, &[group.into()]).await
}

/// Returns the number of the group with an id, or the numbers of all groups, sorted.
pub(crate) async fn group_numbers(
    read: &Read<'_>,
    id: Option<&GroupId>,
) -> Result<Vec<GroupNo>, Error> {
    read.all(&NUMBERS, &[id.map_or("", GroupId::as_str).into()]).await
}
