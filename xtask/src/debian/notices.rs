//! The notices of the libraries in the program, which their licences require.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process::{cargo, output};

/// Beginnings of the names of files with notices, in lower case.
const NAMES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];

/// Returns a list of the libraries with their licences, and each notice once, after the names of
/// its libraries.
pub(super) fn collect() -> Result<String> {
    let directories = directories()?;
    let mut text = "Libraries in /usr/bin/kiosque, their versions and licences.\n\n".to_owned();
    let mut notices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (library, licence) in libraries()? {
        text.push_str(&format!("{library}: {licence}\n"));
        let directory = directories.iter().find(|directory| directory.ends_with(&library));
        let directory = directory.with_context(|| format!("the source of {library}"))?;
        for notice in notices_in(directory)? {
            notices.entry(notice).or_default().push(library.clone());
        }
    }
    let mut notices: Vec<_> = notices.into_iter().map(|(notice, of)| (of, notice)).collect();
    notices.sort();
    for (of, notice) in notices {
        text.push_str(&format!("\n{}\n{}\n\n{notice}\n", "=".repeat(78), of.join(", ")));
    }
    Ok(text)
}

/// Returns the libraries of the program as `name-version`, with their licences, without our own.
fn libraries() -> Result<BTreeSet<(String, String)>> {
    let mut tree = cargo("tree --quiet --locked --package kiosque --edges normal --prefix none")?;
    let printed = output(tree.args(["--format", "{p}\t{l}"]))?;
    let libraries = libraries_in(&String::from_utf8(printed)?);
    if libraries.is_empty() {
        bail!("`cargo tree` lists no library");
    }
    Ok(libraries)
}

fn libraries_in(tree: &str) -> BTreeSet<(String, String)> {
    let lines = tree.lines().filter_map(|line| line.split_once('\t'));
    let libraries = lines.filter_map(|(package, licence)| {
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        // The directory follows the version of our own crates.
        let is_ours = words.any(|word| word.starts_with("(/"));
        let licence = licence.trim_end_matches(" (*)").to_owned();
        (!is_ours).then(|| (format!("{name}-{version}"), licence))
    });
    libraries.collect()
}

/// Returns the directories of the sources of all libraries.
fn directories() -> Result<Vec<PathBuf>> {
    let metadata = output(&mut cargo("metadata --quiet --locked --format-version=1")?)?;
    let metadata = String::from_utf8(metadata)?;
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let manifests = manifests.filter_map(|rest| rest.split_once('"').map(|(path, _)| path));
    Ok(manifests.filter_map(|path| Some(Path::new(path).parent()?.to_owned())).collect())
}

fn notices_in(directory: &Path) -> Result<Vec<String>> {
    let mut notices = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.path().is_file() && NAMES.iter().any(|beginning| name.starts_with(beginning)) {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).replace('\r', "");
            notices.push(text.trim().to_owned());
        }
    }
    Ok(notices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_the_tree_without_our_own() {
        let tree = "kiosque v0.1.0 (/a/b)\tMIT\nanyhow v1.0.1\tMIT OR Apache-2.0\n\
                    serde_derive v1.0.2 (proc-macro)\tMIT\nanyhow v1.0.1\tMIT OR Apache-2.0 (*)\n";
        let libraries: Vec<_> = libraries_in(tree).into_iter().collect();
        let want = [("anyhow-1.0.1", "MIT OR Apache-2.0"), ("serde_derive-1.0.2", "MIT")];
        assert_eq!(libraries, want.map(|(name, it)| (name.to_owned(), it.to_owned())));
    }
}
