//! SQL is in the store and nowhere else, so that each statement is written once. The copies of
//! integrators are files of their own.

use super::Violation;
use super::source::Source;

/// Places with SQL: the store, the copies of `kiosque remote mirror` and their test, statements
/// about a PostgreSQL server itself, the tests' access to rows that bypasses the store, examples of
/// the client, whose users have a database of their own, and the examples of this rule's own test.
const ALLOWED: [&str; 7] = [
    "crates/store/",
    "crates/remote/src/mirror/",
    "crates/kiosque/tests/it/remote/mirror.rs",
    "crates/client/examples/",
    "testdb/",
    "testkit/",
    "xtask/src/tidy/sql.rs",
];

/// Finds string literals that are SQL, outside the store.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    if ALLOWED.iter().any(|place| source.path.starts_with(place)) {
        return Vec::new();
    }
    let literals = source.literals.iter().filter(|literal| is_sql(literal.text));
    let what = "SQL outside the store: make it a function of crates/store";
    literals.map(|literal| source.violation(literal.line, what)).collect()
}

/// Whether a text begins as a statement does. Words alone decide, so that a sentence that begins
/// with "select" or "update" is no statement.
fn is_sql(text: &str) -> bool {
    let text = text.replace("\\n", " ").replace('\\', " ").to_lowercase();
    let mut words = text.split_whitespace();
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let later = |word: &str| text.split_whitespace().skip(2).any(|later| later == word);
    match first {
        "select" => later("from") || second.starts_with(|c: char| c.is_ascii_digit() || c == '$'),
        "insert" => matches!(second, "into" | "or"),
        "update" => later("set"),
        "delete" => second == "from",
        "create" | "drop" | "alter" => matches!(second, "table" | "index" | "unique" | "view"),
        "with" => later("as") && later("select") || later("as") && text.contains("(select "),
        "begin" => matches!(second, "immediate" | "exclusive" | "transaction"),
        "vacuum" => second == "into",
        "pragma" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_from_sentences() {
        for text in [
            "select 1",
            "SELECT name FROM device",
            "\\\n    select device_no\n      from device",
            "insert into session values ($1)",
            "insert or replace into session values ($1)",
            "update session set digest = $1",
            "delete from session",
            "create table x (y text)",
            "create unique index a on b (c)",
            "pragma journal_mode = wal",
            "with page as (select 1) select * from page",
            "begin immediate",
        ] {
            assert!(is_sql(text), "{text}");
        }
        for text in
            ["select", "select a group first", "update it later", "create a directory", "pragma"]
        {
            assert!(!is_sql(text), "{text}");
        }
    }

    #[test]
    fn only_the_store_has_sql() {
        let text = "// select 1\nconst Q: &str = \"select a from b\";\n";
        let lines = |path| -> Vec<usize> {
            check(&Source::new(path, text)).iter().map(|violation| violation.line).collect()
        };
        assert_eq!(lines("crates/server/src/devices.rs"), [2]);
        assert_eq!(lines("crates/kiosque/tests/it/verify.rs"), [2]);
        assert!(lines("crates/store/src/devices.rs").is_empty());
        assert!(lines("crates/store/tests/it/devices.rs").is_empty());
    }
}
