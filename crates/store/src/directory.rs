//! The directory of the data: private to its owner, and used by at most one server.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Serialize;

pub use crate::db::has_data;
use crate::db::{DATABASE, PRIVATE_FILE, database_files, open_private};
use crate::error::Error;
use crate::file_system::{if_found, io_error, not_writable};

/// The file that a server locks. Its text is the process ID and the command.
const LOCK: &str = "kiosque.lock";
/// Only the owner may enter the directory: it contains password hashes, digests of tokens and a
/// key.
const PRIVATE_DIRECTORY: u32 = 0o700;
/// Interval at which a server tries to take a lock that a command is checking.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);
/// Access of other users to a file.
const OTHERS: u32 = 0o077;

/// Creates a directory that only its owner may enter, regardless of the umask. An existing one is
/// not changed. Directories above it are created with the usual permissions.
///
/// # Errors
/// It cannot be created.
pub fn create_directory(directory: &Path) -> Result<(), Error> {
    let create = || {
        if directory.is_dir() {
            return Ok(());
        }
        if let Some(above) = directory.parent() {
            fs::create_dir_all(above)?;
        }
        match DirBuilder::new().mode(PRIVATE_DIRECTORY).create(directory) {
            // Another command was faster.
            Err(_) if directory.is_dir() => Ok(()),
            Err(error) => Err(error),
            // The umask may have removed permissions of the owner.
            Ok(()) => fs::set_permissions(directory, Permissions::from_mode(PRIVATE_DIRECTORY)),
        }
    };
    create().map_err(|error| io_error(directory, &error))
}

/// Returns the paths of the database in a directory: its file, the write-ahead log and the index of
/// the log. The last two exist while the database is open.
pub fn data_files(directory: &Path) -> [PathBuf; 3] {
    database_files(&directory.join(DATABASE))
}

/// Returns the mode of a file or directory if other users have any access to it.
pub fn mode_for_others(path: &Path) -> Option<u32> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & OTHERS != 0).then_some(mode)
}

/// The lock of the server that uses a directory. The operating system releases it when the process
/// ends, however it ends.
#[derive(Debug)]
pub struct ServerLock {
    _file: File,
}

impl ServerLock {
    /// Takes the lock of an existing directory, for a command such as `serve`.
    ///
    /// # Errors
    /// Another server has it, its file cannot be opened, or the database cannot be written. SQLite
    /// would open such a database for reading only.
    pub fn take(directory: &Path, command: &str) -> Result<ServerLock, Error> {
        if let Some(reason) = not_writable(&directory.join(DATABASE)) {
            return Err(Error::File(reason));
        }
        let path = directory.join(LOCK);
        let failed = |error| io_error(&path, &error);
        let mut file = open_private(&path).map_err(failed)?;
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::Error(error) => return Err(failed(error)),
                TryLockError::WouldBlock => {}
            }
            // Commands that look for a server share the lock for a moment; a server does not.
            if !is_free(&file).map_err(failed)? {
                return Err(Error::InUse(in_use(directory, &mut file)));
            }
            thread::sleep(RETRY_INTERVAL);
        }
        // The text is only for a message, and a full disk is no reason not to serve.
        let _ = write_holder(&mut file, command);
        Ok(ServerLock { _file: file })
    }
}

fn write_holder(file: &mut File, command: &str) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(PRIVATE_FILE))?;
    file.set_len(0)?;
    writeln!(file, "{} {command}", std::process::id())
}

/// The process of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerProcess {
    /// Its number.
    pub pid: u32,
    /// `serve` or `demo`.
    pub command: String,
}

/// Returns the server that uses a directory, if there is one.
///
/// # Errors
/// The file of the lock cannot be read, or does not identify its holder.
pub fn server_process(directory: &Path) -> Result<Option<ServerProcess>, Error> {
    let path = directory.join(LOCK);
    let failed = |error| io_error(&path, &error);
    let Some(mut file) = if_found(File::open(&path)).map_err(failed)? else { return Ok(None) };
    if is_free(&file).map_err(failed)? {
        return Ok(None);
    }
    let unnamed = || failed(io::Error::new(io::ErrorKind::InvalidData, "does not name a process"));
    read_holder(&mut file).map(Some).ok_or_else(unnamed)
}

/// Returns whether no server has the lock of a file.
fn is_free(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn read_holder(file: &mut File) -> Option<ServerProcess> {
    let mut text = String::new();
    file.take(200).read_to_string(&mut text).ok()?;
    let (pid, command) = text.trim_end().split_once(' ')?;
    Some(ServerProcess { pid: pid.parse().ok()?, command: command.to_owned() })
}

fn in_use(directory: &Path, file: &mut File) -> String {
    let holder = match read_holder(file) {
        Some(ServerProcess { pid, command }) => format!("`kiosque {command}`, process {pid}"),
        None => "another server".to_owned(),
    };
    format!(
        "{} is used by {holder}; stop it first, or choose another directory with --data",
        directory.display()
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_lock_has_one_holder_which_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let lock = ServerLock::take(directory.path(), "serve").expect("a lock");
        let Err(Error::InUse(reason)) = ServerLock::take(directory.path(), "demo") else {
            panic!("the lock has two holders");
        };
        let shown = directory.path().display();
        let process = std::process::id();
        let expected = format!("{shown} is used by `kiosque serve`, process {process}; stop it");
        assert!(reason.starts_with(&expected), "{reason}");
        let holder = ServerProcess { pid: process, command: "serve".to_owned() };
        assert_eq!(server_process(directory.path()).expect("a holder"), Some(holder));
        drop(lock);
        assert_eq!(server_process(directory.path()).expect("no holder"), None);
        ServerLock::take(directory.path(), "demo").expect("the lock is free");
    }

    #[test]
    fn a_look_at_the_lock_prevents_no_server() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(server_process(directory.path()).expect("no file"), None);
        drop(ServerLock::take(directory.path(), "serve").expect("a lock"));
        let look = File::open(directory.path().join(LOCK)).expect("the file");
        look.try_lock_shared().expect("no server has it");
        let began = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                began.wait();
                // The server has tried by then, in most runs.
                thread::sleep(20 * RETRY_INTERVAL);
                drop(look);
            });
            began.wait();
            ServerLock::take(directory.path(), "serve").expect("the look is over");
        });
    }

    #[test]
    fn a_directory_is_created_for_its_owner_alone() {
        let above = tempfile::tempdir().expect("a directory");
        let directory = above.path().join("a/b");
        for _ in 0..2 {
            create_directory(&directory).expect("a directory");
            assert_eq!(mode_for_others(&directory), None);
        }
        fs::set_permissions(&directory, Permissions::from_mode(0o750)).expect("a mode");
        create_directory(&directory).expect("it exists");
        assert_eq!(mode_for_others(&directory), Some(0o750));
        fs::write(above.path().join("file"), "").expect("a file");
        let failed = create_directory(&above.path().join("file/c")).expect_err("no directory");
        assert!(failed.to_string().contains("file/c: "), "{failed}");
    }
}
