//! The lengths of files, functions and lines. Code that grows past them does two jobs.

use super::Fault;
use super::functions::{Function, functions};
use super::source::Source;

/// Lines of a file without its inline tests.
const FILE_MAX: usize = 400;
/// Lines of a function from its `fn` to its last brace. The usual one has fewer than 40.
const FUNCTION_MAX: usize = 60;
/// Characters of a line.
const COLUMNS_MAX: usize = 100;

/// Finds everything that is too long.
pub(crate) fn check(source: &Source) -> Vec<Fault> {
    let mut faults = file_too_long(source);
    faults.extend(functions_too_long(source));
    for (line, text) in (1..).zip(source.text.lines()) {
        let columns = text.chars().count();
        if columns > COLUMNS_MAX {
            faults.push(source.fault(line, format!("{columns} columns of {COLUMNS_MAX}")));
        }
    }
    faults
}

/// Returns a fault if the file is too long.
pub(crate) fn file_too_long(source: &Source) -> Vec<Fault> {
    let count = source.text.lines().count();
    let counted = (1..=count).filter(|line| !source.is_inline_test(*line)).count();
    let fault = || source.fault(count, format!("the file has {counted} lines of {FILE_MAX}"));
    (counted > FILE_MAX).then(fault).into_iter().collect()
}

/// Returns a fault for each function that is too long.
pub(crate) fn functions_too_long(source: &Source) -> Vec<Fault> {
    let functions = functions(&source.scan.code).into_iter();
    let long = functions.filter(|function| function.lines > FUNCTION_MAX);
    let fault = |function: Function| {
        let what = format!("`{}` has {} lines of {FUNCTION_MAX}", function.name, function.lines);
        source.fault(function.line, what)
    };
    long.map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let source = Source::new("crates/a/src/b.rs", text);
        check(&source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_counts_without_its_tests() {
        let code = "use a;\n".repeat(400);
        let tests = "#[cfg(test)]\nmod tests {\n    use b;\n}\n";
        assert!(faults(&format!("{code}{tests}")).is_empty());
        let expected = "crates/a/src/b.rs:405: the file has 401 lines of 400";
        assert_eq!(faults(&format!("use a;\n{code}{tests}")), [expected]);
    }

    #[test]
    fn a_function_counts_from_its_name_to_its_brace() {
        let of = |lines: usize| format!("fn f() {{\n{}}}\n", "    \"{\";\n".repeat(lines - 2));
        assert!(faults(&of(60)).is_empty());
        assert_eq!(faults(&of(61)), ["crates/a/src/b.rs:1: `f` has 61 lines of 60"]);
    }

    #[test]
    fn columns_are_characters() {
        let of = |count: usize| format!("// {}\n", "é".repeat(count - 3));
        assert!(faults(&of(100)).is_empty());
        assert_eq!(faults(&of(101)), ["crates/a/src/b.rs:1: 101 columns of 100"]);
    }
}
