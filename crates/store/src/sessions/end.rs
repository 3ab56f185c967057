//! Sessions that the operator ends (AUTH-24, AUTH-26).

use kiosque_model::audit::AccountChange;
use kiosque_model::{AccountNo, ActedBy, LoginName, UnixMs};

use crate::audit::{self, LiveSession};
use crate::db::{Deadline, Write};
use crate::error::Error;
use crate::sql::statements;
use crate::views::Sessions;

statements! {
    ACCOUNT_NAMED(login_name) -> AccountNo = "select account_no from accounts
        where login_name = $login_name";
    DELETE(account_no) = "delete from sessions where account_no = $account_no";
}

/// The outcome of ending the session of an account.
#[derive(Clone, Debug, PartialEq)]
pub enum EndedSession {
    /// The session ended.
    Ended(LiveSession),
    /// The account had no live session.
    NoSession,
    /// There is no such account.
    UnknownAccount,
}

impl Sessions<'_> {
    /// Ends the session of an account, which may log in again, and records it in the audit trail.
    ///
    /// # Errors
    /// The store failed.
    pub async fn end(self, account: LoginName, by: ActedBy) -> Result<EndedSession, Error> {
        let end_it = async move |write: &Write<'_>| {
            write.wait_for_earlier_leases().await?;
            let name = account.as_str();
            let number = write.one(&ACCOUNT_NAMED, &[name.into()]).await?;
            let Some(number) = number else { return Ok(EndedSession::UnknownAccount) };
            let Some(live) = end(write, number, by.at).await? else {
                return Ok(EndedSession::NoSession);
            };
            let why = AccountChange::EndedByOperator;
            audit::session_ended(write, name, why, live.clone(), &by).await?;
            Ok(EndedSession::Ended(live))
        };
        self.0.db.write(Deadline::OfRequest, end_it).await
    }
}

/// Deletes the session of an account. Returns it if it was live.
pub(crate) async fn end(
    write: &Write<'_>,
    account: AccountNo,
    now: UnixMs,
) -> Result<Option<LiveSession>, Error> {
    super::lock(write, account).await?;
    let live = audit::live_session(write, account, now).await?;
    write.execute(&DELETE, &[account.into()]).await?;
    Ok(live)
}
