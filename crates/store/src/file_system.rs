//! Reasons why a file cannot be opened or written, and the free space on its file system.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit};

use crate::error::Error;

/// The file with the names of users.
const USERS: &str = "/etc/passwd";

/// The file system of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSystem {
    /// Bytes that this process may still use.
    pub(crate) free_bytes: u64,
    is_read_only: bool,
}

impl FileSystem {
    /// Returns the file system of a file or directory.
    pub(crate) fn of(path: &Path) -> io::Result<FileSystem> {
        let found = statvfs(path)?;
        // Some blocks are reserved for root.
        let blocks = if geteuid().is_root() { found.f_bfree } else { found.f_bavail };
        Ok(FileSystem {
            free_bytes: blocks.saturating_mul(found.f_frsize),
            is_read_only: found.f_flag.contains(StatVfsMountFlags::RDONLY),
        })
    }
}

/// Returns an error that says why a file cannot be opened, read or written.
pub(crate) fn io_error(path: &Path, error: &io::Error) -> Error {
    Error::File(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_space(path),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            not_writable(path).unwrap_or_else(|| format!("{}: {error}", path.display()))
        }
        _ => format!("{}: {error}", path.display()),
    })
}

/// Returns the message for a file that cannot grow.
pub(crate) fn no_space(path: &Path) -> String {
    let path_shown = path.display();
    format!(
        "{path_shown}: no space left on its file system ({}); free some, and repeat the command \
         or request",
        free(path)
    )
}

/// Returns the message for a file whose device fails.
pub(crate) fn failing(path: &Path, cause: &dyn std::fmt::Display) -> String {
    let limit = match getrlimit(Resource::Fsize).current {
        Some(bytes) => format!("; files are limited to {bytes} bytes, see ulimit -f"),
        None => String::new(),
    };
    format!("{}: {cause} ({} on its file system{limit})", path.display(), free(path))
}

fn free(path: &Path) -> String {
    let found = FileSystem::of(path).or_else(|_| FileSystem::of(directory_of(path)));
    match found {
        Ok(found) => format!("{} bytes free", found.free_bytes),
        Err(_) => "free bytes unknown".to_owned(),
    }
}

/// Returns the message for a file that this user may not write, or that is on a read-only file
/// system; `None` if neither applies. Files are created next to it, so its directory counts as
/// well.
pub(crate) fn not_writable(path: &Path) -> Option<String> {
    let directory = directory_of(path);
    let places = [
        (directory, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK),
        (path, Access::READ_OK | Access::WRITE_OK),
    ];
    let refused = places.into_iter().find_map(|(place, wanted)| match access(place, wanted) {
        Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Some((place, error)),
        _ => None,
    });
    let (place, error) = refused?;
    let is_read_only = FileSystem::of(place).is_ok_and(|found| found.is_read_only);
    if error == Errno::ROFS || is_read_only {
        return Some(format!("{}: its file system is mounted read-only", place.display()));
    }
    let place_shown = place.display();
    let caller = user(geteuid().as_raw());
    Some(match fs::metadata(place) {
        Ok(found) => {
            let (owner, mode) = (user(found.uid()), found.mode() & 0o777);
            format!(
                "{place_shown} belongs to {owner}, mode {mode:o}: {caller} may not read and write \
                 it; run the program as its owner, or change the owner of the directory"
            )
        }
        Err(_) => format!(
            "{place_shown}: {caller} may not enter a directory above it; run the program as the \
             owner of the data"
        ),
    })
}

/// Returns the message for a file system that is mounted read-only or has less than `least` bytes
/// left, if that is the case.
pub(crate) fn without_room(path: &Path, least: u64) -> Option<String> {
    let found = FileSystem::of(directory_of(path)).ok()?;
    if found.is_read_only {
        return Some(format!("{}: its file system is mounted read-only", path.display()));
    }
    (found.free_bytes < least).then(|| no_space(path))
}

/// Returns what a call found; `None` if there is no such file.
pub(crate) fn if_found<T>(called: io::Result<T>) -> io::Result<Option<T>> {
    match called {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the names of the files in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

/// Returns the directory of a file.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

/// Returns a user's name and number, as far as they are known on this machine.
fn user(number: u32) -> String {
    let users = fs::read_to_string(USERS).unwrap_or_default();
    match name_of(number, &users) {
        Some(name) => format!("{name} (uid {number})"),
        None => format!("uid {number}"),
    }
}

/// Returns the name of a user in the lines of [`USERS`].
fn name_of(number: u32, users: &str) -> Option<&str> {
    let number = number.to_string();
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_named_as_far_as_they_are_known() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nkiosque:x:998:997::/srv:/bin/false\n";
        assert_eq!(name_of(998, users), Some("kiosque"));
        assert_eq!(name_of(0, users), Some("root"));
        assert_eq!(name_of(997, users), None);
        assert_eq!(user(u32::MAX - 7), format!("uid {}", u32::MAX - 7));
    }

    #[test]
    fn too_little_room_is_described_with_the_file_and_the_bytes_left() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("kiosque.db");
        assert_eq!(without_room(&path, 1), None);
        let message = without_room(&path, u64::MAX).expect("too little room");
        let start = format!("{}: no space left on its file system (", path.display());
        assert!(message.starts_with(&start) && message.contains(" bytes free)"), "{message}");
    }
}
