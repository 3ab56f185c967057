//! Rows that are read before their caller is proven.

use kiosque_model::Scope;

use super::{HintedGroup, ScopedQuery};
use crate::Error;
use crate::db::Decision;
use crate::sql::Row;

/// The rows of a query, read for a group that the caller named. Only [`Unproven::open`] returns
/// them, for the scope of that group.
pub(super) struct Unproven<Q: ScopedQuery> {
    group: HintedGroup,
    rows: Q::Rows,
}

impl<Q: ScopedQuery> Unproven<Q> {
    pub(super) fn new(group: HintedGroup) -> Unproven<Q> {
        Unproven { group, rows: Q::Rows::default() }
    }

    pub(super) fn on_row(&mut self, query: &Q, step: &Q::Step, row: &Row<'_>) -> Result<(), Error> {
        query.on_row(&mut self.rows, step, row)
    }

    pub(super) fn decide(&self, query: &Q, step: &Q::Step) -> Decision {
        query.decide(&self.rows, step)
    }

    /// Returns the rows; `None` if they belong to another group than the scope's.
    pub(super) fn open(self, scope: Scope) -> Option<Q::Rows> {
        (scope.group() == self.group.number()).then_some(self.rows)
    }
}
