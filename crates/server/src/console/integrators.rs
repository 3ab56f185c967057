//! `/console/integrators`, and the page of an account below it

use kiosque_console::integrators::{self as view, History, Integrators};
use kiosque_model::Right;
use kiosque_store::{AuditQuery, Listing, Oversight};

use super::reply::{Refused, Reply};
use super::request::SignedIn;
use crate::operator::audit_entry;

/// Accounts, or entries of an account, of a page.
const ROWS: usize = 50;

/// Lists the accounts, with their live sessions.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Refused> {
    let (app, now) = (caller.request.app, caller.request.now);
    let after = caller.request.query().text("after");
    let listing = || Listing { after: after.clone(), limit: ROWS };
    let accounts = app.store.list_accounts(listing(), now).await?;
    let sessions = app.store.list_sessions(listing(), now).await?;
    let view = Integrators {
        accounts: accounts.entries,
        sessions: sessions.entries,
        next: accounts.next,
        after,
    };
    Ok(Reply::page(view::page(&caller.frame(), &view)))
}

/// Shows the history of an account. It is a part of the audit trail, which has a right of its own.
pub(super) async fn history(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Refused> {
    let fields = caller.request.query();
    let account = fields.text("name").ok_or(Refused::NotFound)?;
    let after = fields.text("after");
    let before = after.as_deref().map(|text| text.parse().map_err(|_| Refused::Parameter("after")));
    let query = AuditQuery {
        account: Some(account.clone()),
        before: before.transpose()?,
        ..AuditQuery::latest(ROWS)
    };
    let (mut entries, mut next) = (None, None);
    if caller.oversight(Right::Audit).is_ok() {
        let found = caller.request.app.store.audit(query).await?;
        entries = Some(found.entries.into_iter().map(audit_entry).collect());
        next = found.next.map(|entry| entry.to_string());
    }
    let view = History { account, entries, after, next };
    Ok(Reply::page(view::history(&caller.frame(), &view)))
}
