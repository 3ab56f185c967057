//! The files below a directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the paths of the files in a directory and the directories in it.
pub(crate) fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.append(&mut files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}
