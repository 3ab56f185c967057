//! Queries on behalf of a session. The session check and every statement that the answer needs are
//! sent to the engine as one batch.
//!
//! The token names an account and a group, so that the statements can be sent before the session is
//! proven. Both are hints: rows are collected as [`Unproven`] and can be read only with the
//! [`Scope`] of the group that they belong to, which only the row of the session gives.

mod proven_before;
mod unproven;

use std::sync::Arc;

use kiosque_model::ids::IdFault;
use kiosque_model::session::GroupAccess;
use kiosque_model::{AccountNo, Claim, GroupId, GroupNo, Refusal, Scope};

use crate::db::{Batch, Bound, Cost, Decision, Read, Step};
use crate::sql::{Row, Value};
use crate::{Error, Refused, Store, accounts, sessions};

pub(crate) use proven_before::ProvenBefore;
use unproven::Unproven;

/// A `groupId` filter; `Err` for a text that cannot be an id, which names no group.
pub type GroupFilter = Result<GroupId, IdFault>;

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
/// [`Store::query`] makes one, and [`rows_of_group`] for the operator.
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

/// Returns the rows of a query about a group for the operator, who has no session and sees all
/// groups.
pub(crate) async fn rows_of_group<Q: ScopedQuery>(
    read: &Read<'_>,
    query: &Q,
    group: GroupNo,
) -> Result<Q::Rows, Error> {
    let mut rows = Q::Rows::default();
    for step in query.steps(HintedGroup(group)) {
        if query.decide(&rows, step.kind()) != Decision::Skip {
            let visit = |row: &Row<'_>| query.on_row(&mut rows, step.kind(), row);
            read.each_of_step(&step, visit).await?;
        }
    }
    Ok(rows)
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

impl<Q: ScopedQuery> Batch for Arc<Scoped<Q>> {
    type Proof = Scope;
    type Rows = ScopedRows<Q>;
    type Step = ScopedStep<Q::Step>;

    fn account(&self) -> AccountNo {
        self.claim.token.account_hint()
    }

    fn check(&self) -> Bound<'_> {
        sessions::check(&self.claim)
    }

    fn prove(&self, row: Option<&Row<'_>>) -> Result<Scope, Refused> {
        selected_scope(&self.claim, row)
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
            // The filter's group is not the caller's, or no longer has the hinted number.
            ScopedStep::Query(_)
                if self.query.group().is_some() && rows.open_group != Some(self.group.0) =>
            {
                Decision::Skip
            }
            ScopedStep::Query(step) => rows.of_query.decide(&self.query, step),
        }
    }
}

/// The checks of a query alone, which read no rows of a group.
struct ScopeCheck {
    claim: Claim,
    group: Option<GroupId>,
}

impl Batch for ScopeCheck {
    type Proof = Scope;
    type Rows = Option<GroupNo>;
    type Step = ();

    fn account(&self) -> AccountNo {
        self.claim.token.account_hint()
    }

    fn check(&self) -> Bound<'_> {
        sessions::check(&self.claim)
    }

    fn prove(&self, row: Option<&Row<'_>>) -> Result<Scope, Refused> {
        selected_scope(&self.claim, row)
    }

    fn rows(&self) -> Option<GroupNo> {
        None
    }

    fn steps(&self) -> Vec<Step<'_, ()>> {
        let account = self.claim.token.account_hint();
        let open_group = |group| accounts::bind_open_group(account, group).step(());
        self.group.iter().map(open_group).collect()
    }

    fn on_row(&self, rows: &mut Option<GroupNo>, (): &(), row: &Row<'_>) -> Result<(), Error> {
        *rows = Some(row.read()?);
        Ok(())
    }
}

impl Store {
    /// Answers a query for the caller with this claim, from one snapshot.
    pub(crate) async fn query<Q: ScopedQuery>(
        &self,
        claim: Claim,
        query: Q,
    ) -> Result<Q::Answer, Refused> {
        let (account, now) = (claim.token.account_hint(), claim.now);
        let answer = self.answer(claim, query).await;
        self.ended_if_expired((account, now), answer).await
    }

