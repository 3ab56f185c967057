//! Snapshots that no test refers to any longer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{files_of_git, root};

/// The variable with the file to which insta adds the path of each snapshot that it compares.
const SETTING: &str = "INSTA_SNAPSHOT_REFERENCES_FILE";
/// That file.
const FILE: &str = "target/snapshot-references";

/// The snapshots.
const SNAPSHOTS: &str = "crates/*.snap";

/// The paths of the snapshots that tests have compared since this was created.
pub(crate) struct References(PathBuf);

impl References {
    /// Begins with no reference.
    pub(crate) fn new() -> Result<References> {
        let file = root()?.join(FILE);
        let creating = || format!("cannot create {}", file.display());
        fs::create_dir_all(root()?.join("target")).with_context(creating)?;
        fs::write(&file, "").with_context(creating)?;
        Ok(References(file))
    }

    /// Has the tests add their references.
    pub(crate) fn record(&self, tests: &mut Command) {
        tests.env(SETTING, &self.0);
    }

    /// Returns the snapshots that were not compared, relative to the root, sorted.
    pub(crate) fn unreferenced(&self) -> Result<Vec<String>> {
        let referenced = fs::read_to_string(&self.0).context("the references of snapshots")?;
        let root = root()?.canonicalize()?;
        Ok(unreferenced(&root, files_of_git(&[SNAPSHOTS])?, &referenced))
    }
}

/// Returns the paths that are not in the lines of `referenced`.
fn unreferenced(root: &Path, mut all: Vec<String>, referenced: &str) -> Vec<String> {
    let referenced: BTreeSet<PathBuf> =
        referenced.lines().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    all.retain(|path| !referenced.contains(&root.join(path)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_no_test_compares_is_found() {
        let root = root().expect("root").canonicalize().expect("root");
        let all = files_of_git(&[SNAPSHOTS]).expect("crates");
        assert!(all.len() > 20, "{all:?}");
        let (forgotten, compared) = all.split_first().expect("some");
        // As written by insta: not always in their shortest form.
        let lines = compared.iter().map(|path| {
            let path = root.join(path).display().to_string();
            path.replacen("/crates/", "/crates/../crates/", 1) + "\n"
        });
        let found = unreferenced(&root, all.clone(), &lines.collect::<String>());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(forgotten.ends_with(&found[0]), "{found:?}");
    }
}
