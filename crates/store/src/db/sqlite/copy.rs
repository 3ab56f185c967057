//! Copies the database while other connections write to it.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::Error;
use crate::db::Copied;

/// The pages copied between two progress reports: 1 MiB.
const PAGES_AT_A_TIME: i32 = 256;

/// Copies a snapshot into an empty file that no other connection uses. `progress` is called between
/// steps; `Break` ends the copy. Writers continue and do not restart it, because the copy reads in
/// the snapshot's own transaction. The file is not synced.
pub(in crate::db) fn copy_to(
    connection: &Connection,
    file: &Path,
    mut progress: impl FnMut(Copied) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    // Without locks of SQLite: the caller holds a lock of its own.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = Connection::open_with_flags_and_vfs(file, flags, c"unix-none")?;
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
