//! Rows that are read before their caller is proven.

use kiosque_model::{GroupNo, Scope};

use crate::db::{Bound, Reading};
use crate::error::Error;
use crate::sql::Row;

/// The rows of a group that the caller specified. Only the scope of that group opens them.
///
/// ```
/// use kiosque_store::Unproven;
///
/// fn rows<R>(unproven: Unproven<R>) -> Unproven<R> {
///     unproven
/// }
/// ```
///
/// Without a scope they are not returned:
///
/// ```compile_fail,E0616
/// use kiosque_store::Unproven;
///
/// fn rows<R>(unproven: Unproven<R>) -> R {
///     unproven.readings
/// }
/// ```
///
/// Nor can a scope be created from a group that a caller specified:
///
/// ```compile_fail,E0451
/// use kiosque_model::{AccountNo, GroupNo, Scope};
///
/// fn scope(account: AccountNo, group: GroupNo) -> Scope {
///     Scope { account, group }
/// }
/// ```
pub struct Unproven<R> {
    group: GroupNo,
    readings: Reading<R>,
}

impl<R> Unproven<R> {
    pub(super) fn new(group: GroupNo, readings: Reading<R>) -> Unproven<R> {
        Unproven { group, readings }
    }

    pub(super) fn group(&self) -> GroupNo {
        self.group
    }

    pub(super) fn take_statements(&mut self) -> Vec<Bound> {
        self.readings.take_statements()
    }

    pub(super) fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error> {
        self.readings.add(statement, row)
    }

    /// Returns the rows; `None` if they belong to another group than the scope's.
    pub(super) fn open(self, scope: Scope) -> Option<R> {
        (scope.group() == self.group).then(|| self.readings.into_rows())
    }
}
