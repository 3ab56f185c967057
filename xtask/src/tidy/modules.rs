//! The modules of a crate, and their imports of each other.
//!
//! A module is a file. It imports another when its code outside tests refers to an item of that
//! file by a path from `crate`, `super`, `self` or a child module, in a `use` or in place. A
//! re-export is followed to the file that defines the item, and is not an import itself.

use std::collections::BTreeMap;

use proc_macro2::{Spacing, TokenStream, TokenTree};

use super::functions::is_public;
use super::source::{Source, is_ident, is_punct, line_of};

/// The modules of one crate, by their paths from its root: `""`, `"orders"`, `"orders::page"`.
pub(crate) struct Modules<'a>(BTreeMap<String, Module<'a>>);

struct Module<'a> {
    source: &'a Source<'a>,
    /// The paths after `pub use`, from the root of the crate, by the names of the items.
    reexports: BTreeMap<String, Path>,
    /// Paths from the root of the crate, and the lines where they occur.
    paths: Vec<(usize, Path)>,
}

type Path = Vec<String>;

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
        let read = |(name, source): (&String, &&'a Source<'a>)| {
            let here: Path =
                name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            let mut module = Module { source, reexports: BTreeMap::new(), paths: Vec::new() };
            let is_module = |path: &[String]| files.contains_key(&path.join("::"));
            module.read(source.code.clone(), &here, &is_module);
            (name.clone(), module)
        };
        Modules(files.iter().map(read).collect())
    }

    /// Returns one import for each pair of modules, the first in the file.
    pub(crate) fn imports(&self) -> Vec<Import> {
        let mut found: BTreeMap<(String, String), Import> = BTreeMap::new();
        for (from, module) in &self.0 {
            for (line, path) in &module.paths {
                let Some(to) = self.definer(path, 0).filter(|to| to != from) else { continue };
                let key = (from.clone(), to.clone());
                let (from, file) = (from.clone(), module.source.path.to_owned());
                found.entry(key).or_insert(Import { from, to, file, line: *line });
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

impl Module<'_> {
    /// Adds the paths in a block, or in the file, of the module `here`.
    fn read(&mut self, block: TokenStream, here: &[String], is_module: &dyn Fn(&[String]) -> bool) {
        let tokens: Vec<TokenTree> = block.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let begin = at;
            at += 1;
            match (token, &tokens[at..]) {
                // pub(in …)
                (TokenTree::Group(group), _)
                    if is_ident(group.stream().into_iter().next().as_ref(), "in") => {}
                (TokenTree::Group(group), _) => self.read(group.stream(), here, is_module),
                (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Group(group), ..])
                    if word == "mod" =>
                {
                    let nested = [here, &[name.to_string()]].concat();
                    self.read(group.stream(), &nested, is_module);
                    at += 2;
                }
                // Not the `use<…>` of a return type.
                (TokenTree::Ident(word), [first, ..])
                    if word == "use" && !is_punct(Some(first), '<') =>
                {
                    let tree = tokens[at..].iter().take_while(|token| !is_punct(Some(token), ';'));
                    let tree: Vec<TokenTree> = tree.cloned().collect();
                    at += tree.len();
                    let mut found = Vec::new();
                    flatten(&[], &tree, &mut found);
                    for (path, alias) in found {
                        let Some(path) = resolve(&path, here, is_module) else { continue };
                        match is_public(&tokens[..begin]) {
                            true => drop(self.reexports.insert(alias, path)),
                            false => self.paths.push((line_of(token), path)),
                        }
                    }
                }
                (TokenTree::Ident(first), _) => {
                    let mut path = vec![first.to_string()];
                    while is_colons(&tokens, at)
                        && let Some(TokenTree::Ident(name)) = tokens.get(at + 2)
                    {
                        path.push(name.to_string());
                        at += 3;
                    }
                    // The rest of a path, a method, or the crate of a macro.
                    let goes_on = match begin.checked_sub(1).map(|before| &tokens[before]) {
                        Some(TokenTree::Punct(punct)) => match punct.as_char() {
                            '.' | '$' => true,
                            ':' => begin > 1 && is_colons(&tokens, begin - 2),
                            _ => false,
                        },
                        _ => false,
                    };
                    if path.len() > 1 && !goes_on {
                        let path = resolve(&path, here, is_module);
                        self.paths.extend(path.map(|path| (line_of(token), path)));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns whether there is a `::` at a place.
fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let first = tokens.get(at);
    let is_joint = matches!(first, Some(TokenTree::Punct(it)) if it.spacing() == Spacing::Joint);
    is_joint && is_punct(first, ':') && is_punct(tokens.get(at + 1), ':')
}

/// Returns a path as one from the root of the crate; `None` if it leads elsewhere.
fn resolve(
    path: &[String],
    here: &[String],
    is_module: &dyn Fn(&[String]) -> bool,
) -> Option<Path> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([here, rest].concat()),
        "super" => {
            let supers = path.iter().take_while(|part| *part == "super").count();
            let above = here.len().checked_sub(supers)?;
            Some([&here[..above], &path[supers..]].concat())
        }
        child => is_module(&[here, &[child.to_owned()]].concat()).then(|| [here, path].concat()),
    }
}

/// Adds the paths of the tree of a `use`, each with the name of the item.
fn flatten(prefix: &[String], tree: &[TokenTree], found: &mut Vec<(Path, String)>) {
    let parts = tree.split(|token| is_punct(Some(token), ','));
    for part in parts.filter(|part| !part.is_empty()) {
        let names = part.iter().filter_map(|token| match token {
            TokenTree::Ident(name) => Some(name.to_string()),
            _ => None,
        });
        let mut path: Path = prefix.iter().cloned().chain(names).collect();
        if let Some(TokenTree::Group(group)) = part.last() {
            flatten(&path, &group.stream().into_iter().collect::<Vec<_>>(), found);
            continue;
        }
        let alias = path.iter().position(|name| name == "as").map(|at| path.split_off(at));
        // The module itself, in a group.
        path.retain(|name| name != "self" || prefix.is_empty());
        let name = alias.as_ref().unwrap_or(&path).last().cloned();
        found.extend(name.map(|name| (path, name)));
    }
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
