//! The modules of a crate, and their imports of each other.
//!
//! A module is a file. It imports another when its code outside tests refers to an item of that
//! file by a path from `crate`, `super`, `self` or a child module, in a `use` or in place. A
//! re-export is followed to the file that defines the item, and is not an import itself.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::is_word;
use super::source::{Source, item_end, line_at};

/// The modules of one crate, by their paths from its root: `""`, `"orders"`, `"orders::page"`.
pub(crate) struct Modules<'a>(BTreeMap<String, Module<'a>>);

struct Module<'a> {
    source: &'a Source<'a>,
    /// The paths after `pub use`, from the root of the crate, by the names of the items.
    reexports: BTreeMap<String, Path>,
    paths: Vec<Named>,
}

type Path = Vec<String>;

/// A path from the root of the crate, and the line where it occurs.
struct Named {
    line: usize,
    path: Path,
}

/// An import: the file and the line, and the names of both modules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl<'a> Modules<'a> {
    /// Reads the files of the crate in a directory, such as `crates/store`.
    pub(crate) fn of(directory: &str, sources: &'a [Source<'a>]) -> Modules<'a> {
        let src = format!("{directory}/src/");
        let files = sources
            .iter()
            .filter_map(|source| Some((module_of(source.path.strip_prefix(&src)?)?, source)));
        let files: BTreeMap<String, &Source> = files.collect();
        let names: BTreeSet<&String> = files.keys().collect();
        let read = |(name, source): (&String, &&'a Source<'a>)| {
            let children: BTreeSet<&str> =
                names.iter().filter_map(|other| child_of(name, other)).collect();
            (name.clone(), Module::read(name, source, &children))
        };
        Modules(files.iter().map(read).collect())
    }

    /// Returns one import for each pair of modules, the first in the file.
    pub(crate) fn imports(&self) -> Vec<Import> {
        let mut found: BTreeMap<(String, String), Import> = BTreeMap::new();
        for (from, module) in &self.0 {
            for Named { line, path } in &module.paths {
                let Some(to) = self.definer(path, 0) else { continue };
                let key = (from.clone(), to.clone());
                if *from != to {
                    let (from, file) = (from.clone(), module.source.path.to_owned());
                    found.entry(key).or_insert(Import { from, to, file, line: *line });
                }
            }
        }
        found.into_values().collect()
    }

    /// Returns the module that defines the item at a path.
    fn definer(&self, path: &[String], depth: usize) -> Option<String> {
        let known =
            (0..=path.len()).rev().find(|end| self.0.contains_key(&path[..*end].join("::")));
        let (module, item) = path.split_at(known?);
        let reexports = &self.0[&module.join("::")].reexports;
        match item.split_first().and_then(|(name, rest)| Some((reexports.get(name)?, rest))) {
            // Re-exports that name each other end somewhere in code that compiles.
            Some((target, rest)) if depth < 8 => self.definer(&[target, rest].concat(), depth + 1),
            _ => Some(module.join("::")),
        }
    }
}

/// Returns the name of the module in a file of `src`, or `None` for a separate program.
fn module_of(file: &str) -> Option<String> {
    let path = file.strip_suffix(".rs")?;
    match path {
        "lib" | "main" => Some(String::new()),
        _ if path.starts_with("bin/") || path.ends_with("tests") => None,
        _ => Some(path.replace('/', "::")),
    }
}

/// Returns the last name of a module that is a child of another.
fn child_of<'m>(parent: &str, module: &'m str) -> Option<&'m str> {
    let name = match parent {
        "" => module,
        _ => module.strip_prefix(parent)?.strip_prefix("::")?,
    };
    (!name.is_empty() && !name.contains("::")).then_some(name)
}

