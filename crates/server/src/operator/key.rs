//! Authorization of the operator's calls. The key is looked up for each request, so that a revoked
//! key is refused from the next request on. In a stream, which may last for hours, it is looked up
//! again once a second, even while nothing is sent.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::AUTHORIZATION;
use http::request::Parts;
use kiosque_contract::operator_call::OperatorCall;
use kiosque_ingest::ndjson::RawLine;
use kiosque_model::{KeyDigest, UnixMs};
use kiosque_store::{KeyHolder, KeyUse};

use super::lines::Lines;
use crate::app::App;
use crate::call::{Call, SentBody};
use crate::failure::Failure;

const SCHEME: &[u8] = b"bearer";
/// The age in milliseconds at which the look-up of a stream's key is repeated.
const LOOKUP_AGE_MAX_MS: i64 = 1_000;
/// The interval at which a waiting stream checks that age.
const AGE_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The time without a line after which a stopping server ends a stream.
const REST_AT_STOP: Duration = Duration::from_millis(500);

/// The proof that a caller may run a call.
pub(crate) enum Proof {
    /// The key in the header of the request.
    Key,
    /// The key of a live session of the console, whose holder tries the call.
    Session(KeyHolder),
}

/// Returns the holder of a key if it has the right with this name.
pub(super) async fn holder(
    app: &App,
    digest: &KeyDigest,
    right: &str,
) -> Result<KeyHolder, Failure> {
    let now = app.clock.now();
    let found = app.store.operators().key_in_use(digest, now).await?;
    let (holder, key_use) = found.ok_or_else(unknown)?;
    if key_use == KeyUse::Due {
        app.store_key_use(digest.clone(), now);
    }
    permitted(holder, right)
}

/// Unknown and revoked keys are answered in the same way, and reveal nothing.
fn unknown() -> Failure {
    Failure::unauthorized("the key is unknown or revoked")
}

/// Returns `holder` if its key has the right with this name.
pub(super) fn permitted(holder: KeyHolder, right: &str) -> Result<KeyHolder, Failure> {
    let no_right = |_| Failure::internal(&format!("{right:?} is not a right"));
    let right = right.parse().map_err(no_right)?;
    if !holder.rights.contain(right) {
        let reason = format!("the key {} does not have the right {right}", holder.name);
        return Err(Failure::denied(StatusCode::FORBIDDEN, reason));
    }
    Ok(holder)
}

/// The key of a stream whose request was authorized.
pub(super) struct StreamKey {
    app: Arc<App>,
    digest: KeyDigest,
    right: &'static str,
    looked_up_at: UnixMs,
}

impl StreamKey {
    /// Returns the key of a request that was authorized.
    pub(super) fn new<C: OperatorCall>(_: C, call: &Call<'_>) -> Result<StreamKey, Failure> {
        let app = Arc::clone(call.app);
        let right = const { C::RIGHT.expect("the call takes a key") };
        Ok(StreamKey { app, digest: presented(call.head)?, right, looked_up_at: call.now })
    }

    /// Looks the key up again if the last look-up is a second old, and fails if it was revoked.
    pub(super) async fn check(&mut self) -> Result<(), Failure> {
        let now = self.app.clock.now();
        // A clock that was set back does not postpone the look-up.
        if (now.0.saturating_sub(self.looked_up_at.0)).saturating_abs() < LOOKUP_AGE_MAX_MS {
            return Ok(());
        }
        holder(&self.app, &self.digest, self.right).await?;
        self.looked_up_at = now;
        Ok(())
    }

    /// Returns the refusal of the key once it was revoked. A failing store is no reason to end a
    /// stream that has nothing to store or read.
    pub(super) async fn revoked(&mut self) -> Failure {
        loop {
            tokio::time::sleep(AGE_CHECK_INTERVAL).await;
            match self.check().await {
                Err(failure) if failure.system_error().is_none() => return failure,
                Ok(()) | Err(_) => {}
            }
        }
    }

    /// Returns the next lines of a body, as [`Lines::next_chunk`] does.
    ///
    /// # Errors
    /// An error of the body; or the key was revoked, or the server stopped, before the lines
    /// arrived.
    pub(super) async fn next_chunk(
        &mut self,
        lines: &mut Lines<'_, SentBody>,
        chunk_bytes: usize,
    ) -> Result<Option<Vec<RawLine>>, Failure> {
        let app = Arc::clone(&self.app);
        let chunk = tokio::select! {
            chunk = lines.next_chunk(chunk_bytes) => chunk?,
            revoked = self.revoked() => return Err(revoked.after_lines()),
            () = rests_at_stop(&app) => {
                let reason = "the server is stopping";
                return Err(Failure::denied(StatusCode::SERVICE_UNAVAILABLE, reason).after_lines());
            }
        };
        if chunk.is_some() {
            self.check().await.map_err(Failure::after_lines)?;
        }
        Ok(chunk)
    }
}

/// Returns once the server is stopping and no line has arrived for a while.
async fn rests_at_stop(app: &App) {
    app.stopping.wait().await;
    tokio::time::sleep(REST_AT_STOP).await;
}

/// Returns the digest of the key of `Authorization: Bearer KEY`.
pub(super) fn presented(head: &Parts) -> Result<KeyDigest, Failure> {
    let mut values = head.headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.as_bytes(),
        (None, _) => return Err(Failure::unauthorized("send Authorization: Bearer KEY")),
        (Some(_), Some(_)) => return Err(Failure::unauthorized("send Authorization only once")),
    };
    let (scheme, rest) = value.split_at(value.len().min(SCHEME.len()));
    let key = rest.strip_prefix(b" ").filter(|_| scheme.eq_ignore_ascii_case(SCHEME));
    let key = key.ok_or_else(|| Failure::unauthorized("send Authorization: Bearer KEY"))?;
    KeyDigest::of_presented(key.trim_ascii()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use kiosque_contract::OPERATOR_CALLS;
    use kiosque_model::Right;

    #[test]
    fn every_call_needs_a_right_that_exists() {
        for call in OPERATOR_CALLS {
            assert!(call.right.is_none_or(|right| right.parse::<Right>().is_ok()), "{}", call.path);
        }
    }
}
