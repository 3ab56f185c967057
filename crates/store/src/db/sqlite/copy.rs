//! A copy of the file while others write it.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::Error;
use crate::db::Copied;

/// How much is copied between two looks around: 1 MiB.
const PAGES_AT_A_TIME: i32 = 256;

/// Copies all that a snapshot sees into an empty file that nobody else uses, and tells how far it
/// is; `Break` ends it. Writers go on, and nothing they do begins it anew: the copy reads in the
/// snapshot's own transaction. What it wrote is not durable yet.
pub(in crate::db) fn copy_to(
    connection: &Connection,
    file: &Path,
    mut told: impl FnMut(Copied) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    // Without locks: the caller holds one of its own kind.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = Connection::open_with_flags_and_vfs(file, flags, c"unix-none")?;
    // A copy that fails is thrown away: there is nothing to roll back.
    copy.pragma_update(None, "journal_mode", "off")?;
    copy.pragma_update(None, "synchronous", "off")?;
    let copying = Backup::new(connection, &mut copy)?;
    loop {
        let step = copying.step(PAGES_AT_A_TIME)?;
        let progress = copying.progress();
        let pages = |count| u64::try_from(count).unwrap_or(0);
        let (of, left) = (pages(progress.pagecount), pages(progress.remaining));
        match step {
            StepResult::Done => return Ok(ControlFlow::Continue(())),
            StepResult::More => {}
            _ => return Err(Error::Data("the copy is in use".to_owned())),
        }
        if told(Copied { pages: of.saturating_sub(left), of }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}
