//! The dependencies that crates may have on each other, and the lints that every crate takes from
//! the workspace.

use std::iter;

use toml::{Table, Value};

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
    ("bench", &["testkit", "testdb", "https-client", "contract", "locks", "clock"]),
    ("testdb", &["locks"]),
    ("testkit", &["server", "listener", "ingest", "store", "model", "contract", "clock", "testdb"]),
    ("xtask", &["testdb"]),
];

/// Finds dependencies that are not allowed, and lints that are missing.
pub(crate) fn check(path: &str, text: &str) -> Vec<Violation> {
    match text.parse() {
        Ok(manifest) => violations(path, &manifest),
        Err(error) => vec![Violation::new(path, 1, format!("no manifest: {error}"))],
    }
}

fn violations(path: &str, manifest: &Table) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut add = |what: &str| violations.push(Violation::new(path, 1, what));
    let Some(directory) = path.strip_suffix("/Cargo.toml") else {
        let lints = manifest.get("workspace").and_then(|it| it.get("lints")?.get("rust"));
        let unsafe_code = lints.and_then(|lints| lints.get("unsafe_code")?.as_str());
        if unsafe_code != Some("forbid") {
            add("[workspace.lints.rust] lacks unsafe_code = \"forbid\"");
        }
        return violations;
    };
    if directory == "fuzz" {
        return violations;
    }
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
    if lints != Some(true) {
        add("[lints] lacks workspace = true");
    }
    match ALLOWED.iter().find(|(from, _)| *from == directory) {
        None => add("a new crate: add its dependencies to xtask's tidy"),
        Some((_, allowed)) => {
            let ours = |name: &&str| name.starts_with("kiosque") || *name == "xtask";
            for name in dependencies(manifest).filter(ours) {
                if !allowed.contains(&name.trim_start_matches("kiosque-")) {
                    add(&format!("this crate may not depend on {name}"));
                }
            }
        }
    }
    violations
}

/// Returns the packages that the crate depends on, except for tests.
fn dependencies(manifest: &Table) -> impl Iterator<Item = &str> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let sections = iter::once(manifest).chain(targets).flat_map(|table| {
        ["dependencies", "build-dependencies"].into_iter().filter_map(|name| table.get(name))
    });
    let dependencies = sections.filter_map(Value::as_table).flatten();
    dependencies.map(|(key, value)| value.get("package").and_then(Value::as_str).unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn found(path: &str, rest: &str) -> Vec<String> {
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
            let violations = found("crates/contract/Cargo.toml", rest);
            assert_eq!(violations.len(), 1, "{rest}: {violations:?}");
            assert!(violations[0].contains("kiosque-store"), "{rest}: {violations:?}");
            assert!(found("crates/server/Cargo.toml", rest).is_empty(), "{rest}");
        }
        let for_tests = "[dev-dependencies]\nkiosque-store.workspace = true\n";
        assert!(found("crates/contract/Cargo.toml", for_tests).is_empty());
    }

    #[test]
    fn every_crate_takes_the_lints_and_is_in_the_table() {
        let bare = check("crates/contract/Cargo.toml", "[dependencies]\nworkspace = true\n");
        assert!(bare[0].to_string().contains("[lints]"), "{bare:?}");
        assert!(found("crates/shop/Cargo.toml", "")[0].contains("a new crate"));
        assert!(check("fuzz/Cargo.toml", "").is_empty());
        let root = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
        assert!(check("Cargo.toml", root).is_empty());
        assert_eq!(check("Cargo.toml", &root.replace("forbid", "warn")).len(), 1);
    }
}
