//! When each device was last active. Heartbeats are many and each says little: they are kept in
//! memory, where the next read sees them, and written together into the ledger now and then. A
//! crash loses what came since; a stop writes it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use kiosque_model::{DeviceCode, DeviceNo, GroupNo, UnixMs};

use crate::db::{Length, Read, Write};
use crate::owners::Owners;
use crate::sql::statements;
use crate::{Error, Store};

statements! {
    /// Keeps others from the group's ledgers, too.
    HEAR = "update group_changes set heard_no = heard_no + 1 where group_no = $1";
    RAISE = "update ledger set last_active_ms = r.at_ms
        from {rows r: device bigint, at_ms bigint}
        where ledger.group_no = $3
            and ledger.device_code = (select device_code from devices where device_no = r.device)
            and (ledger.last_active_ms is null or ledger.last_active_ms < r.at_ms)";
}

/// How many rows one transaction raises: others wait for it, at most about 20 ms.
const ROWS_AT_A_TIME: usize = 250;
/// How long others have to come in between two transactions. A waiting write asks every
/// millisecond.
const PAUSE: Duration = Duration::from_millis(2);

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Who gave it.
    pub device_code: DeviceCode,
    /// When; decides which group it belongs to.
    pub at: UnixMs,
}

/// A heartbeat that is no known device's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedHeartbeat {
    /// Its place in the batch, from 0.
    pub place: usize,
    /// Why, beginning with the field.
    pub reason: String,
}

/// The latest heartbeat of each (group, device) that has given one since the store was opened.
///
/// What is written stays here as well: a read that began before the write takes it from here. So
/// there are never more entries than rows of the ledger.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    has_any: AtomicBool,
    latest: RwLock<HashMap<Account, Beat>>,
    /// One batch at a time looks its devices up: what one has read, the next one knows.
    owners: Arc<tokio::sync::Mutex<Owners>>,
}

type Account = (GroupNo, DeviceNo);
/// Heartbeats, and whose they are.
type Addressed = Vec<(Account, UnixMs)>;

#[derive(Clone, Copy, Debug)]
struct Beat {
    at: UnixMs,
    unwritten: bool,
}

impl Activity {
    /// When a device was last active in a group: what its row says, or a later heartbeat.
    pub(crate) fn merged(&self, account: Account, row: Option<UnixMs>) -> Option<UnixMs> {
        // `None` comes before any time.
        row.max(self.latest(account))
    }

    fn latest(&self, account: Account) -> Option<UnixMs> {
        if !self.has_any.load(Ordering::Acquire) {
            return None;
        }
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        latest.get(&account).map(|beat| beat.at)
    }

    fn hear(&self, beats: &[(Account, UnixMs)]) {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        for (account, at) in beats {
            let new = Beat { at: *at, unwritten: true };
            let known = latest.entry(*account).or_insert(new);
            if known.at < *at {
                *known = new;
            }
        }
        self.has_any.store(!latest.is_empty(), Ordering::Release);
    }

    /// In the order of the ledger's key, nearly: rows that lie together are written together.
    fn unwritten(&self) -> Addressed {
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        let unwritten = latest.iter().filter(|(_, beat)| beat.unwritten);
        let mut unwritten: Addressed =
            unwritten.map(|(account, beat)| (*account, beat.at)).collect();
        drop(latest);
        unwritten.sort_unstable();
        unwritten
    }

    /// What came in while its forerunner was being written is still to be.
    fn wrote(&self, written: &[(Account, UnixMs)]) {
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        for (account, at) in written {
            if let Some(beat) = latest.get_mut(account).filter(|beat| beat.at == *at) {
                beat.unwritten = false;
            }
        }
    }
}

