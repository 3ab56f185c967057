//! `/console/integrators`, and the page of an account below it.

use kiosque_console::integrators::{self as view, Account, History, Integrators};
use kiosque_console::refused::PARAMETER;
use kiosque_console::sort;
use kiosque_contract::inventory::SessionItem;
use kiosque_model::usage::FunctionUsage;
use kiosque_model::{LoginName, Right};
use kiosque_store::{AccountUse, AuditQuery, EndedSession, Listing, Oversight};

use super::choices::{self, Format, format};
use super::fields::Fields;
use super::refused;
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;

/// Maximum accounts, or entries of an account, on a page.
const ROWS: usize = 50;
/// Maximum sources of failed logins on the page.
const GUESSES: usize = 20;

/// Lists the accounts, with their live sessions.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    let query = caller.call.known_fields(&["after", sort::PARAMETER, "format", PARAMETER])?;
    let sort = choices::sort::<Account>(&query)?;
    let after = query.text("after");
    let format = format(&query)?;
    let listing = || Listing { after: after.clone(), limit: ROWS };
    let accounts = app.store.inventory().accounts(listing(), now).await?;
    let sessions = app.store.inventory().sessions(listing(), now).await?;
    let names: Vec<String> =
        accounts.entries.iter().map(|account| account.account.clone()).collect();
    let active = app.store.inventory().with_active_group(names.clone()).await?;
    let uses = app.store.trail().uses_of(names).await?;
    let listed = accounts.entries.into_iter().map(|item| {
        let of_item = |session: &&SessionItem| session.account == item.account;
        let session = sessions.entries.iter().find(of_item).cloned();
        let last_use = uses.get(&item.account).and_then(|of| of.last);
        Account { has_active_group: active.contains(&item.account), item, session, last_use }
    });
    let mut guesses = app.store.trail().usage().guesses();
    guesses.truncate(GUESSES);
    let view = Integrators {
        codes: app.store.trail().usage().answers_by_code(),
        guesses,
        not_recorded: app.store.trail().refused().dropped(),
        accounts: listed.collect(),
        sort: sort.of_part(after.as_deref(), accounts.next.as_deref()),
        next: accounts.next,
        after,
        look_up: refused::look_up(caller).await?,
    };
    Ok(caller.reply(format, &view, view::page, "accounts.csv", view::csv))
}

/// Shows the history of an account. It is a part of the audit trail, which requires a separate
/// right.
pub(super) async fn history(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let known = ["name", "after", sort::PARAMETER, "format"];
    let fields = caller.call.known_fields(&known)?;
    let sort = choices::sort::<FunctionUsage>(&fields)?;
    let format = format(&fields)?;
    let account = fields.text("name").ok_or_else(Failure::not_found)?;
    let store = &caller.call.app.store;
    let found = store.inventory().account(account.clone(), caller.call.now).await?;
    // Accounts are never deleted.
    let (item, session) = found.ok_or_else(Failure::not_found)?;
    let active = store.inventory().with_active_group(vec![account.clone()]).await?;
    let mut uses = store.trail().uses_of(vec![account.clone()]).await?;
    let AccountUse { functions, last } = uses.remove(&account).unwrap_or_default();
    let query = AuditQuery {
        account: Some(account.clone()),
        before: fields.parsed("after", |text| text.parse().ok())?,
        ..AuditQuery::latest(ROWS)
    };
    let found = match caller.oversight(Right::Audit) {
        Ok(_) => Some(store.trail().entries(query).await?),
        Err(refused) if format == Format::Csv => return Err(refused),
        Err(_) => None,
    };
    let next = found.as_ref().and_then(|found| found.next).map(|entry_no| entry_no.to_string());
    let entries = found.map(|found| found.entries);
    if format == Format::Csv {
        let frame = caller.frame();
        let entries = entries.unwrap_or_default();
        let rows = kiosque_console::audit::csv(&frame, &entries, next.as_deref());
        return Ok(Reply::csv("account.csv", rows));
    }
    let refused = refused::of_account(caller, &account).await?;
    let groups = choices::choice(store, &Fields::default()).await?;
    let account = Account { has_active_group: !active.is_empty(), item, session, last_use: last };
    let after = fields.text("after");
    let view = History { account, groups, functions, sort, entries, refused, after, next };
    Ok(Reply::page(view::history(&caller.frame(), &view)))
}

/// Ends the session of an account, and shows the account.
pub(super) async fn end_session(
    caller: &SignedIn<'_>,
    _: Oversight<'_>,
    form: &Fields,
) -> Result<Reply, Failure> {
    let name = form.text("name").unwrap_or_default();
    let account = LoginName::parse(&name).map_err(|_| Failure::not_found())?;
    match caller.call.app.store.sessions().end(account, caller.acted_by()).await? {
        EndedSession::UnknownAccount => Err(Failure::not_found()),
        EndedSession::Ended(_) | EndedSession::NoSession => {
            Ok(Reply::see_other(&view::account_path(&name)))
        }
    }
}
