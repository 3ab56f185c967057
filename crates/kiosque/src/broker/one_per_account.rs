//! One broker for each account: two would end each other's sessions.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process;

use anyhow::{Context, bail};
use kiosque_store::create_directory;
use sha2::{Digest, Sha256};

/// Locks the account until the file is dropped, or the process ends in any way.
pub(crate) fn lock(directory: &Path, server: &str, username: &str) -> anyhow::Result<File> {
    create_directory(directory).map_err(anyhow::Error::msg)?;
    let digest = Sha256::digest(format!("{server}\n{username}"));
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let path = directory.join(format!("broker-{digits}.pid"));
    let cannot = || format!("cannot lock {}", path.display());
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).with_context(cannot)?;
            bail!(
                "process {} is already a broker of {username} at {server}; let the workers use it, \
                 or stop it first",
                holder.trim()
            );
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    file.set_len(0).and_then(|()| file.rewind()).with_context(cannot)?;
    writeln!(file, "{}", process::id()).with_context(cannot)?;
    Ok(file)
}
