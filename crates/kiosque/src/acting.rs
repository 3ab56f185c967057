//! The origin of a command's changes, for the audit trail: the command, its files, and the user who
//! runs it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiosque_clock::Clock;
use kiosque_contract::RejectedOrder;
use kiosque_model::audit::{CommandRun, Interruption};
use kiosque_model::{ActedBy, UnixMs};
use kiosque_store::{Act, IMPORT_ACTIVE_INTERVAL, Store};
use tokio::task::JoinSet;

use crate::interrupt;
use crate::output::{absolute, eprint_line, print_line};

/// Returns this run of a command, such as `import orders`.
pub(crate) fn run_of(command: &str) -> CommandRun {
    // The directory of a process belongs to the user that it runs as; only Linux has it.
    let uid = fs::metadata("/proc/self").ok().map(|directory| directory.uid());
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    CommandRun {
        user: uid.and_then(|uid| name_of(uid, &users)),
        uid,
        command: command.to_owned(),
        ..CommandRun::default()
    }
}

/// Returns the origin of a change that this command makes now.
pub(crate) fn by(command: &str) -> ActedBy {
    by_at(command, Clock::System.now())
}

/// Returns the origin of a change that this command makes at a time.
pub(crate) fn by_at(command: &str, at: UnixMs) -> ActedBy {
    ActedBy::run(run_of(command), at)
}

/// Returns the name of a file for the trail: absolute, or `-` for standard input.
pub(crate) fn file_name(file: &Path) -> String {
    if file == Path::new("-") { "-".to_owned() } else { absolute(file) }
}

/// Returns the name of a user in the lines of `/etc/passwd`.
fn name_of(uid: u32, users: &str) -> Option<String> {
    let line = users.lines().find(|line| {
        let number = line.split(':').nth(2);
        number.and_then(|number| number.parse().ok()) == Some(uid)
    });
    line?.split(':').next().map(str::to_owned)
}

/// An import that has begun. In a dry run it has no number.
pub(crate) struct BegunImport {
    pub(crate) run: CommandRun,
    /// Stores at intervals that the import is running.
    _showing_active: JoinSet<()>,
}

/// Stores the start of an import. Imports whose processes were lost are ended. `stored` counts the
/// orders that it has stored.
pub(crate) async fn begin_import(
    store: &Store,
    run: CommandRun,
    stored: Arc<AtomicU64>,
) -> anyhow::Result<BegunImport> {
    if store.engine().is_dry_run() {
        return Ok(BegunImport { run, _showing_active: JoinSet::new() });
    }
    let by = ActedBy::run(run.clone(), Clock::System.now());
    store.intake().end_lost_imports(by.clone()).await?;
    let number = store.intake().begin_import(by).await?;
    let mut showing_active = JoinSet::new();
    showing_active.spawn(show_active(store.clone(), number, stored));
    let run = CommandRun { import: Some(number), ..run };
    Ok(BegunImport { run, _showing_active: showing_active })
}

async fn show_active(store: Store, number: i64, stored: Arc<AtomicU64>) {
    loop {
        tokio::time::sleep(IMPORT_ACTIVE_INTERVAL).await;
        // The import itself reports a failing store.
        let orders = i64::try_from(stored.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        let _ = store.intake().show_import_active(number, Clock::System.now(), orders).await;
    }
}

/// Stores the early end of the import of a run, after it had stored some orders and rejected some
/// lines. One that stored nothing is removed; `None` is a number that is not known.
pub(crate) async fn interrupt_import(
    store: &Store,
    run: &CommandRun,
    reason: Interruption,
    orders: Option<u64>,
    rejected: Vec<RejectedOrder>,
) {
    let Some(import) = run.import else { return };
    let end = async {
        if orders == Some(0) {
            return store.intake().cancel_import(import).await;
        }
        let act = Act::import_interrupted(import, reason, orders);
        let by = ActedBy::run(run.clone(), Clock::System.now());
        store.intake().end_import(import, act, rejected, by).await
    };
    // A store that has failed may fail again: then the import ends like one whose process was
    // lost.
    let _ = tokio::time::timeout(interrupt::GRACE, end).await;
}

impl BegunImport {
    /// Stores the result of the import and its last rejected lines. Returns its id for
    /// [`print_import`]; `None` in a dry run.
    pub(crate) async fn end(
        self,
        store: &Store,
        act: Act,
        rejected: Vec<RejectedOrder>,
    ) -> anyhow::Result<Option<i64>> {
        if let Some(number) = self.run.import {
            let by = ActedBy::run(self.run.clone(), Clock::System.now());
            store.intake().end_import(number, act, rejected, by).await?;
        }
        Ok(self.run.import)
    }
}

/// Prints the id of an import that has ended, after its result.
pub(crate) fn print_import(id: Option<i64>) -> anyhow::Result<()> {
    match id {
        Some(id) => print_line!("import {id}"),
        None => {
            eprint_line!("dry run: nothing was stored");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_number() {
        let users = "root:x:0:0:root:/:/bin/sh\nbroken\nkiosque:x:999:999::/srv:/bin/false\n";
        assert_eq!(name_of(999, users).as_deref(), Some("kiosque"));
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1, users), None);
    }
}
