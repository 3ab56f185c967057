//! The dependencies that crates may have on each other, and the lints that every crate takes from
//! the workspace.

use super::Violation;

/// The crates that each crate may depend on, without `kiosque-`. Dependencies of its tests are not
/// restricted: only they depend on `kiosque-testkit`.
const ALLOWED: [(&str, &[&str]); 23] = [
    (
        "crates/kiosque",
        &[
            "server",
            "broker",
            "client",
            "conformance",
            "faults",
            "https-client",
            "listener",
            "ingest",
            "store",
            "openapi",
            "remote",
            "model",
            "contract",
            "clock",
            "password",
            "testdb",
        ],
    ),
    (
        "crates/server",
        &[
            "listener", "ingest", "store", "console", "openapi", "locale", "model", "contract",
            "clock", "password", "locks",
        ],
    ),
    ("crates/ingest", &["store", "model", "contract", "clock", "password", "locks"]),
    ("crates/broker", &["client", "listener", "locale", "model", "contract", "clock", "locks"]),
    ("crates/client", &["https-client", "contract", "model", "clock"]),
    ("crates/remote", &["client", "contract", "model", "clock"]),
    (
        "crates/faults",
        &["https-client", "listener", "locale", "model", "contract", "clock", "locks"],
    ),
    ("crates/conformance", &["https-client", "locale", "model", "contract"]),
    ("crates/https-client", &["contract"]),
    ("crates/listener", &["model", "clock", "locks"]),
    ("crates/store", &["model", "contract", "clock", "locks"]),
    ("crates/console", &["openapi", "locale", "model", "contract"]),
    ("crates/openapi", &["locale", "model", "contract"]),
    ("crates/locale", &["model", "contract"]),
    ("crates/password", &["clock", "locks"]),
    ("crates/clock", &["model"]),
    ("crates/model", &["locks"]),
    ("crates/contract", &[]),
    ("crates/locks", &[]),
    ("bench", &["testkit", "testdb", "contract", "locks", "clock"]),
    ("testdb", &["locks"]),
    ("testkit", &["server", "listener", "ingest", "store", "model", "contract", "clock", "testdb"]),
    ("xtask", &["testdb"]),
];

/// Finds dependencies that are not allowed, and lints that are missing.
pub(crate) fn check(path: &str, text: &str) -> Vec<Violation> {
    if path == "Cargo.toml" {
        let forbids = keys(text).any(|key| {
            key.section == "workspace.lints.rust" && key.is("unsafe_code", "\"forbid\"")
        });
        return missing(path, !forbids, "[workspace.lints.rust] lacks unsafe_code = \"forbid\"");
    }
    let Some(directory) = path.strip_suffix("/Cargo.toml").filter(|directory| *directory != "fuzz")
    else {
        return Vec::new();
    };
    let takes = keys(text).any(|key| key.section == "lints" && key.is("workspace", "true"));
    let mut violations = missing(path, !takes, "[lints] lacks workspace = true");
    match ALLOWED.iter().find(|(from, _)| *from == directory) {
        Some((_, to)) => violations.extend(not_allowed(path, text, to)),
        None => violations.push(Violation::new(
            path,
            1,
            "a new crate: add its dependencies to xtask's tidy",
        )),
    }
    violations
}

fn missing(path: &str, is_missing: bool, what: &str) -> Vec<Violation> {
    is_missing.then(|| Violation::new(path, 1, what)).into_iter().collect()
}

fn not_allowed<'a>(
    path: &'a str,
    text: &'a str,
    to: &'a [&str],
) -> impl Iterator<Item = Violation> + 'a {
    let ours = keys(text).filter_map(|key| Some((key.line, key.dependency()?)));
    let ours = ours.filter(|(_, name)| name.starts_with("kiosque") || *name == "xtask");
    let wrong =
        ours.filter(|(_, name)| !to.contains(&name.strip_prefix("kiosque-").unwrap_or(name)));
    wrong.map(move |(line, name)| {
        Violation::new(path, line, format!("this crate may not depend on {name}"))
    })
}

/// A line of a manifest: a key with its value, or the header of a section.
struct Key<'a> {
    line: usize,
    section: &'a str,
    name: &'a str,
    value: &'a str,
}

impl<'a> Key<'a> {
    fn is(&self, name: &str, value: &str) -> bool {
        self.name == name && self.value == value
    }

    /// Returns the package on which this line makes the crate depend, except for tests.
    fn dependency(&self) -> Option<&'a str> {
        const SECTIONS: [&str; 2] = ["dependencies", "build-dependencies"];
        let ends_one = |section: &str| {
            let last = section.rsplit('.').next().unwrap_or(section);
            SECTIONS.contains(&last)
        };
        match self.section.rsplit_once('.') {
            _ if ends_one(self.section) && !self.name.is_empty() => Some(self.package()),
            // [dependencies.NAME]
            Some((section, name)) if ends_one(section) && self.name.is_empty() => Some(name),
            Some((section, _)) if ends_one(section) && self.name == "package" => {
                Some(self.value.trim_matches('"'))
            }
            _ => None,
        }
    }

    /// Returns the key up to its first dot, or the package that it renames.
    fn package(&self) -> &'a str {
        let renamed =
            self.value.split_once("package = \"").and_then(|(_, rest)| rest.split_once('"'));
        match renamed {
            Some((package, _)) => package,
            None => self.name.split('.').next().unwrap_or(self.name),
        }
    }
}

/// Parses the part of TOML that manifests use: one key per line.
fn keys(text: &str) -> impl Iterator<Item = Key<'_>> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.scan("", |section, (line, text)| {
        if let Some(header) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            *section = header;
            return Some(Key { line, section, name: "", value: "" });
        }
        let (name, value) = text.split_once('=').unwrap_or(("", text));
        Some(Key { line, section, name: name.trim(), value: value.trim() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn violations(path: &str, rest: &str) -> Vec<String> {
        let text = format!("{LINTS}{rest}");
        check(path, &text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_that_is_not_allowed_is_found_however_it_is_written() {
        for rest in [
            "[dependencies]\nkiosque-store.workspace = true\n",
            "[dependencies]\nkiosque-store = { workspace = true }\n",
            "[dependencies]\nkept = { path = \"../store\", package = \"kiosque-store\" }\n",
            "[dependencies.kiosque-store]\npath = \"../store\"\n",
            "[dependencies.kept]\npath = \"../store\"\npackage = \"kiosque-store\"\n",
            "[build-dependencies]\nkiosque-store.workspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nkiosque-store.workspace = true\n",
        ] {
            let found = violations("crates/contract/Cargo.toml", rest);
            assert!(found.len() == 1 && found[0].contains("kiosque-store"), "{rest}: {found:?}");
            assert!(violations("crates/server/Cargo.toml", rest).is_empty(), "{rest}");
        }
        let for_tests = "[dev-dependencies]\nkiosque-store.workspace = true\n";
        assert!(violations("crates/contract/Cargo.toml", for_tests).is_empty());
    }

    #[test]
    fn every_crate_takes_the_lints_and_is_in_the_table() {
        let bare = check("crates/contract/Cargo.toml", "[dependencies]\nworkspace = true\n");
        assert!(bare[0].to_string().contains("[lints]"), "{bare:?}");
        assert!(violations("crates/shop/Cargo.toml", "")[0].contains("a new crate"));
        assert!(check("fuzz/Cargo.toml", "").is_empty());
        let root = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
        assert!(check("Cargo.toml", root).is_empty());
        assert_eq!(check("Cargo.toml", &root.replace("forbid", "warn")).len(), 1);
    }
}
