//! Code and comments that may not be committed.

use super::Violation;
use super::scan::is_word;
use super::source::Source;

/// Forbidden in all code, tests included.
const EVERYWHERE: [(&str, &str); 4] = [
    ("todo!", "finish it"),
    ("unimplemented!", "finish it"),
    ("dbg!", "log it or leave it out"),
    ("#[ignore", "a test runs or is no test; a large one has a size to set"),
];
/// Allowed in tests only.
const OUTSIDE_TESTS: (&str, &str) = (".unwrap()", "return the error, or expect why there is none");
/// The marks of unfinished work in comments, as they are written.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Finds forbidden code and comments.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (line, code) in source.code_lines() {
        for (what, instead) in EVERYWHERE {
            if has_word(code, what) {
                violations.push(source.violation(line, format!("`{what}`: {instead}")));
            }
        }
        let (what, instead) = OUTSIDE_TESTS;
        if code.contains(what) && !source.is_test(line) {
            violations.push(source.violation(line, format!("`{what}` outside tests: {instead}")));
        }
    }
    for comment in &source.scan.comments {
        for mark in MARKS.into_iter().filter(|mark| has_word(&comment.text, mark)) {
            let what = format!("`{mark}`: do it, or say it in an issue");
            violations.push(source.violation(comment.line, what));
        }
    }
    violations
}

/// Returns whether the text has the word, not only as a part of another one.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let joins = |inner: Option<char>, outer: Option<char>| {
            inner.is_some_and(is_word) && outer.is_some_and(is_word)
        };
        !joins(word.chars().next(), before) && !joins(word.chars().next_back(), after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn unfinished_code_is_found_in_tests_too() {
        let text = "fn f() {\n    todo!()\n}\n#[ignore = \"slow\"]\nfn g() { dbg!(1); }\n";
        for path in ["crates/a/src/b.rs", "crates/a/tests/it/b.rs"] {
            assert_eq!(lines(path, text), [2, 4, 5], "{path}");
        }
        assert!(lines("crates/a/src/b.rs", "fn f() { not_todo!(\"todo!\"); }\n").is_empty());
    }

    #[test]
    fn only_tests_unwrap() {
        let text =
            "fn f() { g().unwrap(); }\n#[cfg(test)]\nmod tests { fn h() { g().unwrap(); } }\n";
        assert_eq!(lines("crates/a/src/b.rs", text), [1]);
        assert!(lines("crates/a/tests/it/b.rs", text).is_empty());
        assert!(lines("crates/a/src/b.rs", "fn f() { g().unwrap_or(1); }\n").is_empty());
    }

    #[test]
    fn marks_are_found_in_comments_alone() {
        let text = format!("// {}: later\nlet no_currency = \"{}\";\n", MARKS[0], MARKS[2]);
        assert_eq!(lines("crates/a/src/b.rs", &text), [1]);
    }
}
