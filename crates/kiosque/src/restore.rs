//! `kiosque restore`

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::Timestamp;
use kiosque_clock::Clock;
use kiosque_model::counted;
use kiosque_store::{
    Changes, RestoreError, ServerLock, create_directory, ensure_backup, has_data, stage_backup,
};

use crate::open;
use crate::output::{eprint_line, print_line, shell_quoted};
use crate::settings::Settings;
use crate::table::printable;

/// Restores a backup to the directory, and moves the old data aside.
pub(crate) async fn run(
    settings: &Settings,
    file: PathBuf,
    changes: Changes,
) -> anyhow::Result<()> {
    if settings.common.store.is_some() {
        bail!(
            "restore a PostgreSQL database with its own tools: point-in-time recovery of a base \
             backup, or pg_restore (docs/scale-out.md, \"Backup and point-in-time recovery\")"
        );
    }
    let directory = open::directory(settings)?;
    ensure_backup(&file)?;
    // A dry run without data to compare with creates no data directory.
    let scratch = match changes {
        Changes::RolledBack if !has_data(&directory)? => Some(scratch_near(&directory)?),
        Changes::RolledBack | Changes::Stored => None,
    };
    let stage = scratch.as_ref().unwrap_or(&directory);
    create_directory(stage)?;
    let _lock = ServerLock::take(stage, "restore")?;
    let _removed_at_the_end = scratch.clone().map(Removed);
    let zone = open::wanted_zone(settings)?;
    let now = Clock::System.now();
    let staged = match stage_backup(&file, stage, zone.as_ref(), now).await {
        Err(RestoreError::Damaged(differences)) => {
            for difference in &differences {
                print_line!("{}", printable(difference))?;
            }
            return Err(RestoreError::Damaged(differences).into());
        }
        staged => staged?,
    };
    let orders = counted(staged.verified.orders, "order");
    let shown = directory.display();
    let others = match staged.verified.by_other_rules.len() {
        0 => String::new(),
        others => format!(
            " but {others} by other rules of the time zone, which `kiosque verify` lists: no damage"
        ),
    };
    print_line!("verified {}: {orders}, no difference{others}", file.display())?;
    if changes == Changes::RolledBack {
        eprint_line!("dry run: nothing was restored");
        return Ok(());
    }
    let time = Timestamp::from_millisecond(now.0).context("the time of the clock")?;
    let old = staged.put_in_place(&time.strftime("%Y%m%dT%H%M%S.%3fZ").to_string())?;
    print_line!("restored {orders} to {shown}")?;
    if let Some(old) = &old {
        print_line!("moved the data that was there to {}", directory.join(old).display())?;
    }
    explain(&directory, old.as_deref());
    Ok(())
}

/// Returns a directory for the copy of a dry run, in `directory` or in the nearest existing one
/// above: a restore needs the same room there. After an interruption, the next dry run uses it
/// again.
fn scratch_near(directory: &Path) -> anyhow::Result<PathBuf> {
    let directory = std::path::absolute(directory)?;
    let above = directory.ancestors().find(|above| above.is_dir());
    let above = above.with_context(|| directory.display().to_string())?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(above.join(format!(".{name}.restore-dry-run")))
}

/// A directory that is removed when this is dropped.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        // A drop cannot report an error; the copy in the directory was removed before.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Prints what to do next, and how to go back.
fn explain(directory: &Path, aside: Option<&str>) {
    let shown = shell_quoted(directory);
    eprint_line!(
        "next: start the server; send the orders since the backup again, end sessions and revoke \
         keys that were ended or revoked since"
    );
    if let Some(aside) = aside {
        eprint_line!(
            "to go back: stop the server, and run: cd {shown} && mkdir {aside}/restored && \
             mv kiosque.db* {aside}/restored/ && mv {aside}/kiosque.db* ."
        );
    }
}
