//! What an integrator asks: the proof of its session and everything that its answer needs, told to
//! the engine together. The token says which account and which group to look at; the row of the
//! session says whether that is true.

use std::collections::HashMap;
use std::sync::RwLock;

use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::scope::GroupAccess;
use kiosque_model::{AccountNo, GroupId, GroupNo, PresentedToken, Refusal, Scope, Session, UnixMs};

use crate::db::{Ask, Batch, Due, Length};
use crate::devices::GroupFilter;
use crate::sessions;
use crate::sql::{Row, statements};
use crate::{Error, Refused, Store, accounts};

statements! {
    GROUP_NO = "select group_no from groups where group_id = $1";
}

/// No group has this number.
const NO_GROUP: GroupNo = GroupNo(-1);

/// A question within one group.
pub(crate) trait ScopedQuery: Send + Sync + 'static {
    /// What the rows are collected in.
    type Found: Default + Send;
    /// What it comes to.
    type Answer;

    /// Another group of the account than the selected one.
    fn group(&self) -> Option<&GroupFilter> {
        None
    }

    /// How long it may take.
    fn length(&self) -> Length;

    /// The statements, in the order in which their rows come. None depends on another's rows.
    fn asks(&self, group: GroupNo) -> Vec<Ask<'_>>;

    /// Takes a row of the statement in place `ask`.
    fn row(&self, found: &mut Self::Found, ask: usize, row: &Row<'_>) -> Result<(), Error>;

    /// A statement that may show that the others' rows are known; see [`Batch::shortcut`].
    fn shortcut(&self, _: GroupNo) -> Option<Ask<'_>> {
        None
    }

    /// Takes a row of the shortcut.
    fn shortcut_row(&self, _: &mut Self::Found, _: GroupNo, _: &Row<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// What is to be done with the statement in place `ask`, by the rows before it.
    fn due(&self, _: &Self::Found, _: usize) -> Due {
        Due::Now
    }

    /// The answer, to whoever has the scope for it.
    fn answer(self, found: Self::Found, scope: Scope) -> Result<Self::Answer, Refused>;
}

/// The numbers of groups that were asked for by their ids. They are hints, like those of a token:
/// a row is asked for along with the question, and decides.
#[derive(Debug, Default)]
pub(crate) struct GroupHints(RwLock<HashMap<GroupId, GroupNo>>);

impl GroupHints {
    fn of(&self, group: &GroupId) -> Option<GroupNo> {
        read_ignoring_poison(&self.0).get(group).copied()
    }

    fn learn(&self, group: &GroupId, number: GroupNo) {
        let mut known = write_ignoring_poison(&self.0);
        known.insert(group.clone(), number);
    }
}

/// A question of whoever presents a token.
struct Asked<Q> {
    account: AccountNo,
    presented: PresentedToken,
    now: UnixMs,
    /// Which group is looked at, if that turns out to be allowed.
    group: GroupNo,
    question: Q,
}

/// What is known so far.
struct Found<F> {
    session: Option<(Session, GroupAccess)>,
    /// The number of the group that was asked for, if it is an open one of the account.
    open_group: Option<GroupNo>,
    found: F,
}

impl<F: Default> Default for Found<F> {
    fn default() -> Self {
        Found { session: None, open_group: None, found: F::default() }
    }
}

impl<Q: ScopedQuery> Asked<Q> {
    fn wanted(&self) -> Option<&GroupId> {
        self.question.group().and_then(|group| group.as_ref().ok())
    }

    /// How many statements come before those of the question.
    fn own(&self) -> usize {
        1 + usize::from(self.wanted().is_some())
    }
}

impl<Q: ScopedQuery> Batch for Asked<Q> {
    type Found = Found<Q::Found>;

    fn asks(&self) -> Vec<Ask<'_>> {
        let mut asks = self.question.asks(self.group);
        if let Some(group) = self.wanted() {
            asks.insert(0, accounts::ask_open_group(self.account, group));
        }
        asks.insert(0, sessions::ask(self.account));
        asks
    }

    fn row(&self, found: &mut Self::Found, ask: usize, row: &Row<'_>) -> Result<(), Error> {
        let own = self.own();
        match ask {
            0 => found.session = sessions::proven(row, &self.presented, self.now)?,
            1 if own == 2 => found.open_group = Some(GroupNo(row.int(0)?)),
            _ => self.question.row(&mut found.found, ask - own, row)?,
        }
        Ok(())
    }

    fn shortcut(&self) -> Option<(usize, Ask<'_>)> {
        self.question.shortcut(self.group).map(|ask| (self.own(), ask))
    }

    fn shortcut_row(&self, found: &mut Self::Found, row: &Row<'_>) -> Result<(), Error> {
        self.question.shortcut_row(&mut found.found, self.group, row)
    }

    fn due(&self, found: &Self::Found, ask: usize) -> Due {
        match ask.checked_sub(self.own()) {
            Some(ask) => self.question.due(&found.found, ask),
            None => Due::Now,
        }
    }

    fn proven(&self, found: &Self::Found) -> Result<(), Refused> {
        scope(found).map(|_| ())
    }
}

fn scope<F>(found: &Found<F>) -> Result<Scope, Refused> {
    let (session, standing) = found.session.as_ref().ok_or(Refusal::TokenInvalid)?;
    Ok(Scope::selected(session, *standing).ok_or(Refusal::GroupClosed)?)
}

impl Store {
    /// Answers a question of whoever presents a token, from one snapshot.
    pub(crate) async fn ask<Q: ScopedQuery>(
        &self,
        presented: &PresentedToken,
        now: UnixMs,
        mut question: Q,
    ) -> Result<Q::Answer, Refused> {
        let length = question.length();
        let mut group = self.hint(presented, &question).await?;
        loop {
            let (account, presented) = (presented.account_hint(), presented.clone());
            let asked = Asked { account, presented, now, group, question };
            let (asked, found) = self.db.batch(asked, length).await?;
            question = asked.question;
            let scope = scope(&found)?;
            let Some(wanted) = question.group() else {
                return question.answer(found.found, scope);
            };
            // SCOPE-2, SCOPE-3: any active group of the account; the selected group stays.
            let wanted = wanted.as_ref().map_err(|_| Refusal::OutOfScope)?;
            let open = found.open_group.ok_or(Refusal::OutOfScope)?;
            if open == group {
                let narrowed = scope.narrowed(open, GroupAccess::Open);
                return question.answer(found.found, narrowed.ok_or(Refusal::OutOfScope)?);
            }
            // The id has been given to another group meanwhile.
            self.group_hints.learn(wanted, open);
            group = open;
        }
    }

    /// Which group a question is about, as far as that can be known before it is asked.
    async fn hint<Q: ScopedQuery>(
        &self,
        presented: &PresentedToken,
        question: &Q,
    ) -> Result<GroupNo, Error> {
        let Some(filter) = question.group() else { return Ok(presented.group_hint()) };
        let Ok(group) = filter else { return Ok(NO_GROUP) };
        if let Some(known) = self.group_hints.of(group) {
            return Ok(known);
        }
        let number = self
            .db
            .one(&GROUP_NO, &[group.as_str().into()], |row| Ok(GroupNo(row.int(0)?)))
            .await?;
        if let Some(number) = number {
            self.group_hints.learn(group, number);
        }
        Ok(number.unwrap_or(NO_GROUP))
    }
}
