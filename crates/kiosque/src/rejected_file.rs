//! The file of an import's rejected lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::iter;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::output::eprint_line;
use anyhow::{Context, bail};
use kiosque_ingest::rejected::Rejected;

/// The mode of the file.
const PRIVATE_FILE: u32 = 0o600;

/// The number of names that are tried for a file named after the input.
const NAMES_MAX: usize = 100_000;

/// The file of rejected lines, which is created for the first of them. Another import may create
/// or rename files of the same names meanwhile.
pub(crate) struct RejectedFile {
    path: PathBuf,
    /// The number of names that may be tried.
    names: usize,
    file: Option<BufWriter<File>>,
}

impl RejectedFile {
    /// Returns a file with a name chosen by the user, which must not exist.
    pub(crate) fn named(path: &Path) -> anyhow::Result<RejectedFile> {
        if path.is_file() {
            bail!("{}: the file exists; specify another one with --rejected", path.display());
        }
        Ok(RejectedFile { path: path.to_owned(), names: 1, file: None })
    }

    /// Returns a file named after the input. A file of an earlier import is renamed, since its
    /// lines may have been corrected by now.
    pub(crate) fn after(input: &Path, extension: &str) -> anyhow::Result<RejectedFile> {
        let input = if input == Path::new("-") { Path::new("stdin") } else { input };
        let mut path = input.as_os_str().to_owned();
        path.push(format!(".rejected.{extension}"));
        let path = PathBuf::from(path);
        rename_existing(&path)?;
        Ok(RejectedFile { path, names: NAMES_MAX, file: None })
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
                let (path, file) = create(names(&self.path).take(self.names))?;
                self.path = path;
                let mut file = BufWriter::new(file);
                file.write_all(&rejected.file_header().unwrap_or_default())?;
                self.file.insert(file)
            }
        };
        file.write_all(&rejected.file_lines())
    }

    /// Returns the path, if there is a file.
    pub(crate) fn finish(self) -> anyhow::Result<Option<PathBuf>> {
        let Some(mut file) = self.file else { return Ok(None) };
        let named = || self.path.display().to_string();
        file.flush().with_context(named)?;
        let written = file.get_ref().metadata().with_context(named)?.ino();
        let is_written =
            |name: &PathBuf| fs::symlink_metadata(name).is_ok_and(|found| found.ino() == written);
        // A later import may have renamed it.
        let name = names(&self.path).take(NAMES_MAX).find(is_written);
        Ok(Some(name.unwrap_or(self.path)))
    }
}

/// Returns a path, followed by the same with each number.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let numbered = move |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    iter::once(path.to_owned()).chain((1..).map(numbered))
}

/// Creates a file with the first name that no file has. Only its owner may read it: its lines may
/// have personal data in any field.
fn create(names: impl Iterator<Item = PathBuf>) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(PRIVATE_FILE);
    for name in names {
        match options.open(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if name.is_file() {
                    continue;
                }
                // A device such as /dev/null can be written, and a directory is an error.
                let file = OpenOptions::new().write(true).open(&name)?;
                return Ok((name, file));
            }
            created => return Ok((name, created?)),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists"))
}

/// Renames a file to the first free name with a number.
fn rename_existing(path: &Path) -> anyhow::Result<()> {
    let named = || path.display().to_string();
    if !path.is_file() {
        return Ok(());
    }
    // Created first, so that another import does not use the name.
    let (free, _) = create(names(path).skip(1).take(NAMES_MAX)).with_context(named)?;
    match fs::rename(path, &free) {
        // Another import has renamed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return fs::remove_file(&free).with_context(named);
        }
        renamed => renamed.with_context(named)?,
    }
    eprint_line!("{} of an earlier import is now {}", path.display(), free.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use kiosque_ingest::rejected::{Content, Reason};

    use super::*;

    fn rejected(line: u64) -> Rejected {
        let (reason, content) = (Reason::new("invalid"), Content::Text(String::new()));
        Rejected { line, order_id: None, reason, content }
    }

    /// Returns the name of a file and the numbers of its lines.
    fn lines(file: RejectedFile) -> (String, Vec<u64>) {
        let path = file.finish().unwrap().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let line = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["line"].as_u64().unwrap()
        };
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, text.lines().map(line).collect())
    }

    #[test]
    fn imports_that_run_at_once_keep_each_others_lines() {
        let directory = tempfile::tempdir().unwrap();
        let after = || RejectedFile::after(&directory.path().join("-"), "ndjson").unwrap();
        let (mut first, mut second) = (after(), after());
        first.write(&rejected(1)).unwrap();
        second.write(&rejected(2)).unwrap();
        // Renames the first one, which is still written.
        let mut third = after();
        first.write(&rejected(3)).unwrap();
        third.write(&rejected(4)).unwrap();
        for (file, name, numbers) in [
            (first, "-.rejected.ndjson.2", vec![1, 3]),
            (second, "-.rejected.ndjson.1", vec![2]),
            (third, "-.rejected.ndjson", vec![4]),
        ] {
            assert_eq!(lines(file), (name.to_owned(), numbers));
        }
    }

    #[test]
    fn a_named_file_of_another_import_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine");
        let named = || RejectedFile::named(&path).unwrap();
        let (mut first, mut second) = (named(), named());
        first.write(&rejected(1)).unwrap();
        let error = second.write(&rejected(2)).unwrap_err().to_string();
        assert_eq!(error, format!("{}: the file exists", path.display()));
        assert_eq!(lines(first), ("mine".to_owned(), vec![1]));
    }
}
