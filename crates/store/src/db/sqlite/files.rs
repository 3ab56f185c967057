//! The files of the database: the file itself, the write-ahead log and the index of the log. They
//! are private to their owner, must remain the files that were opened, with the content that SQLite
//! writes, and can become unwritable.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use kiosque_locks::lock_ignoring_poison;
use rusqlite::ErrorCode;

use super::header::{self, Content, foreign_log, is_cut_off};
use crate::db::WhenAbsent;
use crate::error::Error;
use crate::file_system::{self, FileSystem, if_found, io_error};

/// The name of the database file.
pub(crate) const DATABASE: &str = "kiosque.db";
/// The mode of files that other users may not read.
pub(crate) const PRIVATE_FILE: u32 = 0o600;
/// Free bytes below which the store is not ready for orders: about one write batch.
const LEAST_FREE_BYTES: u64 = 1 << 20;

/// The sizes of the store's files and the free space for them, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSizes {
    /// The database file.
    pub database: u64,
    /// The write-ahead log.
    pub log: u64,
    /// Bytes of the file system that this process may still use.
    pub free: u64,
}

/// Returns whether a directory has a database. An empty file is not one: its creation was
/// interrupted.
///
/// # Errors
/// This user may not look.
pub fn has_data(directory: &Path) -> Result<bool, Error> {
    let path = directory.join(DATABASE);
    let found = if_found(fs::metadata(&path)).map_err(|error| io_error(&path, &error))?;
    Ok(found.is_some_and(|found| found.is_file() && found.len() > 0))
}

/// Returns the paths of a database: its file, the write-ahead log and the index of the log.
pub(crate) fn database_files(database: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| {
        let mut path = database.as_os_str().to_owned();
        path.push(end);
        path.into()
    })
}

/// The files of an open database.
#[derive(Debug, Default)]
pub(crate) struct Files {
    database: PathBuf,
    /// The paths of all files, with the identities that they had when the database was opened.
    opened: [(PathBuf, Option<Identity>); 3],
    /// A descriptor of the database file, until SQLite has opened it. Closing any descriptor of a
    /// file releases all locks that the process has on it.
    descriptor: Option<File>,
    /// The content of the database file, once it is open.
    content: Option<Content>,
    /// Set while a file is not the one that was opened.
    changed: Condition,
    /// Set once the database file was overwritten.
    overwritten: Condition,
    /// Set once SQLite has found the database file damaged, until a check of the whole file finds
    /// that it is not.
    damaged: Condition,
    /// Set from a write that the file system prevented until the next successful one.
    write_failed: AtomicBool,
}

/// The device and the inode of a file, which another file of the same name does not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    fn of(path: &Path) -> Option<Identity> {
        Some(Identity::of_found(&fs::metadata(path).ok()?))
    }

    fn of_found(found: &Metadata) -> Identity {
        Identity { device: found.dev(), number: found.ino() }
    }
}

impl Files {
    /// Finds the database of a directory, or creates its file if `when_absent` says so.
    pub(super) fn find(directory: &Path, when_absent: WhenAbsent) -> Result<Files, Error> {
        let database = directory.join(DATABASE);
        let exists = has_data(directory)?;
        if !exists && when_absent == WhenAbsent::Refuse {
            return Err(Error::NoData);
        }
        let failed = |error| io_error(&database, &error);
        if !exists {
            create_private(&database).map_err(failed)?;
        }
        let mut files = Files::of(database.clone())?;
        let [_, (log, _), _] = &files.opened;
        let file = File::open(&database).map_err(failed)?;
        // The log may belong to another user than the file.
        let of_log =
            |error| file_system::not_writable(log).map_or_else(|| failed(error), Error::File);
        match foreign_log(&file, log).map_err(of_log)? {
            None if is_cut_off(&file, log).map_err(failed)? => Err(cut_off(&database)),
            None => {
                files.descriptor = Some(file);
                Ok(files)
            }
            Some(reason) => {
                if !exists {
                    // It is as empty as before, or did not exist.
                    fs::remove_file(&database).map_err(failed)?;
                }
                Err(foreign(&database, reason, log))
            }
        }
    }

