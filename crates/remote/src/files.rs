//! Files that only their owner may read. They are read up to a limit.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process;

use kiosque_client::read_text_file;

/// Permissions of the owner alone.
const FILE: u32 = 0o600;
const DIRECTORY: u32 = 0o700;

/// Creates a directory and its parents, unless it exists.
pub(crate) fn create_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(directory)
}

/// Opens a file for a lock, and creates it if there is none.
pub(crate) fn open_lock(file: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(FILE).open(file)
}

/// Replaces the content of a file. A reader sees the old content or the new one, even after a
/// crash.
pub(crate) fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", process::id()));
    let next = file.with_file_name(name);
    // The remains of an earlier process with this number.
    remove(&next)?;
    let written = (|| {
        let mut new = OpenOptions::new().write(true).create_new(true).mode(FILE).open(&next)?;
        new.write_all(content)?;
        new.sync_all()?;
        fs::rename(&next, file)
    })();
    if written.is_err() {
        // The first error is the one to report.
        let _ = remove(&next);
    }
    written
}

/// Returns the content of a file; `None` if there is no file.
pub(crate) fn read(file: &Path) -> io::Result<Option<String>> {
    match read_text_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
