//! A consistent copy of the data while others read and write it. It stands under its name only
//! when it is whole and durable.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::db::{Copied, Length, Read};
use crate::sql::statements;
use crate::{Error, Store};

statements! {
    ORDERS = "select cast(coalesce(sum(last_seq - first_seq + 1), 0) as bigint) from ledger";
}

/// The data holds digests of tokens and hashes of passwords: it is its owner's alone.
const MODE: u32 = 0o600;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file is there already.
    #[error("{0} exists; a backup replaces nothing")]
    Exists(PathBuf),
    /// Another backup is writing it.
    #[error("another backup is writing {0}")]
    UnderWay(PathBuf),
    /// A file cannot be made.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// It was told to stop.
    #[error("the backup was stopped; no file was made")]
    Stopped,
    /// The store failed.
    #[error("{0}")]
    Store(#[from] Error),
}

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// Its size.
    pub bytes: u64,
    /// Its orders.
    pub orders: i64,
}

impl Store {
    /// Copies the data as it is now to a file of its own, which must not exist yet; renamed to
    /// `kiosque.db` in a folder, it is that folder's data. `told` hears how far it is, and may end
    /// it. A copy that comes to nothing leaves no file.
    ///
    /// # Errors
    /// The file exists or cannot be made, `told` ended it, or the store failed.
    pub async fn backup(
        &self,
        file: PathBuf,
        told: impl FnMut(Copied) -> ControlFlow<()> + Send + 'static,
    ) -> Result<BackedUp, BackupError> {
        self.db
            .read(Length::Long, async move |read: &Read<'_>| backup(read, &file, told).await)
            .await
    }
}

async fn backup(
    read: &Read<'_>,
    file: &Path,
    told: impl FnMut(Copied) -> ControlFlow<()>,
) -> Result<BackedUp, BackupError> {
    absent(file)?;
    let partial = Partial::begin(file)?;
    let orders = read.one(&ORDERS, &[], |row| row.int(0)).await?.unwrap_or(0);
    if read.copy_to(&partial.path, told)?.is_break() {
        return Err(BackupError::Stopped);
    }
    Ok(BackedUp { bytes: partial.finish(file)?, orders })
}

fn absent(file: &Path) -> Result<(), BackupError> {
    match fs::symlink_metadata(file) {
        Ok(_) => Err(BackupError::Exists(file.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BackupError::File(file.to_owned(), error)),
    }
}

/// A copy that is being written, beside the place where it will stand; removed unless it gets
/// there. Its lock tells one that is being written from one that a crash left.
struct Partial {
    path: PathBuf,
    file: File,
    is_finished: bool,
}

impl Partial {
    fn begin(file: &Path) -> Result<Partial, BackupError> {
        let mut path = OsString::from(file);
        path.push(".partial");
        let path = PathBuf::from(path);
        let failed = |error| BackupError::File(path.clone(), error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(MODE);
        let opened = options.open(&path).map_err(failed)?;
        match opened.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BackupError::UnderWay(file.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // Whoever held the lock until now may have given the file its name.
        let there = fs::symlink_metadata(&path).map(|found| found.ino()).ok();
        if there != Some(opened.metadata().map_err(failed)?.ino()) {
            return Err(BackupError::UnderWay(file.to_owned()));
        }
        let partial = Partial { path: path.clone(), file: opened, is_finished: false };
        // What a crash left is begun anew.
        partial.file.set_permissions(fs::Permissions::from_mode(MODE)).map_err(failed)?;
        partial.file.set_len(0).map_err(failed)?;
        Ok(partial)
    }

    /// Makes it durable, then gives it its name; returns its size.
    fn finish(mut self, file: &Path) -> Result<u64, BackupError> {
        let failed = |error| BackupError::File(file.to_owned(), error);
        self.file.sync_all().map_err(failed)?;
        let bytes = self.file.metadata().map_err(failed)?.len();
        absent(file)?;
        fs::rename(&self.path, file).map_err(failed)?;
        self.is_finished = true;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        folder.sync_all().map_err(failed)?;
        Ok(bytes)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_finished {
            // There is nobody left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}
