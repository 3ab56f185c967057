//! Copies the database while other connections write to it, and checks copies.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::READ_WRITE;
use crate::error::Error;

/// Pages copied between two progress reports: 1 MiB.
const PAGES_AT_A_TIME: i32 = 256;
/// Instructions of a check between two progress reports.
const INSTRUCTIONS_PER_PROGRESS: i32 = 100_000;

/// The progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Pages copied so far.
    pub pages: u64,
    /// Pages in all.
    pub of: u64,
}

/// Copies a snapshot into an empty file that no other connection uses. `progress` is called between
/// steps; `Break` ends the copy. Writers continue and do not restart it, because the copy reads in
/// the snapshot's own transaction. The file is not synced.
pub(in crate::db) fn copy_to(
    connection: &Connection,
    file: &Path,
    mut progress: impl FnMut(Copied) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    let mut copy = open_without_locks(file)?;
    // A copy that fails is deleted, so it needs no rollback.
    copy.pragma_update(None, "journal_mode", "off")?;
    copy.pragma_update(None, "synchronous", "off")?;
    let copying = Backup::new(connection, &mut copy)?;
    loop {
        let step = copying.step(PAGES_AT_A_TIME)?;
        let state = copying.progress();
        let pages = |count| u64::try_from(count).unwrap_or(0);
        let (of, left) = (pages(state.pagecount), pages(state.remaining));
        match step {
            StepResult::Done => return Ok(ControlFlow::Continue(())),
            StepResult::More => {}
            _ => return Err(Error::Data("the copy is in use".to_owned())),
        }
        if progress(Copied { pages: of.saturating_sub(left), of }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// Returns the first problem that SQLite's integrity check finds in a backup that no other
/// connection uses; `None` if it is undamaged. `progress` is called as if all pages had just been
/// copied; `Break` ends the check.
pub(crate) fn integrity_of(
    file: &Path,
    mut progress: impl FnMut(Copied) -> ControlFlow<()> + Send + 'static,
) -> Result<ControlFlow<(), Option<String>>, Error> {
    let mut copy = open_without_locks(file)?;
    let pages: i64 = copy.query_row("pragma page_count", [], |row| row.get(0))?;
    let pages = u64::try_from(pages).unwrap_or_default();
    let is_stopped = move || progress(Copied { pages, of: pages }).is_break();
    copy.progress_handler(INSTRUCTIONS_PER_PROGRESS, Some(is_stopped))?;
    match copy.query_row("pragma integrity_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(found) => Ok(ControlFlow::Continue((found != "ok").then_some(found))),
        Err(error) => match error.into() {
            Error::TooMuchWork(_) => Ok(ControlFlow::Break(())),
            error if error.is_damage() => Ok(ControlFlow::Continue(Some(error.to_string()))),
            error => Err(error),
        },
    }
}

/// Opens a database without SQLite's locks: no other connection uses it, or the caller holds a
/// separate lock.
pub(super) fn open_without_locks(file: &Path) -> Result<Connection, Error> {
    Ok(Connection::open_with_flags_and_vfs(file, READ_WRITE, c"unix-none")?)
}