    /// Returns the files of a directory without a database, which stays without one.
    pub(super) fn absent(directory: &Path) -> Files {
        let database = directory.join(DATABASE);
        let opened = database_files(&database).map(|path| (path, None));
        Files { database, opened, ..Files::default() }
    }

    fn of(database: PathBuf) -> Result<Files, Error> {
        // SQLite puts the log next to the file that a link leads to.
        let linked = fs::canonicalize(&database).map_err(|error| io_error(&database, &error))?;
        let [_, log, index] = database_files(&linked);
        let opened = [database.clone(), log, index].map(|path| (path, None));
        Ok(Files { database, opened, ..Files::default() })
    }

    /// Records the identities of the files, which exist from the first read of a connection on, and
    /// the content of the database file. Fails if the file was replaced before SQLite had a lock on
    /// it, by a restore for example: what is stored in the old file would be lost.
    pub(super) fn identify(&mut self) -> Result<(), Error> {
        for (path, identity) in &mut self.opened {
            *identity = Identity::of(path);
        }
        if let Some(file) = self.descriptor.take() {
            let failed = |error| io_error(&self.database, &error);
            let found = Identity::of_found(&file.metadata().map_err(failed)?);
            if Identity::of(&self.database) != Some(found) {
                return Err(Error::FileChanged(format!(
                    "{} was replaced by another file while this program opened it; start the \
                     program again",
                    self.database.display()
                )));
            }
            self.content = Content::of(file).map_err(failed)?;
        }
        Ok(())
    }

    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    pub(in crate::db) fn sizes(&self) -> FileSizes {
        let [_, (log, _), _] = &self.opened;
        let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        let free = FileSystem::of(file_system::directory_of(log)).map_or(0, |at| at.free_bytes);
        FileSizes { database: size(&self.database), log: size(log), free }
    }

    /// Compares the files with those that were opened. Returns whether one is another file, is
    /// missing, or was overwritten.
    pub(super) fn compare(&self) -> bool {
        let content = self.content.as_ref().filter(|_| !self.overwritten.is_set());
        if let Some(reason) = content.and_then(Content::overwritten) {
            let (database, remedy) = (self.database.display(), remedy(&self.database));
            self.overwritten.set(format!(
                "{database} was overwritten while this program had it open: {reason}; every \
                 request fails; stop this program, and {remedy}"
            ));
        }
        let changed = self.opened.iter().find_map(|(path, opened)| {
            let opened = (*opened)?;
            match Identity::of(path) {
                Some(found) if found == opened => None,
                Some(_) => Some(format!("{} was replaced by another file", path.display())),
                None => Some(format!("{} was moved or removed", path.display())),
            }
        });
        match changed {
            None => self.changed.clear(),
            Some(change) => self.changed.set(format!(
                "{change} while this program had it open; every request fails until the files are \
                 back, or the program is started again"
            )),
        }
        self.changed.is_set() || self.overwritten.is_set()
    }

