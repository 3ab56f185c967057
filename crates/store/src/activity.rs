//! The time at which each device was last active. Heartbeats are frequent and small: they are
//! buffered in memory, where the next read sees them, and written to the ledger in batches. A crash
//! loses the heartbeats since the last write; an orderly stop writes them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use futures_util::future::try_join_all;
use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::{DeviceCode, DeviceNo, GroupNo, UnixMs};

use crate::Store;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::owners::Owners;
use crate::sql::statements;

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

/// Rows that one transaction updates. Other writers wait for it, about 20 ms at most.
const ROWS_PER_TRANSACTION: usize = 250;
/// How many times a ledger is tried that another transaction has locked.
const ATTEMPTS: usize = 3;
/// The pause between two transactions, in which other writers run. A waiting writer retries every
/// millisecond.
const PAUSE: Duration = Duration::from_millis(2);

/// A heartbeat of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The device that sent it.
    pub device_code: DeviceCode,
    /// When it was sent; decides which group it belongs to.
    pub at: UnixMs,
}

/// A heartbeat whose device is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedHeartbeat {
    /// Its index in the batch, from 0.
    pub index: usize,
    /// The reason, beginning with the field.
    pub reason: String,
}

/// The latest heartbeat of each (group, device) that has sent one since the store was opened.
///
/// Written heartbeats stay here as well, for reads whose snapshot is older than the write. There
/// are never more entries than rows of the ledger.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    has_any: AtomicBool,
    latest: RwLock<HashMap<LedgerKey, LatestHeartbeat>>,
    /// One batch at a time looks up its devices, so that the next one finds them here.
    owners: Arc<tokio::sync::Mutex<Owners>>,
}

type LedgerKey = (GroupNo, DeviceNo);
/// Times of heartbeats, by the ledger row that they belong to.
type OwnedHeartbeats = Vec<(LedgerKey, UnixMs)>;

#[derive(Clone, Copy, Debug)]
struct LatestHeartbeat {
    at: UnixMs,
    unwritten: bool,
}

impl Activity {
    /// Returns when a device was last active in a group: the time in its ledger row, or that of a
    /// later heartbeat.
    pub(crate) fn merged(&self, key: LedgerKey, row: Option<UnixMs>) -> Option<UnixMs> {
        // `None` comes before any time.
        row.max(self.latest(key))
    }

    fn latest(&self, key: LedgerKey) -> Option<UnixMs> {
        if !self.has_any.load(Ordering::Acquire) {
            return None;
        }
        let latest = read_ignoring_poison(&self.latest);
        latest.get(&key).map(|beat| beat.at)
    }

    /// Returns the time of the latest heartbeat of any device.
    pub(crate) fn latest_of_all(&self) -> Option<UnixMs> {
        read_ignoring_poison(&self.latest).values().map(|beat| beat.at).max()
    }

    fn record(&self, beats: &[(LedgerKey, UnixMs)]) {
        let mut latest = write_ignoring_poison(&self.latest);
        for (key, at) in beats {
            let new = LatestHeartbeat { at: *at, unwritten: true };
            let known = latest.entry(*key).or_insert(new);
            if known.at < *at {
                *known = new;
            }
        }
        self.has_any.store(!latest.is_empty(), Ordering::Release);
    }

    /// Returns the heartbeats to write, almost in the order of the ledger's key, for page locality.
    fn unwritten(&self) -> OwnedHeartbeats {
        let latest = read_ignoring_poison(&self.latest);
        let unwritten = latest.iter().filter(|(_, beat)| beat.unwritten);
        let mut unwritten: OwnedHeartbeats = unwritten.map(|(key, beat)| (*key, beat.at)).collect();
        drop(latest);
        unwritten.sort_unstable();
        unwritten
    }

    /// Marks heartbeats as written, unless a later one was recorded meanwhile.
    fn mark_written(&self, written: &[(LedgerKey, UnixMs)]) {
        let mut latest = write_ignoring_poison(&self.latest);
        for (key, at) in written {
            if let Some(beat) = latest.get_mut(key).filter(|beat| beat.at == *at) {
                beat.unwritten = false;
            }
        }
    }
}

