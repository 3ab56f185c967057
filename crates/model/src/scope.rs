//! What a request may see.

use crate::ids::{AccountNo, GroupNo};
use crate::session::Session;

/// Whether a group may be looked into: it is active and assigned to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupStanding {
    /// Active, and assigned to the account.
    Open,
    /// Unknown, deactivated, or not (any more) assigned to the account.
    Closed,
}

/// The one group that a request may see, proven by a live session. Every scoped query asks for a
/// scope, and there is no way to make one without a [`Session`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    account: AccountNo,
    group: GroupNo,
}

impl Scope {
    /// The selected group of a live session, unless it has been closed meanwhile.
    #[must_use]
    pub fn selected(session: &Session, standing: GroupStanding) -> Option<Scope> {
        let scope = Scope { account: session.account(), group: session.selected_group() };
        (standing == GroupStanding::Open).then_some(scope)
    }

    /// The same account's view of another of its groups, for a `groupId` filter. Does not switch.
    #[must_use]
    pub fn narrowed(self, group: GroupNo, standing: GroupStanding) -> Option<Scope> {
        (standing == GroupStanding::Open).then_some(Scope { group, ..self })
    }

    /// Whose scope it is.
    #[must_use]
    pub fn account(self) -> AccountNo {
        self.account
    }

    /// The group whose devices and orders may be seen.
    #[must_use]
    pub fn group(self) -> GroupNo {
        self.group
    }
}
