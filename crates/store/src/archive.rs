//! Archiving moves the boundary of each device: the orders with sequence numbers up to it are
//! archived. The boundary for a time T is the last order that started before T, among the orders
//! that arrived before the first order that started at T or later; orders dated after the time of
//! archiving are disregarded (ORD-5).
//!
//! A time that is not earlier than the last one that moved a boundary moves boundaries forward
//! only: orders up to a boundary are not examined again. An earlier time places each boundary among
//! all orders of its device, and may make archived orders current again (ORD-22).

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use kiosque_contract::AuditDetails;
use kiosque_model::audit::AuditEvent;
use kiosque_model::{DeviceNo, GroupNo, UnixMs, orders_of_devices};

use crate::audit::Act;
use crate::db::{Bound, Deadline, Read, Write};
use crate::error::Error;
use crate::sql::{row, statements};
use crate::views::Upkeep;
use crate::{metadata, owners};

row! {
    /// The sequence numbers of a device's orders in a group.
    pub(crate) struct LedgerRow {
        pub(crate) group_no: GroupNo,
        pub(crate) device_code: String,
        pub(crate) device_no: DeviceNo,
        pub(crate) first_seq: i64,
        pub(crate) archived_seq: i64,
        pub(crate) last_seq: i64,
        /// The last sequence number in a block.
        pub(crate) blocked_seq: i64,
    }
}

statements! {
    LEDGERS() -> LedgerRow = "select group_no, device_code, device_no, first_seq, archived_seq,
            last_seq, blocked_seq
        from ledger
        where last_seq >= first_seq order by group_no, device_code";
    /// The last old order before the first recent one.
    LAST_OLD(group_no, device_no, after_seq, last_seq, before_ms, now_ms) -> i64 = "select o.seq
        from orders o
        where o.group_no = $group_no and o.device_no = $device_no and o.seq > $after_seq
            and o.seq < coalesce((
                select r.seq from orders r
                where r.group_no = $group_no and r.device_no = $device_no and r.seq > $after_seq
                    and r.trade_start_ms >= $before_ms and r.trade_start_ms <= $now_ms
                order by r.seq limit 1
            ), $last_seq + 1)
            and o.trade_start_ms < $before_ms
        order by o.seq desc limit 1";
    SET_BOUNDARY(group_no, device_code, old_seq, new_seq) = "update ledger
        set archived_seq = $new_seq
        where group_no = $group_no and device_code = $device_code and archived_seq = $old_seq";
}

/// Maximum number of boundaries that one transaction moves; other writers wait for it.
const BOUNDARIES_PER_TRANSACTION: usize = 200;

/// Number of ledgers that are examined together.
const LEDGERS_TOGETHER: usize = 500;

/// The result of archiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Orders that started before this time were archived.
    pub before: UnixMs,
    /// Orders that are archived now.
    pub orders: i64,
    /// Devices whose boundary was moved forward.
    pub devices: usize,
    /// Orders that are current again.
    pub returned_orders: i64,
    /// Devices whose boundary was moved back.
    pub returned_devices: usize,
}

impl Archived {
    /// Returns the result of moving boundaries.
    fn of(before: UnixMs, moved: &[Boundary]) -> Archived {
        let (orders, returned_orders) = (0, 0);
        let mut all = Archived { before, orders, devices: 0, returned_orders, returned_devices: 0 };
        for boundary in moved {
            if boundary.new > boundary.old {
                all.orders += boundary.new - boundary.old;
                all.devices += 1;
            } else {
                all.returned_orders += boundary.old - boundary.new;
                all.returned_devices += 1;
            }
        }
        all
    }
}

impl From<Archived> for Act {
    fn from(archived: Archived) -> Act {
        let details = AuditDetails {
            before_timestamp: Some(archived.before.0),
            orders: Some(archived.orders),
            devices: Some(archived.devices),
            returned_orders: Some(archived.returned_orders),
            returned_devices: Some(archived.returned_devices),
            ..AuditDetails::default()
        };
        Act::new(AuditEvent::Archived, details)
    }
}

/// Whether a command may make archived orders current again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returning {
    /// It may.
    Allowed,
    /// It is refused if it would.
    Refused,
}

/// Why a command did not archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Archived orders would become current again. Nothing was changed.
    #[error("{} would become current again", orders_of_devices(*orders, *devices))]
    WouldReturn {
        /// Their number.
        orders: i64,
        /// Their devices.
        devices: usize,
        /// The later time before which orders are archived.
        archived_before: UnixMs,
    },
    /// The store failed before a boundary was moved.
    #[error(transparent)]
    Store(#[from] Error),
    /// The store failed; the boundaries that were moved stay moved, and another call moves the
    /// others.
    #[error("{error}")]
    Interrupted {
        /// What was archived.
        archived: Archived,
        /// The failure.
        error: Error,
    },
}

/// The boundary of a device that moves.
#[derive(Clone)]
struct Boundary {
    group: GroupNo,
    code: String,
    old: i64,
    new: i64,
}

