//! Queries on behalf of a session. The session check and every statement that the answer needs are
//! sent to the engine as one batch.
//!
//! The token names an account and a group, so that the statements can be sent before the session is
//! proven. Both are hints: rows are collected as [`Unproven`] and can be read only with the
//! [`Scope`] of the group that they belong to, which only the row of the session gives.

mod unproven;

use std::collections::HashMap;
use std::sync::RwLock;

use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::ids::IdFault;
use kiosque_model::session::GroupAccess;
use kiosque_model::{Claim, GroupId, GroupNo, Refusal, Scope};

use crate::db::{Batch, Bound, Cost, Decision, Step};
use crate::sql::{Row, Value, statements};
use crate::{Error, Refused, Store, accounts, sessions};

use unproven::Unproven;

statements! {
    GROUP_NO(group_id) -> GroupNo = "select group_no from groups where group_id = $group_id";
}

/// A `groupId` filter; `Err` for a text that cannot be an id, which names no group.
pub type GroupFilter = Result<GroupId, IdFault>;

/// No group has this number.
const NO_GROUP: GroupNo = GroupNo(-1);

/// A query within one group.
pub(crate) trait ScopedQuery: Send + Sync + 'static {
    /// An accumulator for the rows.
    type Rows: Default + Send;
    /// The purpose of a statement of the query.
    type Step: Send + Sync;
    type Answer;

    /// Returns another group of the account to query instead of the selected one.
    fn group(&self) -> Option<&GroupFilter> {
        None
    }

    fn cost(&self) -> Cost;

    /// Returns the statements, in the order in which their rows arrive. None depends on the rows of
    /// another.
    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, Self::Step>>;

    /// Adds a row of a step.
    fn on_row(&self, rows: &mut Self::Rows, step: &Self::Step, row: &Row<'_>) -> Result<(), Error>;

    /// Returns a statement that reads the version of cached rows; see [`Batch::cache_check`].
    fn cache_check(&self, _: HintedGroup) -> Option<Step<'_, Self::Step>> {
        None
    }

    /// Decides whether to run a step; see [`Batch::decide`].
    fn decide(&self, _: &Self::Rows, _: &Self::Step) -> Decision {
        Decision::Run
    }

    /// Makes the answer from the rows of the scope's group.
    fn answer(self, rows: Self::Rows, scope: Scope) -> Result<Self::Answer, Refused>;
}

/// The group whose rows a query reads, before it is known whether the caller may see them. Only
/// [`Store::query`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HintedGroup(GroupNo);

impl HintedGroup {
    pub(crate) fn number(self) -> GroupNo {
        self.0
    }
}

impl From<HintedGroup> for Value<'_> {
    fn from(group: HintedGroup) -> Self {
        group.0.into()
    }
}

/// A cache of the numbers of groups by their ids. They are hints: each query that uses one also
/// looks the id up.
#[derive(Debug, Default)]
pub(crate) struct GroupHints(RwLock<HashMap<GroupId, GroupNo>>);

impl GroupHints {
    fn get(&self, group: &GroupId) -> Option<GroupNo> {
        read_ignoring_poison(&self.0).get(group).copied()
    }

    fn insert(&self, group: &GroupId, number: GroupNo) {
        write_ignoring_poison(&self.0).insert(group.clone(), number);
    }
}

/// A query and the claim of its caller, as a batch.
struct Scoped<Q> {
    claim: Claim,
    group: HintedGroup,
    query: Q,
}

enum ScopedStep<S> {
    /// Looks the filter's group up.
    OpenGroup,
    Query(S),
}

struct ScopedRows<Q: ScopedQuery> {
    /// The number of the filter's group, if it is an open group of the account.
    open_group: Option<GroupNo>,
    of_query: Unproven<Q>,
}

impl<Q: ScopedQuery> Batch for Scoped<Q> {
    type Proof = Scope;
    type Rows = ScopedRows<Q>;
    type Step = ScopedStep<Q::Step>;

