//! Pairs of structs with nearly the same fields. One thing has one type: a second struct repeats
//! its fields, their documentation and a conversion.

use std::collections::BTreeSet;

use proc_macro2::{Spacing, TokenTree};

use super::Violation;
use super::source::{Source, ends_head, is_ident, line_of};

/// Structs with fewer named fields are not compared.
const FIELDS_MIN: usize = 3;

/// A given fleet is parsed as written, so that all its errors can be reported.
const PARSED: &str = "parsed: ids, currencies, amounts and times are checked, and defaults set";
/// An order has a form for each stage.
const ORDER: &str = "given, checked and sent: optional texts, types with rules, and all fields";
/// A mapping has the fields of an entry.
const COLUMNS: &str = "the columns that the values are read from";
/// A fleet has a list for each kind of entry.
const KINDS: &str = "the kinds of entries are the same, their values are not";

/// An allowed pair: the files of both structs below `crates/` with the names of the structs, and
/// why there are two.
type Allowed = (&'static str, &'static str, &'static str);

/// The pairs that may exist.
const ALLOWED: &[Allowed] = &[
    (
        "client/src/account/group.rs PageOf",
        "contract/src/page.rs Page",
        "an answer with a negative number is refused when it is read",
    ),
    ("contract/src/operator.rs FleetCounts", "model/src/fleet.rs Fleet", KINDS),
    ("contract/src/fleet.rs FleetProduct", "ingest/src/csv/mapping.rs NewProduct", COLUMNS),
    ("contract/src/fleet.rs FleetGroup", "model/src/fleet.rs GroupEntry", PARSED),
    ("contract/src/fleet.rs FleetAccount", "model/src/fleet.rs AccountEntry", PARSED),
    ("contract/src/fleet.rs FleetProduct", "model/src/fleet.rs ProductEntry", PARSED),
    ("contract/src/fleet.rs FleetAisle", "model/src/fleet.rs Aisle", PARSED),
    ("contract/src/order.rs OrderHead", "contract/src/stream.rs OrderLine", ORDER),
    ("contract/src/order.rs LineItem", "contract/src/stream.rs OrderLineItem", ORDER),
    ("contract/src/order.rs LineItem", "model/src/order.rs Line", ORDER),
    ("contract/src/stream.rs OrderLineItem", "model/src/order.rs Line", ORDER),
    ("ingest/src/csv/mapping.rs NewProduct", "model/src/fleet.rs ProductEntry", COLUMNS),
    (
        "kiosque/src/args/remote.rs LoginArgs",
        "remote/src/profile.rs Fields",
        "flags with their help; a stored profile knows no command line",
    ),
    ("model/src/fleet.rs Fleet", "store/src/fleet/changes.rs FleetChanges", KINDS),
];
const _: () = assert!(ALLOWED.len() <= 15, "merge structs rather than allow another pair");

/// A struct with named fields.
struct Struct<'a> {
    path: &'a str,
    line: usize,
    name: String,
    fields: BTreeSet<String>,
}

impl Struct<'_> {
    /// Returns the file below `crates/`, and the name.
    fn place(&self) -> String {
        format!("{} {}", self.path.trim_start_matches("crates/"), self.name)
    }

    /// Returns whether at least four fifths of the names that either struct has are in both.
    fn is_near(&self, other: &Struct<'_>) -> bool {
        let (ours, theirs) = (self.fields.len(), other.fields.len());
        // The larger one has at least as many as either.
        if ours.min(theirs) * 5 < ours.max(theirs) * 4 {
            return false;
        }
        let both = self.fields.intersection(&other.fields).count();
        both * 5 >= (ours + theirs - both) * 4
    }
}

/// Returns a violation for each pair of structs of the program that is not allowed, and for each
/// allowed pair that does not exist.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    violations(sources, ALLOWED)
}

fn violations(sources: &[Source], allowed: &[Allowed]) -> Vec<Violation> {
    let program = sources.iter().filter(|source| source.path.starts_with("crates/"));
    let all: Vec<Struct<'_>> = program.flat_map(structs).collect();
    let mut violations = Vec::new();
    let mut found = BTreeSet::new();
    for (at, first) in all.iter().enumerate() {
        for second in all[at + 1..].iter().filter(|second| first.is_near(second)) {
            let (one, other) = (first.place(), second.place());
            match allowed.iter().find(|pair| (pair.0, pair.1) == (&one, &other)) {
                Some(pair) => {
                    found.insert(*pair);
                }
                None => {
                    let what = format!("`{}` has nearly the fields of {other}", first.name);
                    violations.push(Violation::new(first.path, first.line, what));
                }
            }
        }
    }
    let gone = allowed.iter().filter(|pair| !found.contains(*pair));
    violations.extend(gone.map(|(one, other, _)| {
        let what = format!("{one} and {other} are no pair any more: remove them from the list");
        Violation::new("xtask/src/tidy/fields.rs", 0, what)
    }));
    violations
}

