//! The version of the devices of a group, by which cached lists of them are validated.

use kiosque_model::{GroupNo, Scope, UnixMs};

use crate::db::{Bound, Cost, Step};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::{Row, row, statements};
use crate::{Error, Refused};

row! {
    /// The instant from which on a group owns the devices that it lists.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Validity { devices_from_ms: UnixMs }
}

statements! {
    VERSION(group_no) -> i64 = "select version from list_versions where group_no = $group_no";
    VALIDITY(group_no) -> Validity = "select devices_from_ms
        from group_changes where group_no = $group_no";
}

/// The conditions under which a list of the devices of a group holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListVersion {
    pub(super) group: GroupNo,
    pub(super) version: i64,
    pub(super) validity: Validity,
}

impl Validity {
    pub(super) fn contains(&self, now: UnixMs) -> bool {
        self.devices_from_ms <= now
    }
}

pub(super) fn bind_version(group: HintedGroup) -> Bound<'static> {
    Bound::new(&VERSION, [group.into()])
}

pub(super) fn bind_validity(group: HintedGroup) -> Bound<'static> {
    Bound::new(&VALIDITY, [group.into()])
}

/// Reads the version alone. The answer is the scope's group and the version.
pub(super) struct PresentVersion {
    pub(super) filter: Option<GroupFilter>,
}

impl ScopedQuery for PresentVersion {
    type Rows = Option<i64>;
    type Step = ();
    type Answer = (GroupNo, Option<i64>);

    fn group(&self) -> Option<&GroupFilter> {
        self.filter.as_ref()
    }

    fn cost(&self) -> Cost {
        Cost::Inline
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, ()>> {
        vec![bind_version(group).step(())]
    }

    fn on_row(&self, version: &mut Option<i64>, (): &(), row: &Row<'_>) -> Result<(), Error> {
        *version = Some(row.read()?);
        Ok(())
    }

    fn answer(self, version: Option<i64>, scope: Scope) -> Result<Self::Answer, Refused> {
        Ok((scope.group(), version))
    }
}