    async fn answer<Q: ScopedQuery>(&self, claim: Claim, query: Q) -> Result<Q::Answer, Refused> {
        let cost = query.cost();
        let group = match self.hinted_group(&claim, query.group(), cost) {
            Some(group) => group,
            None => self.prove_group(&claim, query.group()).await?,
        };
        let (mut scoped, mut has_loaded) = (Arc::new(Scoped { claim, group, query }), false);
        loop {
            let presented = self.proven_before.presented(&scoped.claim.token);
            let ran = self.db.batch(Arc::clone(&scoped), cost).await;
            let (_, selected, rows) = match ran {
                // Another process has trained the dictionary of a record.
                Err(Refused::Store(error)) if !has_loaded && error.lacks_dictionary() => {
                    self.load_dictionaries().await?;
                    has_loaded = true;
                    continue;
                }
                ran => ran.inspect_err(|refused| {
                    self.proven_before.forget_refused(presented, refused);
                })?,
            };
            let Scoped { claim, query, .. } = Arc::into_inner(scoped).ok_or(Error::Gone)?;
            let scope = match query.group() {
                None => selected,
                Some(filter) => narrowed(selected, filter, rows.open_group).inspect_err(|_| {
                    self.proven_before.forget_group(selected.account(), filter);
                })?,
            };
            if let Some(rows) = rows.of_query.open(scope) {
                return query.answer(rows, scope);
            }
            // The hint was wrong: the session row has another group than its token, or the id of
            // the filter has been given to another group.
            if let Some(filter) = query.group() {
                self.proven_before.add_group(filter, scope);
            }
            scoped = Arc::new(Scoped { claim, group: HintedGroup(scope.group()), query });
        }
    }

    /// Returns the group that a query is about, if its statements may be sent with the checks: no
    /// caller is to cause long reads, or reads of another account's group, with a token or a filter
    /// that has never been proven.
    fn hinted_group(
        &self,
        claim: &Claim,
        filter: Option<&GroupFilter>,
        cost: Cost,
    ) -> Option<HintedGroup> {
        let runs_before_proof = self.db.sends_ahead() || cost == Cost::Blocking;
        if runs_before_proof && !self.proven_before.has_token(&claim.token) {
            return None;
        }
        self.presumed_group(claim, filter).map(HintedGroup)
    }

    /// Returns the group that a query is about, unless the account has never named it. The group is
    /// not proven.
    pub(crate) fn presumed_group(
        &self,
        claim: &Claim,
        filter: Option<&GroupFilter>,
    ) -> Option<GroupNo> {
        match filter {
            None => Some(claim.token.group_hint()),
            Some(filter) => self.proven_before.group(claim.token.account_hint(), filter),
        }
    }

    /// Proves the session and its access to the group of a query, before anything else is read.
    async fn prove_group(
        &self,
        claim: &Claim,
        filter: Option<&GroupFilter>,
    ) -> Result<HintedGroup, Refused> {
        let group = filter.and_then(|filter| filter.as_ref().ok().cloned());
        let check = ScopeCheck { claim: claim.clone(), group };
        let (_, selected, open_group) = self.db.batch(check, Cost::Inline).await?;
        self.proven_before.add_token(claim.token.account_hint(), claim.token.digest());
        let Some(filter) = filter else { return Ok(HintedGroup(selected.group())) };
        let scope = narrowed(selected, filter, open_group)?;
        self.proven_before.add_group(filter, scope);
        Ok(HintedGroup(scope.group()))
    }
}

/// Returns the scope of the selected group, if a row of the session check proves the claim.
fn selected_scope(claim: &Claim, row: Option<&Row<'_>>) -> Result<Scope, Refused> {
    let (session, access) = sessions::prove(claim, row)?;
    Ok(Scope::selected(&session, access).ok_or(Refusal::GroupClosed)?)
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
