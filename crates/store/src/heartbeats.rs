//! Heartbeats: received in memory, and written to the ledger in batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use kiosque_model::ids::unknown_device;
use kiosque_model::{DeviceCode, GroupNo, UnixMs};

use crate::activity::{LedgerKey, OwnedHeartbeats};
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::owners::Owners;
use crate::sql::statements;
use crate::views::Intake;

statements! {
    LEDGER(group_no, device_no) -> GroupNo = "select group_no from ledger
        where group_no = $group_no
            and device_code = (select device_code from devices where device_no = $device_no)";
    RAISE_LAST_ACTIVE(group_no) = "update ledger set last_active_ms = r.at_ms
        from {rows r: device bigint, at_ms bigint}
        where ledger.group_no = $group_no
            and ledger.device_code = (select device_code from devices where device_no = r.device)
            and (ledger.last_active_ms is null or ledger.last_active_ms < r.at_ms)";
}

/// Maximum number of rows that one transaction updates. Other writers wait for it, at most about 20
/// ms.
const ROWS_PER_TRANSACTION: usize = 250;
/// Maximum number of failed transactions that are divided in one call. When more of them fail,
/// single heartbeats are not the reason.
const DIVISIONS_MAX: usize = 64;
/// Attempts for a ledger that another transaction has locked.
const ATTEMPTS: usize = 3;
/// The pause between two transactions, in which other writers run. A waiting writer retries every
/// millisecond.
const PAUSE: Duration = Duration::from_millis(2);

/// A heartbeat of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The device that sent it.
    pub device_code: DeviceCode,
    /// When it was sent; determines the group that it belongs to.
    pub at: UnixMs,
}

/// A heartbeat of an unknown device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedHeartbeat {
    /// Its index in the batch, from 0.
    pub index: usize,
    /// The reason, beginning with the field.
    pub reason: String,
}

impl Intake<'_> {
    /// Records heartbeats. Every read that begins later sees them. Returns the heartbeats of
    /// unknown devices.
    ///
    /// # Errors
    /// The store failed; then no heartbeat was recorded.
    pub async fn record_heartbeats(
        self,
        heartbeats: Vec<Heartbeat>,
    ) -> Result<Vec<RefusedHeartbeat>, Error> {
        let activity = Arc::clone(&self.0.activity);
        let mut owners = Arc::clone(&activity.owners).lock_owned().await;
        let record = async move |read: &Read<'_>| {
            let (owned, refused) = assign_owners(read, &mut owners, &heartbeats).await?;
            activity.record(&owned);
            Ok(refused)
        };
        self.0.db.read(Deadline::OfRequest, record).await
    }

    /// Writes the buffered heartbeats to the ledger, in short transactions that wait for no others.
    /// If one fails, its heartbeats are written in smaller ones, so that a heartbeat that makes the
    /// store fail does not delay others. Returns their number.
    ///
    /// # Errors
    /// The store failed; reads still see unwritten heartbeats, and the next call writes them.
    pub async fn write_activity(self) -> Result<usize, Error> {
        let mut unwritten = self.0.activity.unwritten();
        let mut count = 0;
        let mut divisions = 0;
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let mut locked = OwnedHeartbeats::new();
            let mut chunks: VecDeque<_> = unwritten.chunks(ROWS_PER_TRANSACTION).collect();
            while let Some(chunk) = chunks.pop_front() {
                let rows: OwnedHeartbeats = chunk.to_vec();
                let raise = async move |write: &Write<'_>| raise(write, &rows).await;
                match self.0.db.write(Deadline::OfRequest, raise).await {
                    Ok(written) => {
                        self.0.activity.mark_written(&written);
                        count += written.len();
                        locked.extend(chunk.iter().filter(|beat| !written.contains(beat)));
                    }
                    Err(error @ (Error::Sqlite(_) | Error::Postgres(_) | Error::Data(_))) => {
                        if chunk.len() > 1 && divisions < DIVISIONS_MAX {
                            divisions += 1;
                            let (one, other) = chunk.split_at(chunk.len() / 2);
                            chunks.extend([one, other]);
                        }
                        failure = Some(error);
                    }
                    Err(error) => return Err(error),
                }
                tokio::time::sleep(PAUSE).await;
            }
            if locked.is_empty() {
                break;
            }
            unwritten = locked;
        }
        failure.map_or(Ok(count), Err)
    }

    /// Returns the number of devices with a heartbeat that is not written yet.
    pub fn unwritten_activity(self) -> usize {
        self.0.activity.unwritten_count()
    }
}

/// Assigns each heartbeat to the group that owned the device at its time.
async fn assign_owners(
    read: &Read<'_>,
    owners: &mut Owners,
    heartbeats: &[Heartbeat],
) -> Result<(OwnedHeartbeats, Vec<RefusedHeartbeat>), Error> {
    owners.refresh(read).await?;
    owners.load(read, heartbeats.iter().map(|beat| beat.device_code.as_str())).await?;
    let mut owned = Vec::with_capacity(heartbeats.len());
    let mut refused = Vec::new();
    for (index, heartbeat) in heartbeats.iter().enumerate() {
        let code = heartbeat.device_code.as_str();
        let ownership = owners.get(code);
        match ownership.and_then(|device| Some((device.owner_at(heartbeat.at)?, device.device))) {
            Some(key) => owned.push((key, heartbeat.at)),
            None => {
                // The number of unknown codes is unbounded.
                owners.forget(code);
                let reason = unknown_device(&heartbeat.device_code);
                refused.push(RefusedHeartbeat { index, reason });
            }
        }
    }
    Ok((owned, refused))
}

/// Writes heartbeats, sorted by group, to the ledgers that no other transaction has locked, and
/// returns these heartbeats. Ledgers that an order has set to a later time are unchanged, as are
/// deleted ones. A batch of orders locks ledgers in a different order: waiting for one of them
/// could deadlock.
async fn raise(write: &Write<'_>, rows: &[(LedgerKey, UnixMs)]) -> Result<OwnedHeartbeats, Error> {
    let mut written = OwnedHeartbeats::new();
    for group_rows in rows.chunk_by(|(one, _), (next, _)| one.0 == next.0) {
        let Some(&((group, _), _)) = group_rows.first() else { continue };
        let locks = group_rows.iter().map(|&((_, device), _)| async move {
            let key = [group.into(), device.into()];
            let is_locked = write.try_lock(&LEDGER, &key).await?;
            let exists = !is_locked && write.one::<GroupNo>(&LEDGER, &key).await?.is_some();
            Ok::<_, Error>(!exists)
        });
        let can_write = try_join_all(locks).await?;
        let beats = group_rows.iter().zip(can_write);
        let start = written.len();
        written.extend(beats.filter(|(_, can_write)| *can_write).map(|(beat, _)| *beat));
        let beats = written.iter().skip(start);
        let beats = beats.map(|&((_, device), at)| [device.into(), at.into()]);
        write.execute_each(&RAISE_LAST_ACTIVE, beats, &[group.into()]).await?;
    }
    Ok(written)
}
