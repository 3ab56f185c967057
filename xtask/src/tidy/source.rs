//! A Rust file as seen by the rules.

use std::ops::RangeInclusive;

use super::Violation;
use super::scan::{Scan, scan};

/// A Rust file, taken apart.
pub(crate) struct Source<'a> {
    /// Relative to the root, with slashes.
    pub(crate) path: &'a str,
    /// The whole text.
    pub(crate) text: &'a str,
    /// Its parts.
    pub(crate) scan: Scan,
    /// The lines of the items under `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

impl<'a> Source<'a> {
    /// Takes a file apart.
    pub(crate) fn new(path: &'a str, text: &'a str) -> Source<'a> {
        let scan = scan(text);
        let test_lines = test_lines(&scan.code);
        Source { path, text, scan, test_lines }
    }

    /// Returns whether the line is part of the tests: of a test file, of the tests' own crate, or
    /// of tests inside another file.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        let is_test_file = self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.starts_with("testkit/");
        is_test_file || self.is_inline_test(line)
    }

    /// Returns whether the line is in an item under `#[cfg(test)]`.
    pub(crate) fn is_inline_test(&self, line: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// The lines of the code, with their numbers.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.scan.code.lines())
    }

    /// A violation of this file.
    pub(crate) fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation::new(self.path, line, what)
    }
}

/// The line of a byte, from 1.
pub(crate) fn line_at(code: &str, at: usize) -> usize {
    1 + code[..at].matches('\n').count()
}

/// Where the block or the statement that begins at `from` ends: at the `}` that closes its first
/// block outside parentheses, or at a `;` before one.
pub(crate) fn item_end(code: &str, from: usize) -> Option<usize> {
    let body = body_start(code, from)?;
    match code.as_bytes()[body] {
        b'{' => closing(code, body),
        _ => Some(body),
    }
}

/// Returns the place of the first `{` or `;` outside parentheses and brackets.
pub(crate) fn body_start(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code.bytes().enumerate().skip(from) {
        match c {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' | b';' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns the place of the `}` that closes the `{` at `open`.
fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code.bytes().enumerate().skip(open) {
        match c {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn test_lines(code: &str) -> Vec<RangeInclusive<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let marks = code.match_indices(MARK).map(|(at, _)| at);
    let lines = marks.map(|at| {
        let end = item_end(code, at + MARK.len()).unwrap_or(code.len());
        line_at(code, at)..=line_at(code, end)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_file_are_known_by_their_lines() {
        let text = "use a;\n#[cfg(test)]\nuse b;\nfn f() {}\n#[cfg(test)]\n#[expect(x, reason = \"\
                    {\")]\nmod tests {\n    fn g() { h(\"}\"); }\n}\nfn i() {}\n";
        let source = Source::new("crates/a/src/b.rs", text);
        let tests: Vec<usize> = (1..=10).filter(|line| source.is_test(*line)).collect();
        assert_eq!(tests, [2, 3, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_file_of_tests_is_one_whole() {
        for path in ["crates/a/tests/it/main.rs", "crates/a/src/b/tests.rs"] {
            let source = Source::new(path, "fn f() {}\n");
            assert!(source.is_test(1) && !source.is_inline_test(1), "{path}");
        }
    }
}
