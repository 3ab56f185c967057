//! The exchanges of a check, each as a file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, bail};
use kiosque_conformance::{Recorded, Recorder};
use kiosque_store::create_directory;

/// Only the owner may read the files: answers contain data of devices and orders.
const PRIVATE_FILE: u32 = 0o600;

/// Returns a recorder that writes each exchange to a file in this directory, which is created.
pub(super) fn recorder(directory: PathBuf) -> anyhow::Result<Recorder> {
    create_directory(&directory).map_err(anyhow::Error::msg).context("--exchanges")?;
    let cannot = || format!("--exchanges {}", directory.display());
    if std::fs::read_dir(&directory).with_context(cannot)?.next().is_some() {
        bail!(
            "--exchanges {}: the directory already has files, which would be mistaken for those of \
             this check; choose a new directory",
            directory.display()
        );
    }
    // Files are listed in order of their names.
    Ok(Box::new(move |Recorded { number, rule, text, .. }| {
        let path = directory.join(format!("{number:03}-{rule}.txt"));
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }))
}
