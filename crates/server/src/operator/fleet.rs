//! `POST /operator/v1/fleet`: a fleet in the format of `kiosque apply`, in JSON.

use std::fmt::Display;
use std::sync::Arc;

use http::StatusCode;
use kiosque_contract::FleetApplied;
use kiosque_model::fleet::Fleet;
use kiosque_store::{Applied, ApplyError, NewHashes};

use super::call::Caller;
use crate::app::App;
use crate::failure::{Errors, Failure};
use kiosque_ingest::fleet::{self, Format};
use kiosque_listener::read_body;

/// Applies the whole fleet, or none of it and reports all errors.
pub(super) async fn apply(caller: Caller<'_>) -> Result<FleetApplied, Failure> {
    let app = caller.call.app;
    let by = caller.acted_by();
    let limits = &app.settings.limits;
    let text = read_body(caller.body, limits.fleet_body_max_bytes, limits).await?;
    let zone = app.store.zone().clone();
    // Parsing a large fleet takes long enough to delay other requests.
    let reading = tokio::task::spawn_blocking(move || match std::str::from_utf8(&text) {
        Ok(text) => Ok(fleet::parse(text, Format::Json, &zone)),
        Err(_) => Err(Failure::denied(StatusCode::BAD_REQUEST, "the body is not valid UTF-8")),
    });
    let fleet = match reading.await.map_err(|panic| Failure::internal(&panic))?? {
        Ok(fleet) => fleet,
        Err(errors) => {
            return Err(invalid(&errors.with_stored(&app.store, caller.call.now).await?));
        }
    };
    let warnings = fleet::warnings(&fleet);
    let fleet = Arc::new(fleet);
    loop {
        let new_hashes = new_hashes(app, &fleet).await?;
        match app.store.fleet().apply(Arc::clone(&fleet), new_hashes, by.clone(), &app.clock).await
        {
            Ok(Applied { counts, dated_moves: moves, .. }) => {
                return Ok(FleetApplied { counts, moves, warnings });
            }
            Err(ApplyError::Invalid(errors)) => {
                return Err(invalid(&errors));
            }
            Err(ApplyError::PasswordChanged) => {}
            Err(ApplyError::Store(error)) => return Err(error.into()),
        }
    }
}

fn invalid(errors: &[impl Display]) -> Failure {
    let reason = "the fleet has errors; nothing was applied".to_owned();
    Failure::Denied(StatusCode::UNPROCESSABLE_ENTITY, reason, Errors(fleet::listed_errors(errors)))
}

/// Returns the hashes of the given passwords. They are computed in the slots of known sources,
/// which an attacker who guesses passwords cannot occupy.
async fn new_hashes(app: &App, fleet: &Fleet) -> Result<NewHashes, Failure> {
    let mut new_hashes = NewHashes::new();
    for account in &fleet.accounts {
        let Some(given) = account.password.clone() else { continue };
        let stored = app.store.sessions().credentials(&account.login_name).await?;
        let entropy = app.entropy.clone();
        let hashing = app.known_hash_slots.work(move || fleet::new_hash(&given, stored, &entropy));
        new_hashes.insert(account.login_name.as_str().to_owned(), hashing.await??);
    }
    Ok(new_hashes)
}
