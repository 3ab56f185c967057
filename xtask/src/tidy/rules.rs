//! The rules of `docs/interface.md`: each is declared once, each is cited by a test, and each cited
//! number exists.
//!
//! A rule has a prefix of three to five capitals and a number, such as AUTH-3. It is declared
//! where its number begins a line or an item of a list, in bold, after its anchor.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::source::Source;
use super::words::is_word;

const PAGE: &str = "docs/interface.md";

/// Compares the page with all files; `sources` are the Rust files. Returns rules that are declared
/// twice or without an anchor of their name, citations of rules that do not exist, and rules that
/// no test cites.
pub(crate) fn check(files: &[(String, String)], sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let Some((_, page)) = files.iter().find(|(path, _)| path == PAGE) else { return violations };
    let declared = declared(page, &mut violations);
    let prefixes: BTreeSet<&str> = declared.keys().map(|rule| prefix(rule)).collect();
    for (path, text) in files {
        for (line, text) in (1..).zip(text.lines()) {
            // Other things are numbered, too: UTF-8 is not a rule.
            let rules = references(text).filter(|rule| prefixes.contains(prefix(rule)));
            for rule in rules.filter(|rule| !declared.contains_key(rule)) {
                violations.push(Violation::new(path, line, format!("{PAGE} has no rule {rule}")));
            }
        }
    }
    let tests = sources.iter().filter(|source| source.path.starts_with("crates/"));
    let tested: BTreeSet<&str> = tests.flat_map(tested).collect();
    for (rule, line) in declared.iter().filter(|(rule, _)| !tested.contains(*rule)) {
        violations.push(Violation::new(PAGE, *line, format!("no test refers to {rule}")));
    }
    violations
}

/// Returns the rules of the page with their lines.
fn declared<'a>(page: &'a str, wrong: &mut Vec<Violation>) -> BTreeMap<&'a str, usize> {
    let mut declared = BTreeMap::new();
    for (line, text) in (1..).zip(page.lines()) {
        let start = text.trim_start_matches([' ', '-', '#']);
        let anchored = start.strip_prefix("<a id=\"").and_then(|rest| rest.split_once("\"></a>"));
        let (anchor, start) = anchored.unwrap_or(("", start));
        let bold = start.strip_prefix("**").and_then(|rest| rest.split_once("**"));
        let Some((rule, _)) = bold.filter(|(rule, _)| is_rule(rule)) else { continue };
        if anchor != rule {
            wrong.push(Violation::new(PAGE, line, format!("{rule} has no anchor of its name")));
        }
        if let Some(first) = declared.insert(rule, line) {
            let what = format!("{rule} is declared in line {first}, too");
            wrong.push(Violation::new(PAGE, line, what));
        }
    }
    declared
}

/// Returns the rules that the tests of a file cite.
fn tested<'a>(source: &'a Source) -> Vec<&'a str> {
    let lines = (1..).zip(source.text.lines()).filter(|(line, _)| source.is_test(*line));
    lines.flat_map(|(_, text)| references(text)).collect()
}

/// The numbers of rules in a line.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| is_word(c) || c == '-';
    text.split(move |c| !part(c)).filter(|word| is_rule(word))
}

fn is_rule(word: &str) -> bool {
    word.split_once('-').is_some_and(|(prefix, number)| {
        (3..=5).contains(&prefix.len())
            && prefix.bytes().all(|byte| byte.is_ascii_uppercase())
            && !number.is_empty()
            && !number.starts_with('0')
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn prefix(rule: &str) -> &str {
    rule.split('-').next().unwrap_or(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "# Rules\n\n<a id=\"ZOO-1\"></a>**ZOO-1** One. As ZOO-2 says, UTF-8.\n\
                         - <a id=\"ZOO-2\"></a>**ZOO-2** Two.\n\nText in **bold** and **ZOO-1**.\n";

    fn found(page: &str, path: &str, text: &str) -> Vec<String> {
        let files = [(PAGE.to_owned(), page.to_owned()), (path.to_owned(), text.to_owned())];
        let violations = check(&files, &[Source::new(path, text)]);
        violations.iter().map(ToString::to_string).collect()
    }

    /// The same without the rules that no test cites.
    fn wrong(page: &str, text: &str) -> Vec<String> {
        let mut found = found(page, "README.md", text);
        found.retain(|violation| !violation.contains("no test refers to"));
        found
    }

    #[test]
    fn a_rule_without_a_test_is_found() {
        let both = "/// ZOO-1: one. (ZOO-2)\n#[test]\nfn f() {}\n";
        assert_eq!(found(RULES, "crates/a/tests/it/b.rs", both), [""; 0]);
        let in_code = "/// ZOO-1\nfn f() {}\n#[cfg(test)]\nmod tests {\n    // ZOO-2\n}\n";
        let untested = ["docs/interface.md:3: no test refers to ZOO-1"];
        assert_eq!(found(RULES, "crates/a/src/b.rs", in_code), untested);
        assert_eq!(found(RULES, "xtask/tests/b.rs", both).len(), 2);
    }

    #[test]
    fn a_number_that_does_not_exist_is_found() {
        let text = "ZOO-1 ZOO-2 ZOO-3 ZOO-12 UTF-8 a_ZOO-3 ZOO-3-4 ZOO-03\n";
        let violation = |rule| format!("README.md:1: {PAGE} has no rule {rule}");
        assert_eq!(wrong(RULES, text), ["ZOO-3", "ZOO-12"].map(violation));
    }

    #[test]
    fn a_rule_is_declared_once_with_its_anchor() {
        let twice = format!("{RULES}<a id=\"ZOO-1\"></a>**ZOO-1** Again.\n");
        assert_eq!(wrong(&twice, ""), ["docs/interface.md:7: ZOO-1 is declared in line 3, too"]);
        for line in ["**ZOO-3** Bare.\n", "- <a id=\"ZOO-4\"></a>**ZOO-3** Another's.\n"] {
            let wrong = wrong(&format!("{RULES}{line}"), "");
            let expected = "docs/interface.md:7: ZOO-3 has no anchor of its name";
            assert_eq!(wrong.first().expect(line), expected);
        }
    }
}
