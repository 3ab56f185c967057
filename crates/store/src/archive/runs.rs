//! Archive runs: each has a number and the marks that it raised, and can be undone for some time.

use std::time::Duration;

use futures_util::future::try_join_all;
use kiosque_contract::inventory::ArchiveRunItem;
use kiosque_model::audit::Act;
use kiosque_model::{ActedBy, GroupNo, UnixMs};

use super::{ArchiveMark, MARKS_PER_TRANSACTION};
use crate::db::{Deadline, Read, Write};
use crate::sql::{row, statements};
use crate::{Error, Store, audit, metadata, owners};

row! {
    #[derive(Clone, Copy)]
    struct RunRow {
        run_no: i64,
        at_ms: UnixMs,
        before_ms: UnixMs,
        by_server: bool,
        undone_at_ms: Option<UnixMs>,
    }
    #[derive(Clone)]
    struct MarkRow { group_no: GroupNo, device_code: String, old_seq: i64, new_seq: i64 }
    struct RunSums { run_no: i64, orders: i64, devices: i64 }
}

statements! {
    INSERT_RUN(run_no, at_ms, before_ms, by_server) = "insert into archive_runs
            (run_no, at_ms, before_ms, by_server)
        values ($run_no, $at_ms, $before_ms, $by_server)";
    CONTINUE_RUN(run_no, before_ms) = "update archive_runs set before_ms = $before_ms
        where run_no = $run_no";
    SET_UNDONE(run_no, at_ms) = "update archive_runs set undone_at_ms = $at_ms
        where run_no = $run_no";
    DELETE_RUN(run_no) = "delete from archive_runs where run_no = $run_no";
    RUN(run_no) -> RunRow = "select run_no, at_ms, before_ms, by_server, undone_at_ms
        from archive_runs where run_no = $run_no";
    RUNS() -> RunRow = "select run_no, at_ms, before_ms, by_server, undone_at_ms
        from archive_runs order by run_no desc";
    LAST_RUN() -> RunRow = "select run_no, at_ms, before_ms, by_server, undone_at_ms
        from archive_runs where undone_at_ms is null order by run_no desc limit 1";
    /// The latest time before which a server has archived orders.
    BEFORE_OF_SERVERS() -> UnixMs = "select before_ms from archive_runs where by_server
        order by before_ms desc limit 1";
    OLD_RUNS(at_ms) -> i64 = "select run_no from archive_runs where at_ms < $at_ms
        order by run_no";
    SET_MARK(group_no, device_code, run_no, old_seq, new_seq) = "insert into archive_marks
            (group_no, device_code, run_no, old_seq, new_seq)
        values ($group_no, $device_code, $run_no, $old_seq, $new_seq)
        on conflict (group_no, device_code, run_no) do update set new_seq = excluded.new_seq";
    DELETE_MARK(group_no, device_code, run_no) = "delete from archive_marks
        where group_no = $group_no and device_code = $device_code and run_no = $run_no";
    DELETE_MARKS(run_no) = "delete from archive_marks where run_no = $run_no";
    MARKS(run_no) -> MarkRow = "select group_no, device_code, old_seq, new_seq
        from archive_marks where run_no = $run_no order by group_no, device_code";
    SUMS() -> RunSums = "select run_no, cast(sum(new_seq - old_seq) as bigint) as orders,
            count(*) as devices
        from archive_marks group by run_no";
    /// Runs that archived further orders of the same devices.
    LATER_RUNS(run_no) -> i64 = "select distinct l.run_no from archive_marks m
        join archive_marks l on l.group_no = m.group_no and l.device_code = m.device_code
        where m.run_no = $run_no and l.run_no > $run_no order by l.run_no";
    LOWER_MARK(group_no, device_code, old_seq, new_seq) = "update ledger
        set archived_seq = $old_seq
        where group_no = $group_no and device_code = $device_code and archived_seq = $new_seq";
}

/// How long a run can be undone.
const KEPT_FOR: Duration = Duration::from_secs(90 * 86_400);
/// The time for which the runs of servers are one.
const SERVER_RUN_MS: i64 = 86_400_000;

/// The origin of an archive run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBy {
    /// A command. Each has a run of its own.
    Command,
    /// A server, regularly. The runs of a day are one.
    Server,
}

/// A run in progress.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// `None` as long as it has raised no mark.
    pub(super) number: Option<i64>,
    pub(super) by: RunBy,
    pub(super) before: UnixMs,
    pub(super) now: UnixMs,
}

