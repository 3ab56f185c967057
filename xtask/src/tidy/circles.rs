//! Cycles of imports between the modules of a crate.
//!
//! A module and its children are one unit in several files: imports of a child from the modules
//! that contain it, including the crate's root, close no cycle. Imports from a child do.

use std::collections::BTreeSet;

use super::Violation;
use super::modules::{Import, Modules};
use super::source::Source;

/// Modules with state that everything shares, by crate. Imports of them close no cycle.
const STATE: [(&str, &str); 1] = [("crates/server", "app")];

/// Returns a violation for each import that is part of a cycle, at the import.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let directories = sources.iter().filter_map(|source| source.path.split_once("/src/"));
    let directories: BTreeSet<&str> = directories.map(|(directory, _)| directory).collect();
    directories.into_iter().flat_map(|directory| of_crate(directory, sources)).collect()
}

/// Checks the imports of files, then those of top-level modules of the crate, each with all its
/// submodules.
fn of_crate(directory: &str, sources: &[Source]) -> Vec<Violation> {
    let mut imports = Modules::of(directory, sources).imports();
    imports.retain(|import| !STATE.contains(&(directory, &import.to)));
    let mut violations = violations(&imports);
    if violations.is_empty() {
        for import in &mut imports {
            import.from.truncate(import.from.find("::").unwrap_or(import.from.len()));
            import.to.truncate(import.to.find("::").unwrap_or(import.to.len()));
        }
        imports.retain(|import| import.from != import.to && !import.from.is_empty());
        violations = self::violations(&imports);
    }
    violations
}

fn violations(imports: &[Import]) -> Vec<Violation> {
    let mut circles = imports.to_vec();
    circles.retain(|import| !lies_in(&import.from, &import.to));
    // What imports nothing, and what nothing imports, is in no circle.
    let mut count = usize::MAX;
    while circles.len() < count {
        count = circles.len();
        let importing: BTreeSet<String> = circles.iter().map(|it| it.from.clone()).collect();
        let imported: BTreeSet<String> = circles.iter().map(|it| it.to.clone()).collect();
        circles.retain(|it| importing.contains(&it.to) && imported.contains(&it.from));
    }
    let violation = |import: &Import| {
        let what = format!("imports in a circle: {} → {}", shown(&import.from), shown(&import.to));
        Violation::new(&import.file, import.line, what)
    };
    circles.iter().map(violation).collect()
}

fn lies_in(module: &str, other: &str) -> bool {
    other.is_empty() || module.strip_prefix(other).is_some_and(|rest| rest.starts_with("::"))
}

fn shown(module: &str) -> &str {
    if module.is_empty() { "the crate's root" } else { module }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, text)).collect();
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_planted_circle_is_found_with_its_imports() {
        let mut files = vec![
            ("crates/server/src/a.rs", "use crate::b::B;\n"),
            ("crates/server/src/b.rs", "\nfn f() { crate::c::g() }\n"),
            ("crates/server/src/c.rs", "use crate::d;\n"),
            ("crates/server/src/d.rs", ""),
        ];
        assert!(violations(&files).is_empty());
        files[3].1 = "\n\nuse super::b;\n";
        let circle = ["b.rs:2: imports in a circle: b → c", "c.rs:1: imports in a circle: c → d"];
        let circle = circle.into_iter().chain(["d.rs:3: imports in a circle: d → b"]);
        assert!(
            violations(&files).into_iter().eq(circle.map(|it| format!("crates/server/src/{it}")))
        );
    }

    #[test]
    fn a_module_and_its_children_are_no_circle_but_may_be_in_one() {
        let mut files = vec![
            ("crates/server/src/lib.rs", "fn f() { a::g() }\n"),
            ("crates/server/src/a.rs", "use self::b::B;\n"),
            ("crates/server/src/a/b.rs", "use super::A;\nuse crate::f;\n"),
            ("crates/server/src/a/c.rs", ""),
            ("crates/server/src/d.rs", "use crate::a;\n"),
        ];
        assert!(violations(&files).is_empty());
        files[2].1 = "use super::c::C;\nuse crate::d::D;\n";
        files[3].1 = "use super::b::B;\n";
        let found = violations(&files);
        let imports = ["a → a::b", "a::b → a::c", "a::b → d", "a::c → a::b", "d → a"];
        let pairs = found.iter().map(|it| it.rsplit_once(": ").expect("a circle").1);
        assert!(pairs.eq(imports), "{found:?}");
    }

    #[test]
    fn modules_at_the_top_are_no_circle_either() {
        let mut files = vec![
            ("crates/server/src/a.rs", ""),
            ("crates/server/src/a/b.rs", "use crate::c::C;\n"),
            ("crates/server/src/c.rs", ""),
            ("crates/server/src/c/d.rs", ""),
        ];
        assert!(violations(&files).is_empty());
        files[3].1 = "use crate::a::A;\n";
        let found = violations(&files);
        let expected =
            ["a/b.rs:1: imports in a circle: a → c", "c/d.rs:1: imports in a circle: c → a"];
        assert_eq!(found, expected.map(|it| format!("crates/server/src/{it}")));
    }

    #[test]
    fn handlers_and_their_state_are_no_circle() {
        let state = ("crates/server/src/app.rs", "use crate::a;");
        assert!(
            violations(&[state, ("crates/server/src/a.rs", "use crate::app::App;")]).is_empty()
        );
    }
}
