//! The functions of a file, and limits of their signatures.

use super::Violation;
use super::scan::is_word;
use super::source::{Source, body_start, line_at};

/// A function with a body, or the declaration of one.
pub(crate) struct Function<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The line of its `fn`, from 1.
    pub(crate) line: usize,
    is_public: bool,
    /// From after the name to the body.
    signature: &'a str,
}

/// A caller's `true` says nothing: a public function takes an enum of two words instead.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    if !source.path.starts_with("crates/") {
        return Vec::new();
    }
    let public = functions(&source.scan.code).into_iter().filter(|function| function.is_public);
    let flagged = public.filter(|function| takes_bool(function.signature));
    let violation = |function: Function| {
        let what = format!("`{}` takes a bool: give its two states names", function.name);
        source.violation(function.line, what)
    };
    flagged.map(violation).collect()
}

/// Returns the functions of a text without literals and comments.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let marks = code.match_indices("fn").map(|(at, _)| at);
    marks.filter_map(|at| function_at(code, at)).collect()
}

fn function_at(code: &str, at: usize) -> Option<Function<'_>> {
    let (before, after) = (&code[..at], &code[at + 2..]);
    // `fn` is a word of its own before a name; without a name it is the type of a function.
    if before.chars().next_back().is_some_and(is_word) || !after.starts_with([' ', '\n']) {
        return None;
    }
    let tail = after.trim_start();
    let name = &tail[..tail.find(|c| !is_word(c)).unwrap_or(tail.len())];
    if name.is_empty() {
        return None;
    }
    let signature = code.len() - tail.len() + name.len();
    let body = body_start(code, signature)?;
    Some(Function {
        name,
        line: line_at(code, at),
        is_public: is_public(before),
        signature: &code[signature..body],
    })
}

/// Returns whether the text before a `fn` makes it public.
fn is_public(before: &str) -> bool {
    let start = before.rfind([';', '{', '}', ']']).map_or(0, |at| at + 1);
    before[start..].trim_start().starts_with("pub")
}

fn takes_bool(signature: &str) -> bool {
    // The arrow of a return type is not an angle bracket.
    let signature = signature.replace("->", "  ");
    let parameters = parameters(&signature);
    let mut types = parameters.iter().filter_map(|parameter| parameter.split_once(':'));
    types.any(|(_, kind)| kind.trim() == "bool")
}

/// Returns the parts between the commas of the first parentheses outside other brackets.
fn parameters(signature: &str) -> Vec<&str> {
    let mut parameters = Vec::new();
    let (mut depth, mut start) = (0_usize, None);
    for (at, c) in signature.char_indices() {
        if let (Some(from), 1, ',' | ')') = (start, depth, c) {
            parameters.push(&signature[from..at]);
            start = (c == ',').then_some(at + 1);
        }
        match c {
            '(' if depth == 0 && parameters.is_empty() => (depth, start) = (1, Some(at + 1)),
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flagged(text: &str) -> bool {
        !check(&Source::new("crates/a/src/b.rs", text)).is_empty()
    }

    #[test]
    fn a_public_function_takes_no_bool() {
        for text in [
            "pub fn f(strict: bool) {}",
            "pub(crate) const fn f(&self, n: i64, strict: bool) -> u8 { 1 }",
            "impl A { #[must_use]\n    pub fn f<F: Fn(u8) -> u8>(\n x: F,\n y: bool,\n) {} }",
        ] {
            assert!(flagged(text), "{text}");
        }
        for text in [
            "fn f(strict: bool) {}",
            "pub fn f(n: i64) -> bool { n > 0 }",
            "pub fn f<F: Fn(bool) -> u8>(f: F, g: impl Fn(bool) -> bool) {}",
            "pub fn f(flag: Option<bool>) {}",
            "pub struct A { strict: bool }\nfn g(b: bool) {}",
        ] {
            assert!(!flagged(text), "{text}");
        }
        assert!(check(&Source::new("bench/src/a.rs", "pub fn f(b: bool) {}")).is_empty());
    }

    #[test]
    fn functions_are_found_at_their_lines() {
        let code = "type F = fn(u8);\ntrait T {\n    fn a(&self) -> [u8; 2];\n}\nimpl T for U {\n\
                    fn a(&self) -> [u8; 2] where X: Y {\n    let dfn = 1;\n    fn b() {}\n}\n}\n";
        let found: Vec<(&str, usize)> =
            functions(code).iter().map(|function| (function.name, function.line)).collect();
        assert_eq!(found, [("a", 3), ("a", 6), ("b", 8)]);
    }
}