impl Run {
    /// Stores the marks that a transaction of the run raised. Returns the number of the run.
    pub(super) async fn store(
        self,
        write: &Write<'_>,
        raised: &[&ArchiveMark],
    ) -> Result<Option<i64>, Error> {
        if raised.is_empty() {
            return Ok(self.number);
        }
        let number = match self.number {
            Some(number) => number,
            None => self.begin(write).await?,
        };
        let marks = raised.iter().map(|mark| async move {
            let (group, code) = (mark.group.into(), mark.code.as_str().into());
            let params = [group, code, number.into(), mark.old.into(), mark.new.into()];
            write.execute(&SET_MARK, &params).await
        });
        try_join_all(marks).await?;
        Ok(Some(number))
    }

    /// Stores the run, or continues the server's run of the day. Returns its number.
    async fn begin(self, write: &Write<'_>) -> Result<i64, Error> {
        metadata::lock_archive_runs(write).await?;
        let (by_server, before) = (self.by == RunBy::Server, self.before.into());
        if by_server {
            let last = write.one(&RUNS, &[], |row| row.read::<RunRow>()).await?;
            let since = self.now.plus_ms(-SERVER_RUN_MS);
            let last = last.filter(|run| run.by_server && run.undone_at_ms.is_none());
            if let Some(run) = last.filter(|run| run.at_ms > since) {
                write.execute(&CONTINUE_RUN, &[run.run_no.into(), before]).await?;
                return Ok(run.run_no);
            }
        }
        let next = metadata::next_archive_run(write).await?;
        let params = [next.into(), self.now.into(), before, by_server.into()];
        write.execute(&INSERT_RUN, &params).await?;
        Ok(next)
    }
}

/// The orders of an archive run that are current again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The number of the run.
    pub run: i64,
    /// When it archived.
    pub at: UnixMs,
    /// Its orders.
    pub orders: i64,
    /// Their devices.
    pub devices: usize,
    /// A time before which servers have archived orders, if all orders of the run are older: a
    /// server with the same setting archives them again.
    pub before_of_servers: Option<UnixMs>,
}

/// Why an archive run cannot be undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is no run, or none with this number.
    #[error("{}; `kiosque archive --list` has the runs of the last 90 days", no_run(*.0))]
    NoRun(Option<i64>),
    /// It has been undone.
    #[error("archive run {0} has been undone already")]
    IsUndone(i64),
    /// Other runs archived further orders of the same devices.
    #[error(
        "runs after archive run {run} archived later orders of the same devices; undo them first, \
         the last one first: {}",
        commands(.later)
    )]
    Later {
        /// The run.
        run: i64,
        /// The other runs, in their order.
        later: Vec<i64>,
    },
    /// The store failed; orders that are current again stay so, and another attempt does the rest.
    #[error(transparent)]
    Store(#[from] Error),
}

fn no_run(number: Option<i64>) -> String {
    match number {
        Some(number) => format!("there is no archive run {number}"),
        None => "there is no archive run to undo".to_owned(),
    }
}

fn commands(runs: &[i64]) -> String {
    let commands = runs.iter().rev().map(|run| format!("`kiosque archive --undo {run}`"));
    commands.collect::<Vec<_>>().join(", ")
}

