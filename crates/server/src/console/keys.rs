//! `/console/keys`

use kiosque_console::keys::{self as view, Keys, NewKey, Outcome};
use kiosque_console::sort::{PARAMETER, Sort};
use kiosque_model::{KeyEntry, KeyName, OperatorKey, Rights};
use kiosque_store::{CreatedKey, KeyHolder, Oversight};

use super::choices::{format, sort};
use super::fields::Fields;
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;

/// Maximum revoked keys on the page, the newest ones.
const REVOKED_MAX: usize = 50;

/// Lists the keys.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let query = caller.call.known_fields(&[PARAMETER, "format"])?;
    let (format, sort) = (format(&query)?, sort::<KeyEntry>(&query)?);
    let view = listed(caller, sort).await?;
    Ok(caller.reply(format, &view, view::page, "keys.csv", view::csv))
}

/// Creates or revokes a key, and shows the result. A page with a key is not stored, and sending its
/// form again creates no second key: the name is taken.
pub(super) async fn change(
    caller: &SignedIn<'_>,
    granter: Oversight<'_>,
    form: &Fields,
) -> Result<Reply, Failure> {
    let mut sent = NewKey::default();
    let outcome = match form.text("action").as_deref() {
        Some("create") => {
            sent.name = form.trimmed("name").unwrap_or_default();
            sent.rights = form.all("may");
            create(caller, granter, &sent).await?
        }
        Some("revoke") => revoke(caller, form).await?,
        _ => return Err(Failure::bad_form(&"it has no action")),
    };
    if matches!(outcome, Outcome::Created(..)) {
        sent = NewKey::default();
    }
    let view = Keys { outcome: Some(outcome), sent, ..listed(caller, Sort::Free).await? };
    Ok(Reply::page(view::page(&caller.frame(), &view)).secret())
}

async fn create(
    caller: &SignedIn<'_>,
    granter: Oversight<'_>,
    sent: &NewKey,
) -> Result<Outcome, Failure> {
    let given = sent.name.clone();
    let name = match KeyName::parse(given.clone()) {
        Ok(name) => name,
        Err(error) => return Ok(Outcome::BadName(given, error.to_string())),
    };
    let rights = sent.rights.join(",");
    if rights.is_empty() {
        return Ok(Outcome::NoRights);
    }
    let rights: Rights = rights
        .parse()
        .map_err(|error: kiosque_model::operator::NoRight| Failure::bad_form(&error))?;
    let app = caller.call.app;
    let key = OperatorKey::mint(app.entropy.bytes()?);
    let holder = KeyHolder { name, rights };
    let by = caller.acted_by();
    Ok(match app.store.operators().grant_key(granter, holder, key.digest(), by).await? {
        Some(CreatedKey::Created) => Outcome::Created(given, key.reveal().to_owned()),
        Some(CreatedKey::NameTaken(_)) => Outcome::NameTaken(given),
        None => Outcome::NotGranted,
    })
}

async fn revoke(caller: &SignedIn<'_>, form: &Fields) -> Result<Outcome, Failure> {
    let given = form.text("name").unwrap_or_default();
    let Ok(name) = KeyName::parse(given.clone()) else { return Ok(Outcome::Unknown(given)) };
    let app = caller.call.app;
    Ok(match app.store.operators().revoke_key(name, caller.acted_by()).await? {
        true => Outcome::Revoked(given),
        false => Outcome::Unknown(given),
    })
}

/// Returns the live keys and the latest revoked ones, each the newest first. If others are left
/// out, their order is fixed.
async fn listed(caller: &SignedIn<'_>, sort: Sort) -> Result<Keys, Failure> {
    let stored = caller.call.app.store.operators().keys().await?;
    let (mut revoked, mut keys): (Vec<KeyEntry>, Vec<KeyEntry>) =
        stored.into_iter().rev().partition(|key| key.revoked_at.is_some());
    let is_cut = revoked.len() > REVOKED_MAX;
    revoked.truncate(REVOKED_MAX);
    keys.append(&mut revoked);
    let sort = if is_cut { Sort::Fixed } else { sort };
    Ok(Keys { keys, is_cut, sort, sent: NewKey::default(), outcome: None })
}