impl Store {
    /// Records heartbeats. Every read that begins from now on sees them. Returns those whose device
    /// is not known.
    ///
    /// # Errors
    /// The store failed; then no heartbeat was recorded.
    pub async fn record_heartbeats(
        &self,
        heartbeats: Vec<Heartbeat>,
    ) -> Result<Vec<RefusedHeartbeat>, Error> {
        let activity = Arc::clone(&self.activity);
        let mut owners = Arc::clone(&activity.owners).lock_owned().await;
        let record = async move |read: &Read<'_>| {
            let (owned, refused) = assign_owners(read, &mut owners, &heartbeats).await?;
            activity.record(&owned);
            Ok(refused)
        };
        self.db.read(Deadline::OfRequest, record).await
    }

    /// Writes the buffered heartbeats to the ledger, in short transactions that wait for no others.
    /// Returns their number.
    ///
    /// # Errors
    /// The store failed; unwritten heartbeats are still seen by reads, and the next call writes
    /// them.
    pub async fn write_activity(&self) -> Result<usize, Error> {
        let (mut unwritten, mut count) = (self.activity.unwritten(), 0);
        for _ in 0..ATTEMPTS {
            let mut locked = OwnedHeartbeats::new();
            for chunk in unwritten.chunks(ROWS_PER_TRANSACTION) {
                let rows: OwnedHeartbeats = chunk.to_vec();
                let raise = async move |write: &Write<'_>| raise(write, &rows).await;
                let written = self.db.write(Deadline::OfRequest, raise).await?;
                self.activity.mark_written(&written);
                count += written.len();
                locked.extend(chunk.iter().filter(|beat| !written.contains(beat)));
                tokio::time::sleep(PAUSE).await;
            }
            if locked.is_empty() {
                break;
            }
            unwritten = locked;
        }
        Ok(count)
    }

    /// Returns the number of devices with a heartbeat that is not written yet.
    #[must_use]
    pub fn unwritten_activity(&self) -> usize {
        let latest = read_ignoring_poison(&self.activity.latest);
        latest.values().filter(|beat| beat.unwritten).count()
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
    let (mut owned, mut refused) = (Vec::with_capacity(heartbeats.len()), Vec::new());
    for (index, heartbeat) in heartbeats.iter().enumerate() {
        let code = heartbeat.device_code.as_str();
        let ownership = owners.get(code);
        match ownership.and_then(|device| Some((device.owner_at(heartbeat.at)?, device.device))) {
            Some(key) => owned.push((key, heartbeat.at)),
            None => {
                // The number of unknown codes has no bound.
                owners.forget(code);
                let reason = format!("deviceCode: no device {code} is known");
                refused.push(RefusedHeartbeat { index, reason });
            }
        }
    }
    Ok((owned, refused))
}

/// Writes heartbeats, sorted by group, to the ledgers that no other transaction has locked, and
/// returns these heartbeats. A ledger that an order has set to a later time stays, and so do those
/// that were deleted. A batch of orders locks ledgers in another order: to wait for one of them
/// could block both.
async fn raise(write: &Write<'_>, rows: &[(LedgerKey, UnixMs)]) -> Result<OwnedHeartbeats, Error> {
    let mut written = OwnedHeartbeats::new();
    for group_rows in rows.chunk_by(|(one, _), (next, _)| one.0 == next.0) {
        let Some(&((group, _), _)) = group_rows.first() else { continue };
        let locks = group_rows.iter().map(|&((_, device), _)| async move {
            let key = [group.into(), device.into()];
            let is_locked = write.try_lock(&LEDGER, &key).await?;
            let exists = !is_locked
                && write.one(&LEDGER, &key, |row| row.read::<GroupNo>()).await?.is_some();
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

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LedgerKey = (GroupNo(1), DeviceNo(2));

    #[test]
    fn a_heartbeat_during_a_write_is_written_by_the_next() {
        let activity = Activity::default();
        assert_eq!(activity.merged(KEY, Some(UnixMs(5))), Some(UnixMs(5)));
        activity.record(&[(KEY, UnixMs(10))]);
        let written = activity.unwritten();
        assert_eq!(written, [(KEY, UnixMs(10))]);
        activity.record(&[(KEY, UnixMs(11))]);
        activity.mark_written(&written);
        assert_eq!(activity.unwritten(), [(KEY, UnixMs(11))]);
        activity.mark_written(&activity.unwritten());
        // Repeated and earlier heartbeats change nothing.
        activity.record(&[(KEY, UnixMs(11)), (KEY, UnixMs(9))]);
        assert_eq!(activity.unwritten(), []);
        assert_eq!(activity.merged(KEY, None), Some(UnixMs(11)));
        assert_eq!(activity.merged(KEY, Some(UnixMs(12))), Some(UnixMs(12)));
    }
}
