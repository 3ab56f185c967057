//! Reads on behalf of a session. The session check and every statement that the answer needs are
//! sent to the engine together.
//!
//! The token contains the numbers of an account and a group, so that the statements can be sent
//! before the session is proven. Both are hints: rows are read into an [`Unproven`], which only the
//! [`Scope`] of their group opens, and only the session row yields a scope.

mod unproven;

use kiosque_model::{AccountNo, Claim, GroupNo, Refusal, Scope, Session, SessionRow, UnixMs};

use crate::db::{Bound, CheckedRead, Readings, Write};
use crate::dictionaries;
use crate::error::Refused;
use crate::hints::GroupFilter;
use crate::sql::{Value, row, statements};
use crate::state::State;
use crate::views::Sessions;
pub use unproven::Unproven;

row! {
    for SessionRow<'r> { account, selected_group, token_digest, expires_at, is_open }
}

statements! {
    SESSION(account_no) -> SessionRow<'_> = "select s.account_no as account,
            s.group_no as selected_group, s.token_digest, s.expires_at_ms as expires_at, coalesce((
                select g.active from account_groups ag join groups g on g.group_no = ag.group_no
                where ag.account_no = s.account_no and ag.group_no = s.group_no
            ), false) as is_open
        from sessions s where s.account_no = $account_no";
    /// The session, and an open group of the account by its id.
    SESSION_AND_GROUP(account_no, group_id) -> (SessionRow<'_>, Option<GroupNo>) = "select
            s.account_no as account, s.group_no as selected_group, s.token_digest,
            s.expires_at_ms as expires_at, coalesce((
                select g.active from account_groups ag join groups g on g.group_no = ag.group_no
                where ag.account_no = s.account_no and ag.group_no = s.group_no
            ), false) as is_open, (
                select g.group_no from groups g
                join account_groups ag on ag.group_no = g.group_no
                where ag.account_no = s.account_no and g.group_id = $group_id and g.active
            ) as filtered_group
        from sessions s where s.account_no = $account_no";
    END_EXPIRED(account_no, now_ms) = "delete from sessions
        where account_no = $account_no and expires_at_ms <= $now_ms";
}

/// The group whose rows are read, before it is known whether the caller may see them. Only
/// [`check_and_read`] creates one from a token or a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HintedGroup(GroupNo);

impl HintedGroup {
    /// Returns a group for the operator, who has no session and sees all groups.
    pub(crate) fn for_operator(group: GroupNo) -> HintedGroup {
        HintedGroup(group)
    }

    pub(crate) fn number(self) -> GroupNo {
        self.0
    }
}

impl From<HintedGroup> for Value<'_> {
    fn from(group: HintedGroup) -> Self {
        group.0.into()
    }
}

impl Sessions<'_> {
    /// Proves a session for a request that is refused for its content: an invalid token is reported
    /// before an invalid body.
    ///
    /// # Errors
    /// `TokenInvalid`, `SessionExpired`, or the store failed.
    pub async fn prove(self, claim: Claim) -> Result<(), Refused> {
        let (account, group) = (claim.token.account_hint(), claim.token.group_hint());
        let proven = match check_and_read(self.0, &claim, None, group, |_| ()).await {
            Err(Refused::Refusal(Refusal::GroupClosed)) => Ok(()),
            proven => proven.map(|_| ()),
        };
        ended_if_expired(self.0, account, claim.now, proven).await
    }
}

/// Reads in one snapshot for the caller with this claim: about the group of the filter, or the
/// selected group. `readings` returns what is read about a group, and may be called again.
pub(crate) async fn scoped<R: Readings>(
    state: &State,
    claim: &Claim,
    filter: Option<&GroupFilter>,
    readings: impl Fn(HintedGroup) -> R,
) -> Result<(Scope, R::Rows), Refused> {
    let answer = match read_scoped(state, claim, filter, &readings).await {
        // Another process has trained the dictionary of a record.
        Err(Refused::Store(error)) if error.lacks_dictionary() => {
            dictionaries::load_dictionaries(state).await?;
            read_scoped(state, claim, filter, &readings).await
        }
        answer => answer,
    };
    ended_if_expired(state, claim.token.account_hint(), claim.now, answer).await
}