impl<'a> Module<'a> {
    fn read(name: &str, source: &'a Source<'a>, children: &BTreeSet<&str>) -> Module<'a> {
        let code = without_tests(source);
        let mut reader = Reader { name, code: &code, children, nested: nested_modules(&code) };
        let mut module = Module { source, reexports: BTreeMap::new(), paths: Vec::new() };
        let uses = reader.uses();
        for Use { line, is_public, paths } in &uses.statements {
            for (path, alias) in paths {
                match is_public {
                    true => drop(module.reexports.insert(alias.clone(), path.clone())),
                    false => module.paths.push(Named { line: *line, path: path.clone() }),
                }
            }
        }
        module.paths.extend(reader.paths_in_place(&uses.spans));
        module
    }
}

/// The code of a file with the lines of its tests blanked.
fn without_tests(source: &Source) -> String {
    let lines = source.code_lines().map(|(line, code)| match source.is_inline_test(line) {
        true => " ".repeat(code.len()),
        false => code.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The places of the blocks of inline modules.
fn nested_modules(code: &str) -> Vec<(usize, usize)> {
    let marks = code.match_indices("mod ").map(|(at, _)| at);
    let begins_word = |at: &usize| !code[..*at].chars().next_back().is_some_and(is_word);
    let blocks = marks.filter(begins_word).filter_map(|at| Some((at, item_end(code, at)?)));
    blocks.filter(|(_, end)| code.as_bytes()[*end] == b'}').collect()
}

/// A `use`: its paths from the root, each with the name of the item.
struct Use {
    line: usize,
    is_public: bool,
    paths: Vec<(Path, String)>,
}

struct Uses {
    statements: Vec<Use>,
    /// Where they begin and end.
    spans: Vec<(usize, usize)>,
}

struct Reader<'c> {
    name: &'c str,
    code: &'c str,
    children: &'c BTreeSet<&'c str>,
    nested: Vec<(usize, usize)>,
}

impl Reader<'_> {
    fn uses(&mut self) -> Uses {
        let (mut statements, mut spans) = (Vec::new(), Vec::new());
        for (at, _) in self.code.match_indices("use ") {
            let before = self.code[..at].trim_end();
            let begins = before.is_empty() || before.ends_with([';', '{', '}', ']', ')']);
            if !begins && !before.ends_with("pub") {
                continue;
            }
            let Some(end) = self.code[at..].find(';').map(|length| at + length) else { continue };
            let mut trees = Vec::new();
            flatten(&[], &self.code[at + "use ".len()..end], &mut trees);
            let paths = trees
                .into_iter()
                .filter_map(|(path, alias)| Some((self.resolve(&path, at)?, alias)));
            let is_public = before.ends_with("pub") || is_visibility(before);
            let line = line_at(self.code, at);
            statements.push(Use { line, is_public, paths: paths.collect() });
            spans.push((at, end));
        }
        Uses { statements, spans }
    }

    /// Returns the paths outside of `use`.
    fn paths_in_place(&self, uses: &[(usize, usize)]) -> Vec<Named> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices("::") {
            if uses.iter().any(|(begin, end)| (*begin..*end).contains(&at)) {
                continue;
            }
            let first = self.code[..at].rfind(|c| !is_word(c)).map_or(0, |before| before + 1);
            let before = self.code[..first].trim_end();
            // The middle of a path, a macro's own crate, or the extent of a visibility.
            if first == at
                || before.ends_with("::")
                || before.ends_with(['$', '.'])
                || before.ends_with("(in")
            {
                continue;
            }
            let text = &self.code[first..];
            let end = text.find(|c| !is_word(c) && c != ':').unwrap_or(text.len());
            let path: Path = text[..end].split("::").map(str::to_owned).collect();
            if let Some(path) = self.resolve(&path, first) {
                found.push(Named { line: line_at(self.code, first), path });
            }
        }
        found
    }

    /// Returns a path as one from the root of the crate; `None` if it leads elsewhere.
    fn resolve(&self, path: &[String], at: usize) -> Option<Path> {
        let mut here: Path =
            self.name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (first, rest) = path.split_first()?;
        let mut nesting =
            self.nested.iter().filter(|(begin, end)| (*begin..*end).contains(&at)).count();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([here, rest.to_vec()].concat()),
            "super" => {
                let supers = path.iter().take_while(|part| *part == "super").count();
                for _ in 0..supers {
                    match nesting {
                        0 => drop(here.pop()?),
                        _ => nesting -= 1,
                    }
                }
                Some([here, path[supers..].to_vec()].concat())
            }
            child if self.children.contains(child) => Some([here, path.to_vec()].concat()),
            _ => None,
        }
    }
}

