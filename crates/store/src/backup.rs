//! A consistent copy of the data, made while others read and write it. It gets its final name only
//! when it is complete, undamaged and durable.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::db::{
    Copied, Deadline, Header, PRIVATE_FILE, Read, integrity_of, mark_as_backup, open_private,
};
use crate::error::Error;
use crate::file_system::{directory_of, if_found, sync_directory};
use crate::inventory;
use crate::views::Upkeep;

/// The suffix of the name of an unfinished backup.
pub const UNFINISHED_SUFFIX: &str = ".partial";

/// Returns whether two files are databases with the same data, at any time.
///
/// # Errors
/// A file cannot be read.
pub fn have_same_data(one: &Path, other: &Path) -> io::Result<bool> {
    let [one, other] = [Header::of(&File::open(one)?)?, Header::of(&File::open(other)?)?];
    Ok(one.zip(other).is_some_and(|(one, other)| one.is_of_same_data(other)))
}

/// Why no backup was made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file exists already.
    #[error("{0} exists; a backup does not replace a file")]
    Exists(PathBuf),
    /// Another backup is writing it.
    #[error("another backup is writing {0}")]
    UnderWay(PathBuf),
    /// A file cannot be created.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// The database is damaged, and so is its copy.
    #[error(
        "the database is damaged ({0}); no file was made, and no older backup was removed; run \
         `kiosque verify`, and restore a backup with `kiosque restore`"
    )]
    Damaged(String),
    /// The caller stopped it.
    #[error("the backup was stopped; no file was made")]
    Stopped,
    /// The store failed.
    #[error("{0}")]
    Store(#[from] Error),
}

/// A complete backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// The size of the file.
    pub bytes: u64,
    /// The number of orders in it.
    pub orders: i64,
}

impl Upkeep<'_> {
    /// Copies the current data to a new file, which must not exist yet, and checks the copy.
    /// `progress` is called with the pages copied so far and may stop the backup. A failed backup
    /// leaves no file.
    ///
    /// # Errors
    /// The file exists or cannot be created, `progress` stopped the backup, the data is damaged, or
    /// the store failed.
    pub async fn backup(
        self,
        file: PathBuf,
        progress: impl FnMut(Copied) -> ControlFlow<()> + Send + 'static,
    ) -> Result<BackedUp, BackupError> {
        let copy = async move |read: &Read<'_>| backup(read, &file, progress).await;
        self.0.db.read(Deadline::None, copy).await
    }
}

async fn backup(
    read: &Read<'_>,
    file: &Path,
    mut progress: impl FnMut(Copied) -> ControlFlow<()> + Send + 'static,
) -> Result<BackedUp, BackupError> {
    ensure_absent(file)?;
    let partial = PartialFile::create(file)?;
    let orders = inventory::order_count(read).await.map_err(damage)?;
    if read.copy_to(&partial.path, &mut progress).map_err(damage)?.is_break() {
        return Err(BackupError::Stopped);
    }
    let failed = |error| BackupError::File(partial.path.clone(), error);
    mark_as_backup(&partial.file).map_err(failed)?;
    match integrity_of(&partial.path, progress)? {
        ControlFlow::Break(()) => return Err(BackupError::Stopped),
        ControlFlow::Continue(None) => {}
        ControlFlow::Continue(Some(found)) => return Err(BackupError::Damaged(found)),
    }
    Ok(BackedUp { bytes: partial.finish(file)?, orders })
}

/// Returns the error of a backup during which the store failed.
fn damage(error: Error) -> BackupError {
    match error {
        Error::Sqlite(_) if error.is_damage() => BackupError::Damaged(error.to_string()),
        error => BackupError::Store(error),
    }
}

/// Removes the remains of a backup to `file` after a crash, but not a backup in progress.
///
/// # Errors
/// The remains cannot be opened or removed.
pub fn remove_unfinished(file: &Path) -> io::Result<()> {
    let path = partial_path(file);
    match File::open(&path)?.try_lock() {
        // Its writer may have renamed it since; removing this name is still correct.
        Ok(()) => fs::remove_file(&path),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn partial_path(file: &Path) -> PathBuf {
    let mut path = OsString::from(file);
    path.push(UNFINISHED_SUFFIX);
    path.into()
}

fn ensure_absent(file: &Path) -> Result<(), BackupError> {
    match if_found(fs::symlink_metadata(file)) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(BackupError::Exists(file.to_owned())),
        Err(error) => Err(BackupError::File(file.to_owned(), error)),
    }
}

/// An unfinished backup next to its final path, removed on drop unless it is renamed. Its lock
/// distinguishes a backup in progress from the remains of a crash.
struct PartialFile {
    path: PathBuf,
    file: File,
    is_finished: bool,
}

impl PartialFile {
    fn create(file: &Path) -> Result<PartialFile, BackupError> {
        let path = partial_path(file);
        let failed = |error| BackupError::File(path.clone(), error);
        let opened = open_private(&path).map_err(failed)?;
        match opened.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BackupError::UnderWay(file.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The previous holder of the lock may have renamed the file.
        let current = fs::symlink_metadata(&path).map(|found| found.ino()).ok();
        if current != Some(opened.metadata().map_err(failed)?.ino()) {
            return Err(BackupError::UnderWay(file.to_owned()));
        }
        let partial = PartialFile { path: path.clone(), file: opened, is_finished: false };
        // The remains of a crash are overwritten.
        partial.file.set_permissions(fs::Permissions::from_mode(PRIVATE_FILE)).map_err(failed)?;
        partial.file.set_len(0).map_err(failed)?;
        Ok(partial)
    }

    /// Makes the file durable and renames it. Returns its size in bytes.
    fn finish(mut self, file: &Path) -> Result<u64, BackupError> {
        let failed = |error| BackupError::File(file.to_owned(), error);
        self.file.sync_all().map_err(failed)?;
        let bytes = self.file.metadata().map_err(failed)?.len();
        ensure_absent(file)?;
        fs::rename(&self.path, file).map_err(failed)?;
        self.is_finished = true;
        sync_directory(directory_of(file)).map_err(failed)?;
        Ok(bytes)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // A drop cannot report an error.
            let _ = fs::remove_file(&self.path);
        }
    }
}
