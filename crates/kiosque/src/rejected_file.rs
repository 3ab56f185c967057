//! The file of an import's rejected lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::output::eprint_line;
use anyhow::{Context, bail};
use kiosque_ingest::rejected::Rejected;

/// The mode of the file.
const PRIVATE_FILE: u32 = 0o600;

/// The file of rejected lines, which is created for the first of them.
pub(crate) struct RejectedFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl RejectedFile {
    /// Returns a file with a name chosen by the user, which must not exist.
    pub(crate) fn named(path: &Path) -> anyhow::Result<RejectedFile> {
        if path.is_file() {
            bail!("{}: the file exists; specify another one with --rejected", path.display());
        }
        Ok(RejectedFile { path: path.to_owned(), file: None })
    }

    /// Returns a file named after the input. A file of an earlier import is renamed, since its
    /// lines may have been corrected by now.
    pub(crate) fn after(input: &Path, extension: &str) -> anyhow::Result<RejectedFile> {
        let input = if input == Path::new("-") { Path::new("stdin") } else { input };
        let mut path = input.as_os_str().to_owned();
        path.push(format!(".rejected.{extension}"));
        let path = PathBuf::from(path);
        rename_existing(&path)?;
        Ok(RejectedFile { path, file: None })
    }

    pub(crate) fn write(&mut self, rejected: &Rejected) -> io::Result<()> {
        self.append(rejected).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }

    fn append(&mut self, rejected: &Rejected) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut file = BufWriter::new(create(&self.path)?);
                file.write_all(&rejected.file_header().unwrap_or_default())?;
                self.file.insert(file)
            }
        };
        file.write_all(&rejected.file_lines())
    }

    /// Returns the path, if there is a file.
    pub(crate) fn finish(self) -> anyhow::Result<Option<PathBuf>> {
        let Some(mut file) = self.file else { return Ok(None) };
        file.flush().with_context(|| self.path.display().to_string())?;
        Ok(Some(self.path))
    }
}

/// Creates a file that only its owner may read: its lines may have personal data in any field.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(path)
}

/// Renames a file to the first free name with a number.
fn rename_existing(path: &Path) -> anyhow::Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    for number in 1_u32.. {
        let mut free = path.as_os_str().to_owned();
        free.push(format!(".{number}"));
        let free = PathBuf::from(free);
        if fs::symlink_metadata(&free).is_ok() {
            continue;
        }
        fs::rename(path, &free).with_context(|| path.display().to_string())?;
        eprint_line!("{} of an earlier import is now {}", path.display(), free.display());
        break;
    }
    Ok(())
}