/// Whether a text ends with `pub(…)`.
fn is_visibility(before: &str) -> bool {
    before.ends_with(')') && before.rfind('(').is_some_and(|open| before[..open].ends_with("pub"))
}

/// Adds the paths of the tree of a `use`, each with the name of the item.
fn flatten(prefix: &[String], tree: &str, found: &mut Vec<(Path, String)>) {
    let tree = tree.trim();
    if let Some((head, group)) = tree.split_once('{') {
        let head = head.trim().trim_end_matches("::");
        let parts =
            head.split("::").filter(|part| !part.is_empty()).map(|part| part.trim().to_owned());
        let prefix: Path = prefix.iter().cloned().chain(parts).collect();
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        for part in split_group(group) {
            flatten(&prefix, part, found);
        }
        return;
    }
    if tree.is_empty() {
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let parts = path.trim().split("::").map(|part| part.trim().to_owned());
    let parts = parts.filter(|part| !part.is_empty() && part != "*");
    let mut path: Path = prefix.iter().cloned().chain(parts).collect();
    if path.len() > prefix.len().max(1) || !prefix.is_empty() {
        path.retain(|part| part != "self" || prefix.is_empty());
    }
    let last = path.last().cloned().unwrap_or_default();
    found.push((path, if alias.is_empty() { last } else { alias.trim().to_owned() }));
}

/// Splits at the commas outside braces.
fn split_group(group: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, text)).collect();
        let imports = Modules::of("crates/a", &sources).imports();
        imports.iter().map(|one| format!("{}>{}:{}", one.from, one.to, one.line)).collect()
    }

    #[test]
    fn every_way_to_name_a_module_is_an_import() {
        let b = "use crate::c;\nuse super::d::{self, e as f, g::{H, I}};\nmod inner {\n    \
                 use super::super::i::J;\n    use super::Own;\n}\n\
                 fn k() { crate::l::m::<u8>(); n::o(); std::p::q(); x.y::<Z>(); }\n\
                 #[cfg(test)]\nmod tests { use crate::t; }\n";
        let found = imports(&[
            ("crates/a/src/lib.rs", "mod b;"),
            ("crates/a/src/b.rs", b),
            ("crates/a/src/b/n.rs", "use super::Own; pub(in crate::c) fn o() {}"),
            ("crates/a/src/c.rs", "pub(in crate::c) fn r() {}"),
            ("crates/a/src/d.rs", ""),
            ("crates/a/src/d/g.rs", ""),
            ("crates/a/src/i.rs", ""),
            ("crates/a/src/l.rs", ""),
            ("crates/a/src/t.rs", ""),
            ("crates/z/src/x.rs", "use crate::b;"),
        ]);
        let expected = ["b>b::n:7", "b>c:1", "b>d:2", "b>d::g:2", "b>i:4", "b>l:7", "b::n>b:1"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_reexport_is_followed_and_no_import() {
        let found = imports(&[
            ("crates/a/src/lib.rs", "mod b;\npub use b::{C, D as E};\npub(crate) use b::f::G;\n"),
            ("crates/a/src/b.rs", "mod f;\npub use f::C;\n"),
            ("crates/a/src/b/f.rs", ""),
            ("crates/a/src/h.rs", "use crate::{C, E, G, I};\n"),
        ]);
        assert_eq!(found, ["h>:1", "h>b:1", "h>b::f:1"]);
    }
}