impl Store {
    /// Takes heartbeats in: every read that begins from now on sees them. Returns those that are
    /// no known device's.
    ///
    /// # Errors
    /// The store failed; then none was taken in.
    pub async fn hear(&self, heartbeats: Vec<Heartbeat>) -> Result<Vec<RefusedHeartbeat>, Error> {
        let activity = Arc::clone(&self.activity);
        let mut owners = Arc::clone(&activity.owners).lock_owned().await;
        let hearing = async move |read: &Read<'_>| {
            let (heard, unheard) = addressed(read, &mut owners, &heartbeats).await?;
            activity.hear(&heard);
            Ok(unheard)
        };
        self.db.read(Length::Short, hearing).await
    }

    /// Writes the heartbeats that no row has yet, in short transactions, and says how many.
    ///
    /// # Errors
    /// The store failed; what is not written is still seen, and written by a repetition.
    pub async fn write_activity(&self) -> Result<usize, Error> {
        let unwritten = self.activity.unwritten();
        for (turn, some) in unwritten.chunks(ROWS_AT_A_TIME).enumerate() {
            if turn > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let rows: Vec<(Account, UnixMs)> = some.to_vec();
            self.db
                .write(Length::Short, async move |write: &Write<'_>| raise(write, &rows).await)
                .await?;
            self.activity.wrote(some);
        }
        Ok(unwritten.len())
    }

    /// How many devices have given a heartbeat that no row has yet.
    #[must_use]
    pub fn unwritten_activity(&self) -> usize {
        let latest = self.activity.latest.read().unwrap_or_else(PoisonError::into_inner);
        latest.values().filter(|beat| beat.unwritten).count()
    }
}

/// Whose each heartbeat is: the group's that owned the device then.
async fn addressed(
    read: &Read<'_>,
    owners: &mut Owners,
    heartbeats: &[Heartbeat],
) -> Result<(Addressed, Vec<RefusedHeartbeat>), Error> {
    owners.refresh(read).await?;
    owners.learn(read, heartbeats.iter().map(|beat| beat.device_code.as_str())).await?;
    let (mut heard, mut unheard) = (Vec::with_capacity(heartbeats.len()), Vec::new());
    for (place, heartbeat) in heartbeats.iter().enumerate() {
        let code = heartbeat.device_code.as_str();
        let owned = owners.known(code);
        match owned.and_then(|owned| Some((owned.owner_at(heartbeat.at)?, owned.device))) {
            Some(account) => heard.push((account, heartbeat.at)),
            None => {
                // Codes that nobody has could be any number.
                owners.forget(code);
                let reason = format!("deviceCode: no device {code} is known");
                unheard.push(RefusedHeartbeat { place, reason });
            }
        }
    }
    Ok((heard, unheard))
}

/// An order may have been later. Rows come by group.
async fn raise(write: &Write<'_>, rows: &[(Account, UnixMs)]) -> Result<(), Error> {
    for of_group in rows.chunk_by(|(one, _), (next, _)| one.0 == next.0) {
        let Some(((group, _), _)) = of_group.first() else { continue };
        write.execute(&HEAR, &[group.0.into()]).await?;
        let beats = of_group.iter().map(|((_, device), at)| [device.0.into(), at.0.into()]);
        write.execute_each(&RAISE, beats, &[group.0.into()]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: Account = (GroupNo(1), DeviceNo(2));

    #[test]
    fn what_comes_in_during_a_write_is_written_by_the_next() {
        let activity = Activity::default();
        assert_eq!(activity.merged(ACCOUNT, Some(UnixMs(5))), Some(UnixMs(5)));
        activity.hear(&[(ACCOUNT, UnixMs(10))]);
        let written = activity.unwritten();
        assert_eq!(written, [(ACCOUNT, UnixMs(10))]);
        activity.hear(&[(ACCOUNT, UnixMs(11))]);
        activity.wrote(&written);
        assert_eq!(activity.unwritten(), [(ACCOUNT, UnixMs(11))]);
        activity.wrote(&activity.unwritten());
        // The same again, and earlier ones, are nothing new.
        activity.hear(&[(ACCOUNT, UnixMs(11)), (ACCOUNT, UnixMs(9))]);
        assert_eq!(activity.unwritten(), []);
        assert_eq!(activity.merged(ACCOUNT, None), Some(UnixMs(11)));
        assert_eq!(activity.merged(ACCOUNT, Some(UnixMs(12))), Some(UnixMs(12)));
    }
}
