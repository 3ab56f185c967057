//! Rows that are read before their caller is proven.

use std::ops::ControlFlow;

use kiosque_model::{Claim, GroupNo, Refusal, Scope, Session, SessionRow};

use crate::db::Reading;
use crate::error::Refused;
use crate::hints::GroupFilter;
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
    claim: Claim,
    /// The caller requests this group instead of the selected one.
    filter: Option<GroupFilter>,
    group: GroupNo,
    /// What the session row proves.
    scope: Option<Scope>,
    readings: Reading<R>,
}

impl<R> Unproven<R> {
    pub(super) fn new(
        claim: Claim,
        filter: Option<GroupFilter>,
        group: GroupNo,
        readings: Reading<R>,
    ) -> Unproven<R> {
        Unproven { claim, filter, group, scope: None, readings }
    }

    /// Adds the session row, which is the row of the first statement, or a row of another one.
    pub(super) fn add(
        &mut self,
        statement: usize,
        row: &Row<'_>,
    ) -> Result<ControlFlow<()>, Refused> {
        if let Some(statement) = statement.checked_sub(1) {
            self.readings.add(statement, row)?;
            return Ok(ControlFlow::Continue(()));
        }
        let scope = self.prove(row)?;
        self.scope = Some(scope);
        let is_hinted = scope.group() == self.group;
        Ok(if is_hinted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    fn prove(&self, row: &Row<'_>) -> Result<Scope, Refused> {
        let (session, filtered_group): (SessionRow<'_>, Option<GroupNo>) = match self.filter {
            Some(Ok(_)) => row.read()?,
            None | Some(Err(_)) => (row.read()?, None),
        };
        let session = Session::prove(&self.claim, &session)?;
        let selected = Scope::selected(&session).ok_or(Refusal::GroupClosed)?;
        Ok(match self.filter {
            None => selected,
            // The selected group stays selected (SCOPE-2).
            Some(_) => selected.narrowed(filtered_group.ok_or(Refusal::OutOfScope)?),
        })
    }

    /// Returns the scope of the caller, and the rows; `None` if they belong to another group.
    pub(super) fn open(self) -> Result<(Scope, Option<R>), Refused> {
        let scope = self.scope.ok_or(Refusal::TokenInvalid)?;
        let is_of_scope = scope.group() == self.group;
        Ok((scope, is_of_scope.then(|| self.readings.into_rows())))
    }
}