async fn read_scoped<R: Readings>(
    state: &State,
    claim: &Claim,
    filter: Option<&GroupFilter>,
    readings: &impl Fn(HintedGroup) -> R,
) -> Result<(Scope, R::Rows), Refused> {
    // No caller may cause reads with a token or a filter that has never been proven.
    let is_known = !state.db.sends_ahead() || state.proven_before.has_token(&claim.token);
    let hinted = presumed_group(state, claim, filter).filter(|_| is_known);
    let mut group = match hinted {
        Some(group) => group,
        None => {
            let selected = claim.token.group_hint();
            let (scope, _) = check_and_read(state, claim, filter, selected, |_| ()).await?;
            let account = claim.token.account_hint();
            state.proven_before.add_token(account, claim.token.digest());
            if let Some(filter) = filter {
                state.proven_before.add_group(filter, scope);
            }
            scope.group()
        }
    };
    loop {
        let (scope, rows) = check_and_read(state, claim, filter, group, readings).await?;
        if let Some(rows) = rows {
            return Ok((scope, rows));
        }
        // The hint was wrong: the session row has another group than its token, or the id of the
        // filter now belongs to another group.
        if let Some(filter) = filter {
            state.proven_before.add_group(filter, scope);
        }
        group = scope.group();
    }
}

/// Returns the group that a read is about, unless the account has never requested it. The group is
/// not proven.
pub(crate) fn presumed_group(
    state: &State,
    claim: &Claim,
    filter: Option<&GroupFilter>,
) -> Option<GroupNo> {
    match filter {
        None => Some(claim.token.group_hint()),
        Some(filter) => state.proven_before.group(claim.token.account_hint(), filter),
    }
}

/// Proves the caller, and reads about a group. The rows are `None` if it is not the caller's.
async fn check_and_read<R: Readings>(
    state: &State,
    claim: &Claim,
    filter: Option<&GroupFilter>,
    group: GroupNo,
    readings: impl Fn(HintedGroup) -> R,
) -> Result<(Scope, Option<R::Rows>), Refused> {
    let account = claim.token.account_hint();
    let read = || {
        let mut reading = readings(HintedGroup(group)).into_one();
        let check = match filter {
            Some(Ok(group)) => {
                Bound::new(&SESSION_AND_GROUP, [account.into(), group.as_str().into()])
            }
            None | Some(Err(_)) => Bound::new(&SESSION, [account.into()]),
        };
        let mut statements = reading.take_statements();
        statements.insert(0, check);
        let answer = Unproven::new(claim.clone(), filter.cloned(), group, reading);
        CheckedRead { statements, answer, visit: Unproven::add }
    };
    let answer = state.db.read_checked(account, read).await.and_then(Unproven::open);
    answer.inspect_err(|refused| match filter {
        Some(filter) if matches!(refused, Refused::Refusal(Refusal::OutOfScope)) => {
            state.proven_before.forget_group(account, filter);
        }
        _ => state.proven_before.forget_refused(&claim.token, refused),
    })
}

/// Returns the session that a claim proves, in a transaction that changes it.
pub(crate) async fn live_session(write: &Write<'_>, claim: &Claim) -> Result<Session, Refused> {
    let mut proven = Err(Refusal::TokenInvalid);
    write
        .each(&SESSION, &[claim.token.account_hint().into()], |row| {
            proven = Session::prove(claim, &row.read()?);
            Ok(())
        })
        .await?;
    Ok(proven?)
}

/// Deletes the session of an account if an answer says that it has expired: it stays ended when the
/// clock is set back (AUTH-25).
pub(crate) async fn ended_if_expired<T>(
    state: &State,
    account: AccountNo,
    now: UnixMs,
    answer: Result<T, Refused>,
) -> Result<T, Refused> {
    if let Err(Refused::Refusal(Refusal::SessionExpired)) = answer {
        let end = Bound::new(&END_EXPIRED, [account.into(), now.into()]);
        // The refusal is right even if this fails; the next use of the token tries again. The write
        // is boxed, because its future would enlarge the future of every request.
        let _ = Box::pin(state.db.execute(end)).await;
    }
    answer
}
