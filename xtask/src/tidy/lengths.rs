//! The lengths of files and lines. Clippy checks the lengths of functions (`too_many_lines`).

use super::Violation;
use super::source::Source;

/// Maximum lines of a file without its inline tests, unless its head explains why it is longer.
const FILE_MAX: usize = 600;
/// The beginning of the line in the head comment of a longer file that explains why.
const REASON: &str = "//! Length: ";
/// Characters of a line.
const COLUMNS_MAX: usize = 100;

/// Files of the crate whose lines are counted, and those that are not: the handlers of the
/// console's pages.
const SERVER: &str = "crates/server/src/";
const CONSOLE: &str = "crates/server/src/console";
/// Maximum lines of that crate without its inline tests.
const SERVER_MAX: usize = 6_500;

/// Returns a violation if the server's crate is too long.
pub(crate) fn check_server(sources: &[Source]) -> Option<Violation> {
    let files = sources.iter().map(|source| source.path).zip(sources);
    let files = files.filter(|(path, _)| path.starts_with(SERVER) && !path.starts_with(CONSOLE));
    let lines = files.map(|(_, source)| {
        let lines = 1..=source.text.lines().count();
        lines.filter(|line| !source.is_test(*line)).count()
    });
    let lines: usize = lines.sum();
    let what = format!("the crate has {lines} lines of {SERVER_MAX}");
    (lines > SERVER_MAX).then(|| Violation::new(SERVER, 0, what))
}

/// Finds everything in a file that is too long.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    let mut violations = file_too_long(source);
    for (line, text) in (1..).zip(source.text.lines()) {
        let columns = text.chars().count();
        if columns > COLUMNS_MAX {
            violations.push(source.violation(line, format!("{columns} columns of {COLUMNS_MAX}")));
        }
    }
    violations
}

/// Returns a violation if the file is too long and does not explain why.
fn file_too_long(source: &Source) -> Vec<Violation> {
    let count = source.text.lines().count();
    let counted = (1..=count).filter(|line| !source.is_inline_test(*line)).count();
    let mut head = source.text.lines().take_while(|line| line.starts_with("//!"));
    if counted <= FILE_MAX || head.any(|line| line.starts_with(REASON)) {
        return Vec::new();
    }
    let what = format!("the file has {counted} lines of {FILE_MAX}; split it, or say `{REASON}…`");
    vec![source.violation(count, what)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(text: &str) -> Vec<String> {
        let source = Source::new("crates/a/src/b.rs", text);
        check(&source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_counts_without_its_tests() {
        let code = "use a;\n".repeat(600);
        let tests = "#[cfg(test)]\nmod tests {\n    use b;\n}\n";
        assert!(violations(&format!("{code}{tests}")).is_empty());
        let expected = "crates/a/src/b.rs:605: the file has 601 lines of 600; split it, or say \
                        `//! Length: …`";
        assert_eq!(violations(&format!("use a;\n{code}{tests}")), [expected]);
    }

    #[test]
    fn a_longer_file_says_why_in_its_head() {
        let code = "use a;\n".repeat(600);
        assert!(violations(&format!("//! A.\n//!\n//! Length: one table.\n{code}")).is_empty());
        assert_eq!(violations(&format!("//! A.\n{code}//! Length: one table.\n")).len(), 1);
    }

    #[test]
    fn the_server_counts_without_its_tests() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n}}\n", "fn a() {}\n".repeat(6_500));
        let of = |text: &str| {
            let paths = ["server/src/a.rs", "server/src/a/tests.rs", "store/src/a.rs"];
            let paths = paths.map(|path| format!("crates/{path}"));
            let sources = paths.each_ref().map(|path| Source::new(path, text));
            check_server(&sources).map(|violation| violation.what)
        };
        assert_eq!(of(&text), None);
        let expected = Some("the crate has 6501 lines of 6500".to_owned());
        assert_eq!(of(&format!("use a;\n{text}")), expected);
    }

    #[test]
    fn columns_are_characters() {
        let of = |count: usize| format!("// {}\n", "é".repeat(count - 3));
        assert!(violations(&of(100)).is_empty());
        assert_eq!(violations(&of(101)), ["crates/a/src/b.rs:1: 101 columns of 100"]);
    }
}
