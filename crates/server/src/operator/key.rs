//! Authorization of the operator's calls. The key is looked up for each request, so that a revoked
//! key is refused from the next request on.

use http::header::AUTHORIZATION;
use http::request::Parts;
use kiosque_model::{KeyDigest, Right};
use kiosque_store::KeyHolder;

use super::problem::Problem;
use crate::answer::Failure;
use crate::app::App;

const SCHEME: &[u8] = b"bearer";

/// Returns the holder of the request's key if it has the right of this name.
pub(super) async fn holder(app: &App, head: &Parts, right: &str) -> Result<KeyHolder, Problem> {
    let digest = presented(head)?;
    let holder = app.store.key_holder(&digest).await.map_err(Failure::from)?;
    // Unknown and revoked keys are answered alike, and reveal nothing.
    let holder = holder.ok_or_else(|| Problem::unauthorized("the key is unknown or revoked"))?;
    let right = named(right).ok_or_else(|| Failure::internal(&"a right that does not exist"))?;
    if !holder.rights.contain(right) {
        let detail = format!("the key {} does not have the right {right}", holder.name);
        return Err(Problem::forbidden(detail));
    }
    Ok(holder)
}

fn named(name: &str) -> Option<Right> {
    Right::ALL.into_iter().find(|right| right.name() == name)
}

/// Returns the digest of the key of `Authorization: Bearer KEY`.
fn presented(head: &Parts) -> Result<KeyDigest, Problem> {
    let mut values = head.headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.as_bytes(),
        (None, _) => return Err(Problem::unauthorized("send Authorization: Bearer KEY")),
        (Some(_), Some(_)) => return Err(Problem::unauthorized("send Authorization only once")),
    };
    let (scheme, rest) = value.split_at(value.len().min(SCHEME.len()));
    let key = rest.strip_prefix(b" ").filter(|_| scheme.eq_ignore_ascii_case(SCHEME));
    let key = key.ok_or_else(|| Problem::unauthorized("send Authorization: Bearer KEY"))?;
    KeyDigest::of_presented(key.trim_ascii())
        .ok_or_else(|| Problem::unauthorized("the key is unknown or revoked"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiosque_contract::OPERATOR_CALLS;

    #[test]
    fn every_call_needs_a_right_that_exists() {
        for call in OPERATOR_CALLS {
            assert!(call.right.is_none_or(|right| named(right).is_some()), "{}", call.path);
        }
        assert!(Right::ALL.into_iter().all(|right| named(right.name()) == Some(right)));
    }
}