    /// Fails while a file is not the one that was opened, and once it was overwritten.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.overwritten.check(Error::FileChanged)?;
        self.changed.check(Error::FileChanged)
    }

    /// Fails if a write would fail, as far as known without trying.
    pub(in crate::db) fn check_writable(&self) -> Result<(), Error> {
        self.check()?;
        let [_, (log, _), _] = &self.opened;
        file_system::without_room(log, LEAST_FREE_BYTES)
            .map_or(Ok(()), |reason| Err(Error::File(reason)))
    }

    /// Returns whether the file system prevented the last write.
    pub(in crate::db) fn last_write_failed(&self) -> bool {
        self.write_failed.load(Ordering::Acquire)
    }

    /// Fails once SQLite has found the database file damaged.
    pub(in crate::db) fn check_undamaged(&self) -> Result<(), Error> {
        self.damaged.check(Error::Damaged)
    }

    /// Records that a check of the whole file has found no damage.
    pub(super) fn forget_damage(&self) {
        self.damaged.clear();
    }

    /// Returns an error that says which file is affected and why, if the file system is the cause.
    /// Damage is recorded.
    pub(super) fn explain(&self, error: Error) -> Error {
        let Error::Sqlite(cause) = &error else { return error };
        let path = &self.database;
        match cause.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Error::File(file_system::no_space(path)),
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure,
            ) => {
                let mut files = self.opened.iter().map(|(file, _)| file);
                let reason = files.find_map(|file| file_system::not_writable(file));
                Error::File(reason.unwrap_or_else(|| file_system::failing(path, cause)))
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.damage(error),
            _ => error,
        }
    }

    /// Returns the error for a database that SQLite reports as damaged. SQLite also does so for a
    /// file that the device cannot read: then the error is the device's, and may be temporary.
    fn damage(&self, error: Error) -> Error {
        if self.compare()
            && let Err(changed) = self.check()
        {
            return changed;
        }
        if self.damaged.is_set() {
            return error;
        }
        let [_, (log, _), _] = &self.opened;
        let of_database = self.content.as_ref().and_then(Content::unreadable);
        let of_log = || File::open(log).and_then(|log| header::read_all(&log)).err();
        let failing = match of_database.map(|cause| (&self.database, cause)) {
            Some(found) => Some(found),
            // A removed log is not an error of the device.
            None => of_log().filter(|e| e.kind() != io::ErrorKind::NotFound).map(|e| (log, e)),
        };
        if let Some((path, cause)) = failing {
            return Error::File(file_system::failing(path, &cause));
        }
        self.damaged.set(self.damage_text(&error.to_string()));
        error
    }

    /// Returns the error for damage that was found earlier.
    pub(in crate::db) fn damage_found(&self, found: &str) -> Error {
        Error::Damaged(self.damage_text(found))
    }

    fn damage_text(&self, found: &str) -> String {
        let (database, remedy) = (self.database.display(), remedy(&self.database));
        format!(
            "{database} is damaged ({found}); `kiosque verify` lists what cannot be read; stop the \
             server, and {remedy}"
        )
    }

    /// Explains the error of a write like [`Files::explain`], and records that files failed.
    pub(super) fn write_failed(&self, error: Error) -> Error {
        let error = self.explain(error);
        if matches!(error, Error::File(_)) {
            self.write_failed.store(true, Ordering::Release);
        }
        error
    }

    /// Notes that a write succeeded.
    pub(super) fn write_succeeded(&self) {
        self.write_failed.store(false, Ordering::Release);
    }
}

/// Returns the error for a log that does not belong to the database file next to it.
fn foreign(database: &Path, reason: &str, log: &Path) -> Error {
    let (shown, log) = (database.display(), log.display());
    let remedy = remedy(database);
    Error::File(format!(
        "{shown} {reason}, and {log} belongs to other data: move the log away, or {remedy}, which \
         moves away the files that are there"
    ))
}

/// Returns the error for a truncated database file.
fn cut_off(database: &Path) -> Error {
    let (shown, remedy) = (database.display(), remedy(database));
    Error::File(format!("{shown} is cut off: it lacks pages that it had; {remedy}"))
}

/// Returns the remedy for a database file that cannot be used.
fn remedy(database: &Path) -> String {
    let directory = file_system::directory_of(database).display();
    format!("restore a backup with `kiosque restore FILE --data {directory}`")
}

/// Creates an empty file that only its owner may read, whatever the umask. SQLite gives the same
/// mode to the files that it creates next to it.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let file = open_private(path)?;
    file.set_permissions(Permissions::from_mode(PRIVATE_FILE))?;
    Ok(file)
}

/// Opens a file, or creates it for its owner alone, as far as the umask allows. An existing one is
/// not changed.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(PRIVATE_FILE);
    options.open(path)
}

/// A problem with its reason. Checking it costs an atomic load while there is none.
#[derive(Debug, Default)]
struct Condition {
    is_set: AtomicBool,
    reason: Mutex<String>,
}

impl Condition {
    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    fn set(&self, reason: String) {
        *lock_ignoring_poison(&self.reason) = reason;
        self.is_set.store(true, Ordering::Release);
    }

    fn clear(&self) {
        if self.is_set() {
            self.is_set.store(false, Ordering::Release);
        }
    }

    fn check(&self, error: impl FnOnce(String) -> Error) -> Result<(), Error> {
        if self.is_set() { Err(error(lock_ignoring_poison(&self.reason).clone())) } else { Ok(()) }
    }
}
