//! Who calls: the key that a request brings is looked up for each request, so that one that was
//! revoked opens nothing from the next request on.

use http::header::AUTHORIZATION;
use http::request::Parts;
use kiosque_model::{KeyDigest, Right};
use kiosque_store::KeyHolder;

use super::problem::Problem;
use crate::answer::Failure;
use crate::app::App;

const SCHEME: &[u8] = b"bearer";

/// Whose key the request brings, if it may do this.
pub(crate) async fn holder(app: &App, head: &Parts, right: Right) -> Result<KeyHolder, Problem> {
    let digest = presented(head)?;
    let holder = app.store.key_holder(&digest).await.map_err(Failure::from)?;
    // Unknown and revoked are told alike: whoever holds no live key learns nothing.
    let holder = holder.ok_or_else(|| Problem::unauthorized("the key is not known here"))?;
    if !holder.rights.contain(right) {
        let detail = format!("the key {} may not do this; it takes {right}", holder.name);
        return Err(Problem::forbidden(detail));
    }
    Ok(holder)
}

/// The digest of the key of `Authorization: Bearer KEY`.
fn presented(head: &Parts) -> Result<KeyDigest, Problem> {
    let mut values = head.headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.as_bytes(),
        (None, _) => return Err(Problem::unauthorized("send Authorization: Bearer KEY")),
        (Some(_), Some(_)) => return Err(Problem::unauthorized("Authorization stands twice")),
    };
    let (scheme, rest) = value.split_at(value.len().min(SCHEME.len()));
    let key = rest.strip_prefix(b" ").filter(|_| scheme.eq_ignore_ascii_case(SCHEME));
    let key = key.ok_or_else(|| Problem::unauthorized("send Authorization: Bearer KEY"))?;
    KeyDigest::of_presented(key.trim_ascii())
        .ok_or_else(|| Problem::unauthorized("the key is not known here"))
}