    fn check(&self) -> Bound<'_> {
        sessions::check(&self.claim)
    }

    fn prove(&self, row: Option<&Row<'_>>) -> Result<Scope, Refused> {
        let (session, access) = sessions::prove(&self.claim, row)?;
        Ok(Scope::selected(&session, access).ok_or(Refusal::GroupClosed)?)
    }

    fn rows(&self) -> Self::Rows {
        ScopedRows { open_group: None, of_query: Unproven::new(self.group) }
    }

    fn steps(&self) -> Vec<Step<'_, Self::Step>> {
        let steps = self.query.steps(self.group);
        let mut steps: Vec<_> = steps.into_iter().map(|step| step.map(ScopedStep::Query)).collect();
        if let Some(Ok(group)) = self.query.group() {
            let open_group = accounts::bind_open_group(self.claim.token.account_hint(), group);
            steps.insert(0, open_group.step(ScopedStep::OpenGroup));
        }
        steps
    }

    fn on_row(&self, rows: &mut Self::Rows, step: &Self::Step, row: &Row<'_>) -> Result<(), Error> {
        match step {
            ScopedStep::OpenGroup => rows.open_group = Some(row.read()?),
            ScopedStep::Query(step) => rows.of_query.on_row(&self.query, step, row)?,
        }
        Ok(())
    }

    fn cache_check(&self) -> Option<Step<'_, Self::Step>> {
        Some(self.query.cache_check(self.group)?.map(ScopedStep::Query))
    }

    fn decide(&self, rows: &Self::Rows, step: &Self::Step) -> Decision {
        match step {
            ScopedStep::OpenGroup => Decision::Run,
            ScopedStep::Query(step) => rows.of_query.decide(&self.query, step),
        }
    }
}

impl Store {
    /// Answers a query for the caller with this claim, from one snapshot.
    pub(crate) async fn query<Q: ScopedQuery>(
        &self,
        mut claim: Claim,
        mut query: Q,
    ) -> Result<Q::Answer, Refused> {
        let cost = query.cost();
        let mut group = self.hinted_group(&claim, &query).await?;
        loop {
            let scoped = Scoped { claim, group, query };
            let (scoped, selected, rows) = self.db.batch(scoped, cost).await?;
            Scoped { claim, query, .. } = scoped;
            let scope = match query.group() {
                None => selected,
                Some(filter) => narrowed(selected, filter, rows.open_group)?,
            };
            if let Some(rows) = rows.of_query.open(scope) {
                return query.answer(rows, scope);
            }
            // The hint was wrong: the session row has another group than its token, or the id of
            // the filter has been given to another group.
            if let Some(Ok(filter)) = query.group() {
                self.group_hints.insert(filter, scope.group());
            }
            group = HintedGroup(scope.group());
        }
    }

    /// Returns the group that a query is about, as far as it is known before the query runs.
    async fn hinted_group<Q: ScopedQuery>(
        &self,
        claim: &Claim,
        query: &Q,
    ) -> Result<HintedGroup, Error> {
        let Some(filter) = query.group() else {
            return Ok(HintedGroup(claim.token.group_hint()));
        };
        let Ok(group) = filter else { return Ok(HintedGroup(NO_GROUP)) };
        if let Some(known) = self.group_hints.get(group) {
            return Ok(HintedGroup(known));
        }
        let number = self.db.one(&GROUP_NO, &[group.as_str().into()], |row| row.read()).await?;
        if let Some(number) = number {
            self.group_hints.insert(group, number);
        }
        Ok(HintedGroup(number.unwrap_or(NO_GROUP)))
    }
}

/// Returns the scope of a filter's group, which must be an open group of the account (SCOPE-3). The
/// selected group stays selected (SCOPE-2).
fn narrowed(
    selected: Scope,
    filter: &GroupFilter,
    open_group: Option<GroupNo>,
) -> Result<Scope, Refused> {
    let group = filter.as_ref().ok().and(open_group).ok_or(Refusal::OutOfScope)?;
    Ok(selected.narrowed(group, GroupAccess::Open).ok_or(Refusal::OutOfScope)?)
}
