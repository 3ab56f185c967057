//! Code and comments that may not be committed. Clippy finds the rest: `todo!`, `dbg!`, `unwrap`.

use super::Violation;
use super::source::Source;
use super::words::has_word;

/// The marks of unfinished work in comments, as they are written.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Finds forbidden attributes and comments.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (line, text) in (1..).zip(source.text.lines()) {
        if text.trim_start().starts_with("#[ignore") {
            let what = "`#[ignore]`: a test runs or is no test; a large one has a size to set";
            violations.push(source.violation(line, what));
        }
        let comment = text.find("//").or_else(|| text.find("/*")).map_or("", |at| &text[at..]);
        for mark in MARKS.into_iter().filter(|mark| has_word(comment, mark)) {
            let what = format!("`{mark}`: do it, or say it in an issue");
            violations.push(source.violation(line, what));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn ignored_tests_are_found() {
        let text =
            "#[test]\n#[ignore = \"slow\"]\nfn f() { g(\"#[ignore]\") }\n#[ignore]\nfn h() {}\n";
        for path in ["crates/a/src/b.rs", "crates/a/tests/it/b.rs"] {
            assert_eq!(lines(path, text), [2, 4], "{path}");
        }
    }

    #[test]
    fn marks_are_found_in_comments_alone() {
        let text = format!("// {}: later\nlet no_currency = \"{}\";\n", MARKS[0], MARKS[2]);
        assert_eq!(lines("crates/a/src/b.rs", &text), [1]);
    }
}
