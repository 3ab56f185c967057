//! Restores a backup to a directory. The copy is made, opened and verified in a separate directory;
//! only then is the existing data moved aside, and the copy takes its place.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kiosque_model::{UnixMs, Zone};
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::db::{
    Changes, DATABASE, Header, OpenOptions, SessionLease, StoreLocation, WhenAbsent,
    create_private, database_files, foreign_log, has_table, is_cut_off, mark_as_backup,
};
use crate::directory::create_directory;
use crate::error::Error;
use crate::file_system::{if_found, sync_directory};
use crate::verify::Verified;
use crate::views::Upkeep;
use crate::{migrate, open};

/// The directory within the data's directory in which a copy is verified.
const STAGE: &str = "restoring";
/// The beginning of the names of the directories there to which data is moved.
const ASIDE: &str = "replaced-";

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The file cannot be restored.
    #[error("{0} {1}")]
    NoBackup(PathBuf, &'static str),
    /// The file has another problem.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// A command has the data open.
    #[error("{0} is open in another command; wait until it has ended, and repeat this one")]
    InUse(PathBuf),
    /// The database is elsewhere.
    #[error("{0} is a link; restore into the directory that it leads to")]
    Link(PathBuf),
    /// The copy cannot be opened.
    #[error("the backup cannot be opened: {0}")]
    Unusable(Error),
    /// A check found that the copy is damaged.
    #[error("the backup is damaged, and was not restored; the data is unchanged")]
    Damaged(Vec<String>),
}

/// A verified copy of a backup, in the directory of the data but not in its place. Dropping it
/// removes it.
#[derive(Debug)]
pub struct Staged {
    directory: PathBuf,
    /// What the recount has found.
    pub verified: Verified,
}

/// Copies a backup that [`ensure_backup`] accepts, opens the copy, which brings its layout up to
/// date, and verifies it: the integrity of the file, and everything that [`Upkeep::verify`]
/// recounts. Differences by other rules of the time zone are no damage. The existing data is not
/// changed. The caller has the lock of the directory.
///
/// # Errors
/// The file is not a backup, or cannot be copied, opened or verified.
pub async fn stage_backup(
    backup: &Path,
    directory: &Path,
    zone: Option<&Zone>,
    now: UnixMs,
) -> Result<Staged, RestoreError> {
    let stage = directory.join(STAGE);
    let failed = |error| RestoreError::File(stage.clone(), error);
    // The remains of a crash.
    remove_directory(&stage).map_err(failed)?;
    create_directory(&stage).map_err(RestoreError::Unusable)?;
    let mut staged = Staged { directory: directory.to_owned(), verified: Verified::default() };
    let copied = copy(backup, &staged.database());
    copied.map_err(|error| RestoreError::File(backup.to_owned(), error))?;
    // It is read as a file without a log.
    staged.mark()?;
    let options = OpenOptions {
        place: StoreLocation::Directory(&stage),
        when_absent: WhenAbsent::Refuse,
        changes: Changes::Stored,
        zone,
        wait: Duration::from_secs(30),
        lease: SessionLease::default(),
        now,
        // No order is changed, so no history begins.
        random: [0; 16],
    };
    let state = open::open(&options).await.map_err(RestoreError::Unusable)?;
    let verified = Upkeep(&state).verify().await.map_err(RestoreError::Unusable)?;
    // Closing it copies its log to the file.
    drop(state);
    if !verified.differences.is_empty() {
        return Err(RestoreError::Damaged(verified.differences));
    }
    staged.verified = verified;
    Ok(staged)
}

impl Staged {
    /// Moves the data of the directory to a directory in it that is named after `time`, and the
    /// copy to its place. Returns the name of the directory with the old data, if there was any;
    /// an interrupted restore may have moved it.
    ///
    /// # Errors
    /// A command has the data open, or a file cannot be moved.
    pub fn put_in_place(self, time: &str) -> Result<Option<String>, RestoreError> {
        let database = self.directory.join(DATABASE);
        // A crash between the moves leaves a backup next to a log, or no database: both are
        // refused.
        self.mark()?;
        let _lock = exclusive(&database)?;
        // Under the lock: a command that ends before removes its log. The database is moved first,
        // since it must not be opened without its log, and the log last: as long as the log is in
        // its place, a repeated restore knows that a database was moved.
        let [_, log, index] = database_files(&database);
        let mut present = vec![&database, &index, &log];
        present.retain(|path| path.exists());
        let mut old = self.interrupted(&database, &log)?;
        if !present.is_empty() {
            let name = old.unwrap_or_else(|| format!("{ASIDE}{time}"));
            let aside = self.directory.join(&name);
            create_directory(&aside).map_err(RestoreError::Unusable)?;
            for path in present {
                let Some(name) = path.file_name() else { continue };
                let moved = fs::rename(path, aside.join(name));
                moved.map_err(|error| RestoreError::File(path.clone(), error))?;
            }
            sync(&aside)?;
            old = Some(name);
        }
        let moved = fs::rename(self.database(), &database);
        moved.map_err(|error| RestoreError::File(database.clone(), error))?;
        sync(&self.directory)?;
        Ok(old)
    }