impl Store {
    /// Undoes an archive run, or the last one that has not been undone: its orders are current
    /// again. Records it in the audit trail.
    ///
    /// # Errors
    /// See [`UndoError`].
    pub async fn undo_archive(
        &self,
        number: Option<i64>,
        by: ActedBy,
    ) -> Result<Undone, UndoError> {
        let find = async move |read: &Read<'_>| find(read, number).await;
        let Found { run, marks, before_of_servers } = self.db.read(Deadline::None, find).await?;
        let number = run.run_no;
        for chunk in marks.chunks(MARKS_PER_TRANSACTION) {
            let chunk = chunk.to_vec();
            let lower = async move |write: &Write<'_>| lower(write, number, &chunk).await;
            self.db.write(Deadline::OfRequest, lower).await?;
        }
        let orders = marks.iter().map(|mark| mark.new_seq - mark.old_seq).sum();
        let (at, devices) = (run.at_ms, marks.len());
        let undone = Undone { run: number, at, orders, devices, before_of_servers };
        let end = async move |write: &Write<'_>| {
            write.execute(&SET_UNDONE, &[number.into(), by.at.into()]).await?;
            let Undone { run, orders, devices, .. } = undone;
            audit::act(write, &Act::ArchiveUndone { run, orders, devices }, &by).await
        };
        self.db.write::<_, Error>(Deadline::OfRequest, end).await?;
        Ok(undone)
    }

    /// Returns the archive runs that can be undone or were, the last one first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn archive_runs(&self) -> Result<Vec<ArchiveRunItem>, Error> {
        let list = async |read: &Read<'_>| {
            let sums = read.all(&SUMS, &[], |row| row.read::<RunSums>()).await?;
            let item = |run: RunRow| {
                let sums = sums.iter().find(|sums| sums.run_no == run.run_no);
                ArchiveRunItem {
                    run_id: run.run_no.to_string(),
                    timestamp: run.at_ms.0,
                    before_timestamp: run.before_ms.0,
                    by_server: run.by_server,
                    orders: sums.map_or(0, |sums| sums.orders),
                    devices: sums.map_or(0, |sums| sums.devices),
                    undone_timestamp: run.undone_at_ms.map(|at| at.0),
                }
            };
            read.all(&RUNS, &[], |row| Ok(item(row.read()?))).await
        };
        self.db.read(Deadline::OfRequest, list).await
    }

    /// Deletes the runs that are too old to be undone. Their orders stay archived.
    pub(super) async fn purge_archive_runs(&self, now: UnixMs) -> Result<(), Error> {
        let kept_ms = i64::try_from(KEPT_FOR.as_millis()).unwrap_or(i64::MAX);
        let old = async move |read: &Read<'_>| {
            read.all(&OLD_RUNS, &[now.plus_ms(-kept_ms).into()], |row| row.read::<i64>()).await
        };
        for number in self.db.read::<_, Error>(Deadline::None, old).await? {
            let delete = async move |write: &Write<'_>| {
                write.execute(&DELETE_MARKS, &[number.into()]).await?;
                write.execute(&DELETE_RUN, &[number.into()]).await
            };
            self.db.write::<_, Error>(Deadline::OfRequest, delete).await?;
        }
        Ok(())
    }
}

/// A run to undo.
struct Found {
    run: RunRow,
    marks: Vec<MarkRow>,
    before_of_servers: Option<UnixMs>,
}

/// Finds the run to undo.
async fn find(read: &Read<'_>, number: Option<i64>) -> Result<Found, UndoError> {
    let run = match number {
        Some(number) => read.one(&RUN, &[number.into()], |row| row.read::<RunRow>()).await?,
        None => read.one(&LAST_RUN, &[], |row| row.read()).await?,
    };
    let run = run.ok_or(UndoError::NoRun(number))?;
    if run.undone_at_ms.is_some() {
        return Err(UndoError::IsUndone(run.run_no));
    }
    let number = [run.run_no.into()];
    let later = read.all(&LATER_RUNS, &number, |row| row.read::<i64>()).await?;
    if !later.is_empty() {
        return Err(UndoError::Later { run: run.run_no, later });
    }
    let before = read.one(&BEFORE_OF_SERVERS, &[], |row| row.read::<UnixMs>()).await?;
    let before_of_servers = before.filter(|before| *before >= run.before_ms);
    let marks = read.all(&MARKS, &number, |row| row.read()).await?;
    Ok(Found { run, marks, before_of_servers })
}

/// Lowers marks of a run, which are sorted by group, to their values before it.
async fn lower(write: &Write<'_>, run: i64, marks: &[MarkRow]) -> Result<(), UndoError> {
    let mut groups: Vec<GroupNo> = marks.iter().map(|mark| mark.group_no).collect();
    groups.dedup();
    owners::lock_groups(write, &groups).await?;
    let lowered = marks.iter().map(|mark| async move {
        let MarkRow { group_no, device_code, old_seq, new_seq } = mark;
        let key = [(*group_no).into(), device_code.as_str().into()];
        let params = [key[0], key[1], (*old_seq).into(), (*new_seq).into()];
        let is_lowered = write.execute(&LOWER_MARK, &params).await? == 1;
        write.execute(&DELETE_MARK, &[key[0], key[1], run.into()]).await?;
        Ok::<_, Error>(is_lowered)
    });
    if try_join_all(lowered).await?.into_iter().all(|is_lowered| is_lowered) {
        return Ok(());
    }
    // Another run has begun since the marks were read.
    let later = write.all(&LATER_RUNS, &[run.into()], |row| row.read()).await?;
    Err(UndoError::Later { run, later })
}