/// Returns the structs of a file that are compared.
fn structs<'a>(source: &Source<'a>) -> Vec<Struct<'a>> {
    let mut structs = Vec::new();
    for level in source.levels() {
        for (at, token) in level.iter().enumerate() {
            let [TokenTree::Ident(name), rest @ ..] = &level[at + 1..] else { continue };
            let line = line_of(token);
            if !is_ident(Some(token), "struct") || source.is_test(line) {
                continue;
            }
            let body = rest.iter().find(|token| ends_head(token));
            let fields: BTreeSet<String> = body.into_iter().flat_map(fields).collect();
            if fields.len() >= FIELDS_MIN {
                structs.push(Struct { path: source.path, line, name: name.to_string(), fields });
            }
        }
    }
    structs.sort_by_key(|found| found.line);
    structs
}

/// Returns the names of the fields in the body of a struct: those before a single colon.
fn fields(body: &TokenTree) -> Vec<String> {
    let TokenTree::Group(group) = body else { return Vec::new() };
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let pairs = tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(name), TokenTree::Punct(colon)] => {
            let is_single = colon.as_char() == ':' && colon.spacing() == Spacing::Alone;
            is_single.then(|| name.to_string().trim_start_matches("r#").to_owned())
        }
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/a/src/b.rs";

    fn found(text: &str, allowed: &[Allowed]) -> Vec<String> {
        let sources = [Source::new(PATH, text), Source::new("xtask/src/c.rs", text)];
        violations(&sources, allowed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_fields_of_a_struct_are_found() {
        let text = "pub struct A<T: Copy> where T: B {\n    #[serde(rename = \"d\")]\n    \
                    /// x: y\n    \
                    pub(crate) r#a: Map<u8, fn(b: u8) -> C::D>,\n    bc: [(u8, u8); 2],\n    \
                    d: T }\n\
                    struct B(x: u8);\nconst structs: u8 = 1;\n";
        let source = Source::new(PATH, text);
        let structs = structs(&source);
        let names: Vec<_> = structs.iter().map(|one| (one.name.as_str(), one.line)).collect();
        assert_eq!(names, [("A", 1)]);
        assert_eq!(Vec::from_iter(&structs[0].fields), ["a", "bc", "d"]);
    }

    #[test]
    fn four_fifths_of_the_names_make_a_pair() {
        let pair = |fields: &str| {
            format!("struct A {{ a: u8, b: u8, c: u8, d: u8 }}\nstruct B {fields}\n")
        };
        for near in ["{ d: u16, c: u16, b: u16, a: u16 }", "{ a: u8, b: u8, c: u8, d: u8, e: u8 }"]
        {
            let expected = "crates/a/src/b.rs:1: `A` has nearly the fields of a/src/b.rs B";
            assert_eq!(found(&pair(near), &[]), [expected]);
        }
        for other in [
            "{ a: u8, b: u8 }",
            "{ a: u8, b: u8, c: u8 }",
            "{ a: u8, b: u8, c: u8, e: u8 }",
            "{ a: u8, b: u8, c: u8, d: u8, e: u8, f: u8 }",
            "(u8);",
        ] {
            assert_eq!(found(&pair(other), &[]), [""; 0], "{other}");
        }
        let tests = "struct A { a: u8, b: u8, c: u8 }\n#[cfg(test)]\nmod tests {\n    struct A \
                     { a: u8, b: u8, c: u8 }\n}\n";
        assert_eq!(found(tests, &[]), [""; 0]);
    }

    #[test]
    fn an_allowed_pair_must_exist() {
        let allowed = [("a/src/b.rs A", "a/src/b.rs B", "why")];
        let pair = "struct A { a: u8, b: u8, c: u8 }\nstruct B { a: u8, b: u8, c: u8 }\n";
        assert_eq!(found(pair, &allowed), [""; 0]);
        let gone = found("struct A { a: u8, b: u8, c: u8 }\n", &allowed);
        assert_eq!(gone.len(), 1, "{gone:?}");
        assert!(gone[0].contains("a/src/b.rs A and a/src/b.rs B are no pair"), "{gone:?}");
    }
}
