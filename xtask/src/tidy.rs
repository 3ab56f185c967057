//! `cargo xtask tidy`: the rules of this repository that neither compiler nor linter checks.
//!
//! Each rule is a function from one file to its violations, so that a test can plant a violation in
//! a string. Words that a rule forbids are assembled from parts, so that the rules do not find
//! themselves.

mod avoided;
mod circles;
mod code;
mod fields;
mod functions;
mod lengths;
mod manifests;
mod modules;
mod names;
mod rules;
mod source;
mod sql;
mod words;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::process::{files_of_git, root};
use source::Source;

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Violation {
        Violation { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Checks every file of the repository, prints the violations, and fails if there is one.
pub(crate) fn run() -> Result<()> {
    let files = files(&root()?)?;
    let sources = sources(&files);
    let mut violations = check(&files, &sources);
    violations.extend(check_all(&files, &sources));
    violations.sort();
    for violation in &violations {
        eprintln!("{violation}");
    }
    match violations.len() {
        0 => {
            eprintln!("{} files are tidy", files.len());
            Ok(())
        }
        count => bail!("violations found by tidy: {count}"),
    }
}

/// The Rust files, taken apart.
fn sources(files: &[(String, String)]) -> Vec<Source<'_>> {
    let rust = files.iter().filter(|(path, _)| is_ours(path) && path.ends_with(".rs"));
    rust.map(|(path, text)| Source::new(path, text)).collect()
}

/// Returns whether a file is in one of the directories with our code.
fn is_ours(path: &str) -> bool {
    const TOP: [&str; 6] = ["crates/", "xtask/", "bench/", "fuzz/", "testdb/", "testkit/"];
    TOP.iter().any(|top| path.starts_with(top))
}

/// Returns every violation of a rule for single files; their paths, relative to the root, determine
/// which rules apply.
fn check(files: &[(String, String)], sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in files {
        violations.extend(words::check(path, text));
        violations.extend(names::check(path));
        if path.ends_with("Cargo.toml") {
            violations.extend(manifests::check(path, text));
        }
    }
    for rule in [lengths::check, code::check, functions::check, sql::check] {
        violations.extend(sources.iter().flat_map(rule));
    }
    violations
}

/// Returns every violation of a rule for all files together.
fn check_all(files: &[(String, String)], sources: &[Source]) -> Vec<Violation> {
    let mut violations = circles::check(sources);
    violations.extend(fields::check(sources));
    violations.extend(rules::check(files, sources));
    violations.extend(avoided::check(files));
    violations.extend(lengths::check_server(sources));
    violations
}

/// Returns the text files that git tracks or would track, with their contents.
fn files(root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for path in files_of_git(&[])? {
        // A file that is not UTF-8 is not text.
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            files.push((path, text));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        if let Err(error) = run() {
            panic!("{error}: they are listed above");
        }
    }

    #[test]
    fn the_walk_includes_this_file() {
        let files = files(&root().expect("root")).expect("files");
        let (_, text) =
            files.iter().find(|(path, _)| path == "xtask/src/tidy.rs").expect("this file");
        assert!(text.contains("the_walk_includes_this_file"));
    }

    /// Quoted text with `/src/` in it names a file or a directory of a crate.
    #[test]
    fn the_map_names_files_that_there_are() {
        let root = root().expect("the root");
        let map = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the map");
        let quoted = map.split('`').skip(1).step_by(2);
        let named: Vec<&str> = quoted.filter(|text| text.contains("/src/")).collect();
        assert!(named.len() > 50, "{named:?}");
        for file in named {
            let exists = ["crates", ""].iter().any(|above| root.join(above).join(file).exists());
            assert!(exists, "ARCHITECTURE.md names {file}");
        }
    }

    #[test]
    fn every_file_has_tokens() {
        for (path, text) in files(&root().expect("root")).expect("files") {
            if path.ends_with(".rs") {
                text.parse::<proc_macro2::TokenStream>().expect(&path);
            }
        }
    }

    /// Each rule is reached from `check`; the rules' own tests know their corners.
    #[test]
    fn a_planted_violation_of_each_rule_is_found() {
        let planted = [
            ("crates/server/src/utils.rs", "", "name"),
            ("crates/server/src/a.rs", &"// x\n".repeat(601), "file has 601 lines"),
            ("crates/server/src/a.rs", &format!("// {}\n", "x".repeat(98)), "101 columns"),
            ("crates/server/src/a.rs", "#[ignore]\nfn f() {}\n", "ignore"),
            ("crates/server/src/a.rs", "pub fn f(strict: bool) {}\n", "bool"),
            ("crates/server/src/a.rs", "const Q: &str = \"select 1\";\n", "SQL"),
            (
                "crates/model/Cargo.toml",
                "[lints]\nworkspace = true\n[dependencies]\n\
              kiosque-store.workspace = true\n",
                "kiosque-store",
            ),
            ("Cargo.toml", "[workspace.lints.rust]\n", "unsafe_code"),
            ("docs/a.md", concat!("see /wo", "rk/main\n"), "machine"),
        ];
        for (path, text, expected) in planted {
            let files = [(path.to_owned(), text.to_owned())];
            let violations = check(&files, &sources(&files));
            assert_eq!(violations.len(), 1, "{expected}: {violations:?}");
            assert!(violations[0].to_string().contains(expected), "{expected}: {violations:?}");
        }
    }
}
