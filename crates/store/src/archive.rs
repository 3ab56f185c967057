//! Archiving raises a device's archive mark up to the first order that is not older than a given
//! time. An order that arrived late stays current until all orders before it are old. An order that
//! is dated ahead does not stop the mark, and stays current until one that arrived after it is old.
//! Each run is stored with the marks that it raised, so that it can be undone.

mod runs;

use futures_util::future::try_join_all;
use kiosque_model::audit::Act;
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::sql::{Sql, row, statements};
use crate::{Error, Store, owners};
use runs::Run;
pub use runs::{RunBy, UndoError, Undone};

row! {
    struct LedgerRow {
        group_no: GroupNo,
        device_code: String,
        device_no: DeviceNo,
        archived_seq: i64,
        last_seq: i64,
    }
}

statements! {
    LEDGERS() -> LedgerRow = "select group_no, device_code, device_no, archived_seq, last_seq
        from ledger
        where last_seq > archived_seq order by group_no, device_code";
    FIRST_CURRENT(group_no, device_no, archived_seq, before_ms, now_ms) -> i64 = "select seq
        from orders
        where group_no = $group_no and device_no = $device_no and seq > $archived_seq
            and trade_start_ms >= $before_ms and trade_start_ms <= $now_ms
        order by seq limit 1";
    LAST_OLD(group_no, device_no, archived_seq, first_current, before_ms) -> i64 = "select seq
        from orders
        where group_no = $group_no and device_no = $device_no and seq > $archived_seq
            and seq < $first_current and trade_start_ms < $before_ms
        order by seq desc limit 1";
    RAISE_MARK(group_no, device_code, old_seq, new_seq) = "update ledger
        set archived_seq = $new_seq
        where group_no = $group_no and device_code = $device_code and archived_seq = $old_seq";
}

/// Marks that one transaction raises; other writers wait for it.
const MARKS_PER_TRANSACTION: usize = 200;

/// Every statement of this module and of the one below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, runs::ALL].into_iter().flatten().copied()
}

/// The result of an archive run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// The number of the run; `None` if there was nothing to archive.
    pub run: Option<i64>,
    /// Orders that are history now.
    pub orders: i64,
    /// Devices whose mark was raised.
    pub devices: usize,
}

impl From<Archived> for Act {
    fn from(archived: Archived) -> Act {
        let Archived { run, orders, devices } = archived;
        Act::Archived { run, orders, devices }
    }
}

/// The archive mark of a device, and its new value.
struct ArchiveMark {
    group: GroupNo,
    code: String,
    old: i64,
    new: i64,
}

impl Store {
    /// Archives the orders older than `before`, as a run of a command. Orders that start after
    /// `now` are dated ahead.
    ///
    /// # Errors
    /// The store failed; orders archived until then stay archived, and another run does the rest.
    pub async fn archive(&self, before: UnixMs, now: UnixMs) -> Result<Archived, Error> {
        self.archive_by(RunBy::Command, before, now).await
    }

    /// Archives the orders older than `before`.
    ///
    /// # Errors
    /// As for [`Store::archive`].
    pub async fn archive_by(
        &self,
        by: RunBy,
        before: UnixMs,
        now: UnixMs,
    ) -> Result<Archived, Error> {
        self.purge_archive_runs(now).await?;
        let marks = self
            .db
            .read(Deadline::None, async move |read: &Read<'_>| marks(read, before, now).await)
            .await?;
        let mut archived = Archived::default();
        let mut marks = marks.into_iter().peekable();
        while marks.peek().is_some() {
            let chunk: Vec<ArchiveMark> = marks.by_ref().take(MARKS_PER_TRANSACTION).collect();
            let run = Run { number: archived.run, by, before, now };
            let raised = self
                .db
                .write(Deadline::OfRequest, async move |write: &Write<'_>| {
                    raise(write, &chunk, run).await
                })
                .await?;
            archived.run = raised.run;
            archived.orders += raised.orders;
            archived.devices += raised.devices;
        }
        Ok(archived)
    }
}

async fn marks(read: &Read<'_>, before: UnixMs, now: UnixMs) -> Result<Vec<ArchiveMark>, Error> {
    let ledgers: Vec<LedgerRow> = read.all(&LEDGERS, &[], |row| row.read()).await?;
    let mut marks = Vec::new();
    for ledger in ledgers {
        let LedgerRow { group_no, device_no, archived_seq, .. } = ledger;
        let [group, device, old] = [group_no.into(), device_no.into(), archived_seq.into()];
        let params = [group, device, old, before.into(), now.into()];
        let first_current = read.one(&FIRST_CURRENT, &params, |row| row.read::<i64>()).await?;
        let first_current = first_current.unwrap_or(ledger.last_seq + 1);
        let params = [group, device, old, first_current.into(), before.into()];
        let last_old = read.one(&LAST_OLD, &params, |row| row.read::<i64>()).await?;
        marks.extend(last_old.map(|new| ArchiveMark {
            group: group_no,
            code: ledger.device_code,
            old: archived_seq,
            new,
        }));
    }
    Ok(marks)
}

/// Raises marks, which are sorted by group, except those that another run has changed meanwhile.
/// Stores them with the run.
async fn raise(write: &Write<'_>, marks: &[ArchiveMark], run: Run) -> Result<Archived, Error> {
    let mut groups: Vec<GroupNo> = marks.iter().map(|mark| mark.group).collect();
    groups.dedup();
    owners::lock_groups(write, &groups).await?;
    let raised = marks.iter().map(|mark| async move {
        let params =
            [mark.group.into(), mark.code.as_str().into(), mark.old.into(), mark.new.into()];
        let is_raised = write.execute(&RAISE_MARK, &params).await? == 1;
        Ok::<_, Error>(is_raised.then_some(mark))
    });
    let raised: Vec<&ArchiveMark> = try_join_all(raised).await?.into_iter().flatten().collect();
    Ok(Archived {
        run: run.store(write, &raised).await?,
        orders: raised.iter().map(|mark| mark.new - mark.old).sum(),
        devices: raised.len(),
    })
}