    /// Returns the name of the latest directory to which an interrupted restore has moved the
    /// database: if its log is still in its place, without it.
    fn interrupted(&self, database: &Path, log: &Path) -> Result<Option<String>, RestoreError> {
        if database.exists() {
            return Ok(None);
        }
        let has_log = log.exists();
        let failed = |error| RestoreError::File(self.directory.clone(), error);
        let mut latest: Option<String> = None;
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            let [moved, moved_log, _] = database_files(&self.directory.join(&name).join(DATABASE));
            if !name.starts_with(ASIDE) || !moved.exists() || has_log && moved_log.exists() {
                continue;
            }
            let moved = File::open(moved).map_err(failed)?;
            if !has_log || foreign_log(&moved, log).map_err(failed)?.is_none() {
                latest = latest.max(Some(name));
            }
        }
        Ok(latest)
    }

    fn mark(&self) -> Result<(), RestoreError> {
        let file = File::options().write(true).open(self.database());
        let marked = file.and_then(|file| {
            mark_as_backup(&file)?;
            file.sync_all()
        });
        marked.map_err(|error| RestoreError::File(self.database(), error))
    }

    fn database(&self) -> PathBuf {
        self.directory.join(STAGE).join(DATABASE)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // A drop cannot report an error. The next restore removes the remains.
        let _ = remove_directory(&self.directory.join(STAGE));
    }
}

/// Fails unless a file may be a backup, or is the database of a stopped server. A file that fails
/// is refused before anything is created.
///
/// # Errors
/// The file is not a database of this program, cannot be read, is truncated, or has a write-ahead
/// log.
pub fn ensure_backup(path: &Path) -> Result<(), RestoreError> {
    let failed = |error| RestoreError::File(path.to_owned(), error);
    let none = |reason| Err(RestoreError::NoBackup(path.to_owned(), reason));
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return none("is not a file; specify a backup");
    }
    let Some(header) = Header::of(&file).map_err(failed)? else {
        return none("is not a backup of Kiosque: it is not a database");
    };
    let [_, log, _] = database_files(path);
    if !header.is_backup() && fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return none(
            "is a database with a write-ahead log, not a backup; make a backup of it with \
             `kiosque backup`",
        );
    }
    if is_cut_off(&file, &log).map_err(failed)? {
        return none("is cut off: it lacks pages that it had");
    }
    if !has_table(path, migrate::REGISTER).map_err(RestoreError::Unusable)? {
        return none("is not a backup of Kiosque: it is the database of another program");
    }
    Ok(())
}

/// Copies a file durably.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = create_private(to)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()
}

/// Returns a lock that another process has on the database file, if any.
fn exclusive(database: &Path) -> Result<Option<File>, RestoreError> {
    let failed = |error| RestoreError::File(database.to_owned(), error);
    let found = if_found(fs::symlink_metadata(database)).map_err(failed)?;
    let Some(found) = found else { return Ok(None) };
    if found.is_symlink() {
        return Err(RestoreError::Link(database.to_owned()));
    }
    let file = File::options().read(true).write(true).open(database).map_err(failed)?;
    // Each connection of SQLite has a shared lock of this kind.
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
            Err(RestoreError::InUse(database.to_owned()))
        }
        Err(error) => Err(failed(error.into())),
    }
}

fn sync(directory: &Path) -> Result<(), RestoreError> {
    sync_directory(directory).map_err(|error| RestoreError::File(directory.to_owned(), error))
}

fn remove_directory(directory: &Path) -> io::Result<()> {
    if_found(fs::remove_dir_all(directory)).map(|_| ())
}
