//! Refused requests of integrators, found by id or by account.

use kiosque_console::refused::{LookUp, PARAMETER, Refused as View};
use kiosque_model::LoginName;
use kiosque_store::FoundRequest;
use serde_json::Value;

use super::request::SignedIn;
use crate::failure::Failure;

/// Maximum requests on an account's page.
const LISTED: usize = 50;

/// Looks up the request that the query specifies, if any.
pub(super) async fn look_up(caller: &SignedIn<'_>) -> Result<Option<LookUp>, Failure> {
    let Some(request_id) = caller.call.fields().trimmed(PARAMETER) else { return Ok(None) };
    let (store, now) = (&caller.call.app.store, caller.call.now);
    let found = store.trail().refused_request(request_id.clone(), now).await?;
    Ok(Some(LookUp { request_id, found: found.map(view) }))
}

/// Returns the latest refused requests of an account.
pub(super) async fn of_account(caller: &SignedIn<'_>, account: &str) -> Result<Vec<View>, Failure> {
    // A text that cannot be a login name belongs to no account.
    let Ok(account) = LoginName::parse(account) else { return Ok(Vec::new()) };
    let (store, now) = (&caller.call.app.store, caller.call.now);
    let found = store.trail().refused_of(&account, LISTED, now).await?;
    Ok(found.into_iter().map(view).collect())
}

fn view(found: FoundRequest) -> View {
    let FoundRequest { number: _, request_id, at, account, is_proven, source, exchange } = found;
    let answer: Value = serde_json::from_str(&exchange.answer).unwrap_or_default();
    let page = exchange.page.map(|page| format!("?{page}")).unwrap_or_default();
    let message = answer["msg"].as_str().unwrap_or(&exchange.answer).to_owned();
    let data = match &answer["data"] {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) if *text != message => vec![text.clone()],
        _ => Vec::new(),
    };
    View {
        request_id,
        at,
        account,
        is_proven,
        source,
        asked: format!("{} {}{page}", exchange.method, exchange.path),
        fields: exchange.body,
        status: exchange.status,
        code: answer["code"].as_i64(),
        message,
        data,
        kind: exchange.refusal.as_deref().and_then(|name| name.parse().ok()),
        cause: exchange.cause,
    }
}
