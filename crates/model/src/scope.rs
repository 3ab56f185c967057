//! The permission scope of a request.

use crate::ids::{AccountNo, GroupNo};
use crate::session::Session;

/// Whether an account may access a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAccess {
    /// Active, and assigned to the account.
    Open,
    /// Unknown, deactivated, or not (any more) assigned to the account.
    Closed,
}

/// The group that a request may see. Every scoped query requires a scope, and only a [`Session`]
/// yields one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    account: AccountNo,
    group: GroupNo,
}

impl Scope {
    /// Returns the scope of a session's selected group, unless the group has been closed.
    #[must_use]
    pub fn selected(session: &Session, access: GroupAccess) -> Option<Scope> {
        let scope = Scope { account: session.account(), group: session.selected_group() };
        (access == GroupAccess::Open).then_some(scope)
    }

    /// Returns the scope of another group of the account, for a `groupId` filter. The session's
    /// selected group stays the same.
    #[must_use]
    pub fn narrowed(self, group: GroupNo, access: GroupAccess) -> Option<Scope> {
        (access == GroupAccess::Open).then_some(Scope { group, ..self })
    }

    /// Returns the account.
    #[must_use]
    pub fn account(self) -> AccountNo {
        self.account
    }

    /// Returns the group whose devices and orders are visible.
    #[must_use]
    pub fn group(self) -> GroupNo {
        self.group
    }
}