impl Upkeep<'_> {
    /// Archives the orders that started before a time. Boundaries only move forward, even if the
    /// time is earlier than the last one. Orders that start after `now` are disregarded.
    ///
    /// # Errors
    /// The store failed.
    pub async fn archive(self, before: UnixMs, now: UnixMs) -> Result<Archived, ArchiveError> {
        let plan = async move |read: &Read<'_>| boundaries(read, before, now, false).await;
        let boundaries = self.0.db.read::<_, Error>(Deadline::None, plan).await?;
        self.move_boundaries(before, boundaries).await
    }

    /// Archives the orders that started before a time; archived orders that started later become
    /// current again.
    ///
    /// # Errors
    /// See [`ArchiveError`].
    pub async fn archive_exactly(
        self,
        before: UnixMs,
        now: UnixMs,
        returning: Returning,
    ) -> Result<Archived, ArchiveError> {
        let plan = async move |read: &Read<'_>| {
            let last = UnixMs(metadata::last_or_zero(read, metadata::ARCHIVED_BEFORE).await?);
            Ok::<_, Error>((last, boundaries(read, before, now, before < last).await?))
        };
        let (last, boundaries) = self.0.db.read(Deadline::None, plan).await?;
        let Archived { returned_orders, returned_devices, .. } = Archived::of(before, &boundaries);
        if returning == Returning::Refused && returned_orders > 0 {
            return Err(ArchiveError::WouldReturn {
                orders: returned_orders,
                devices: returned_devices,
                archived_before: last,
            });
        }
        let count = boundaries.len();
        let archived = self.move_boundaries(before, boundaries).await?;
        // After all boundaries, so that another call moves those that a failure left.
        if before < last && archived.devices + archived.returned_devices == count {
            let lower = async move |write: &Write<'_>| {
                metadata::lower_archived_before(write, last, before).await
            };
            let lowered = self.0.db.write::<_, Error>(Deadline::OfRequest, lower).await;
            lowered.map_err(|error| ArchiveError::Interrupted { archived, error })?;
        }
        Ok(archived)
    }

    /// Moves boundaries, except those that another process has moved meanwhile.
    async fn move_boundaries(
        self,
        before: UnixMs,
        boundaries: Vec<Boundary>,
    ) -> Result<Archived, ArchiveError> {
        let mut moved = Vec::with_capacity(boundaries.len());
        for chunk in boundaries.chunks(BOUNDARIES_PER_TRANSACTION) {
            let chunk = chunk.to_vec();
            let set = async move |write: &Write<'_>| set_boundaries(write, &chunk, before).await;
            let set = self.0.db.write::<_, Error>(Deadline::OfRequest, set).await;
            moved.extend(set.map_err(|error| match Archived::of(before, &moved) {
                _ if moved.is_empty() => ArchiveError::Store(error),
                archived => ArchiveError::Interrupted { archived, error },
            })?);
        }
        Ok(Archived::of(before, &moved))
    }
}

/// Returns the boundaries to move.
async fn boundaries(
    read: &Read<'_>,
    before: UnixMs,
    now: UnixMs,
    may_move_back: bool,
) -> Result<Vec<Boundary>, Error> {
    let ledgers: Vec<LedgerRow> = read.all(&LEDGERS, &[]).await?;
    let after = |of: &LedgerRow| if may_move_back { of.first_seq - 1 } else { of.archived_seq };
    let examined: Vec<&LedgerRow> =
        ledgers.iter().filter(|ledger| after(ledger) != ledger.last_seq).collect();
    let mut boundaries = Vec::new();
    for chunk in examined.chunks(LEDGERS_TOGETHER) {
        let last_old = chunk.iter().map(|ledger| {
            let LedgerRow { group_no, device_no, last_seq, .. } = **ledger;
            let (group, device) = (group_no.into(), device_no.into());
            let params =
                [group, device, after(ledger).into(), last_seq.into(), before.into(), now.into()];
            Bound::new(&LAST_OLD, params).one::<i64>()
        });
        let last_old = read.together(last_old.collect::<Vec<_>>()).await?;
        for (ledger, last_old) in chunk.iter().zip(last_old) {
            let (old, new) = (ledger.archived_seq, last_old.unwrap_or(after(ledger)));
            if new != old {
                let (group, code) = (ledger.group_no, ledger.device_code.clone());
                boundaries.push(Boundary { group, code, old, new });
            }
        }
    }
    Ok(boundaries)
}

/// Moves boundaries, except those that another process has moved meanwhile. Returns the moved ones.
async fn set_boundaries(
    write: &Write<'_>,
    boundaries: &[Boundary],
    before: UnixMs,
) -> Result<Vec<Boundary>, Error> {
    let groups: BTreeSet<GroupNo> = boundaries.iter().map(|boundary| boundary.group).collect();
    owners::lock_groups(write, &groups).await?;
    let set = boundaries.iter().map(|boundary| async move {
        let Boundary { group, code, old, new } = boundary;
        let params = [(*group).into(), code.as_str().into(), (*old).into(), (*new).into()];
        let is_set = write.execute(&SET_BOUNDARY, &params).await? == 1;
        Ok::<_, Error>(is_set.then(|| boundary.clone()))
    });
    let moved = try_join_all(set).await?;
    metadata::raise(write, metadata::ARCHIVED_BEFORE, before.0).await?;
    Ok(moved.into_iter().flatten().collect())
}
