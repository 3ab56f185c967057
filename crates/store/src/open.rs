//! Opens the data, and brings its layout up to date.

use std::sync::Arc;

use crate::cache::{CACHE_BYTES, Cache};
use crate::db::{ClosedData, Db, Deadline, OpenOptions};
use crate::error::Error;
use crate::histories::Opening;
use crate::state::{SessionClock, State};
use crate::{dry_run, metadata, migrate, transfer};

/// Opens data that has not been moved away, and whose move is complete.
pub(crate) async fn open(options: &OpenOptions<'_>) -> Result<State, Error> {
    let state = open_unsettled(options).await?;
    transfer::check_complete(&state.db).await?;
    state.db.hide_tables(&dry_run::TABLES).await?;
    state.db.start_lease().await?;
    Ok(state)
}

/// Opens the source or the target of a move: the source may already have been moved away, and the
/// target may be incomplete.
pub(crate) async fn open_unsettled(options: &OpenOptions<'_>) -> Result<State, Error> {
    let db = Db::open(options, migrate::REGISTER)?;
    let when_absent = options.when_absent;
    let now = options.now;
    let wanted = options.zone.cloned();
    let (is_new, zone, clock_ms) = db
        .write_to(ClosedData::Accepted, Deadline::None, async move |write| {
            let is_new = migrate::up(write, when_absent, now).await?;
            let zone = metadata::settle_zone(write, wanted.as_ref()).await?;
            let clock_ms = metadata::last_or_zero(write, metadata::CLOCK).await?;
            Ok::<_, Error>((is_new, zone, clock_ms))
        })
        .await
        .map_err(|error| db.explained(error))?;
    Ok(State {
        db,
        zone,
        is_new,
        opening: Opening(options.random),
        activity: Arc::default(),
        cache: Arc::new(Cache::new(CACHE_BYTES)),
        dictionaries: Arc::default(),
        training: Arc::default(),
        proven_before: Default::default(),
        best_seller_hints: Default::default(),
        known_devices: Default::default(),
        session_clock: SessionClock::new(clock_ms),
        refused: Default::default(),
        usage: Default::default(),
        followers: Arc::default(),
    })
}
