//! Cycles of imports between the modules of a crate.
//!
//! A module and its children are one unit in several files: imports of a child from the modules
//! that contain it, including the crate's root, close no cycle. Imports from a child do.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::modules::{Import, Modules};
use super::source::Source;

/// Modules with state that everything shares, by crate. Imports of them close no cycle.
const STATE: [(&str, &str); 1] = [("crates/server", "app")];

/// Returns a violation for each import that closes a cycle, at the import.
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
    let mut imports = imports.to_vec();
    imports.retain(|import| !lies_in(&import.from, &import.to));
    circles(&imports)
        .into_iter()
        .map(|(closing, path)| {
            let names: Vec<&str> = path.iter().map(|name| shown(name)).collect();
            let what = format!("imports in a circle: {}", names.join(" → "));
            Violation::new(&closing.file, closing.line, what)
        })
        .collect()
}

fn lies_in(module: &str, other: &str) -> bool {
    other.is_empty() || module.strip_prefix(other).is_some_and(|rest| rest.starts_with("::"))
}

fn shown(module: &str) -> &str {
    if module.is_empty() { "the crate's root" } else { module }
}

/// Returns each import that leads back to a module on the way to it, with that cycle.
fn circles(imports: &[Import]) -> Vec<(&Import, Vec<&str>)> {
    let mut from: BTreeMap<&str, Vec<&Import>> = BTreeMap::new();
    for import in imports {
        from.entry(&import.from).or_default().push(import);
    }
    let mut search = Search { from: &from, done: BTreeSet::new(), found: Vec::new() };
    for module in from.keys() {
        search.visit(module, &mut Vec::new());
    }
    search.found
}

struct Search<'s, 'a> {
    from: &'s BTreeMap<&'a str, Vec<&'a Import>>,
    done: BTreeSet<&'a str>,
    found: Vec<(&'a Import, Vec<&'a str>)>,
}

impl<'a> Search<'_, 'a> {
    fn visit(&mut self, module: &'a str, way: &mut Vec<&'a str>) {
        if self.done.contains(module) {
            return;
        }
        way.push(module);
        for import in self.from.get(module).into_iter().flatten() {
            match way.iter().position(|passed| *passed == import.to) {
                Some(at) => {
                    let circle = way[at..].iter().copied().chain([import.to.as_str()]);
                    self.found.push((import, circle.collect()));
                }
                None => self.visit(&import.to, way),
            }
        }
        way.pop();
        self.done.insert(module);
    }
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
    fn a_planted_circle_is_found_with_the_import_that_closes_it() {
        let mut files = vec![
            ("crates/server/src/a.rs", "use crate::b::B;\n"),
            ("crates/server/src/b.rs", "\nfn f() { crate::c::g() }\n"),
            ("crates/server/src/c.rs", "use crate::d;\n"),
            ("crates/server/src/d.rs", ""),
        ];
        assert!(violations(&files).is_empty());
        files[3].1 = "\n\nuse super::b;\n";
        let circle = "crates/server/src/d.rs:3: imports in a circle: b → c → d → b";
        assert_eq!(violations(&files), [circle]);
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
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].ends_with("c.rs:1: imports in a circle: a::b → a::c → a::b"), "{found:?}");
        assert!(found[1].ends_with("d.rs:1: imports in a circle: a → a::b → d → a"), "{found:?}");
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
        assert_eq!(
            violations(&files),
            ["crates/server/src/c/d.rs:1: imports in a circle: a → c → a"]
        );
    }

    #[test]
    fn handlers_and_their_state_are_no_circle() {
        let state = ("crates/server/src/app.rs", "use crate::a;");
        assert!(
            violations(&[state, ("crates/server/src/a.rs", "use crate::app::App;")]).is_empty()
        );
    }
}
