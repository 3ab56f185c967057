//! Figures of the whole repository, each with a limit: printed as a table, and enforced.

use std::collections::BTreeMap;

use super::source::Source;
use super::{Violation, avoided, circles, fields, rules};

/// The crate whose lines are counted, and the maximum without its inline tests and the handlers of
/// the console's pages.
const SERVER: &str = "crates/server";
const CONSOLE: &str = "crates/server/src/console";
const SERVER_LINES_MAX: f64 = 6_500.0;

/// Words of comments under `crates/`: the maximum or minimum per 1,000 words.
const COMMENT_WORDS: [(&str, Limit); 3] = [
    ("who, whoever", Limit::Max(0.7)),
    ("what", Limit::Max(3.0)),
    ("return, returns", Limit::Min(2.0)),
];

#[derive(Clone, Copy)]
enum Limit {
    Max(f64),
    Min(f64),
}

/// One figure.
pub(crate) struct Figure {
    name: &'static str,
    value: f64,
    limit: Limit,
    /// The places to fix, where known.
    violations: Vec<Violation>,
}

/// The violations of figures that must hold, and the table of all figures.
pub(crate) struct Figures {
    pub(crate) violations: Vec<Violation>,
    pub(crate) table: String,
}

impl Figure {
    /// A number of places of which there may be none.
    fn of_violations(name: &'static str, violations: Vec<Violation>) -> Figure {
        let value = u32::try_from(violations.len()).map_or(f64::MAX, f64::from);
        Figure { name, value, limit: Limit::Max(0.0), violations }
    }

    fn holds(&self) -> bool {
        match self.limit {
            Limit::Max(max) => self.value <= max,
            Limit::Min(min) => self.value >= min,
        }
    }

    fn row(&self) -> String {
        let limit = match self.limit {
            Limit::Max(max) => format!("at most {max}"),
            Limit::Min(min) => format!("at least {min}"),
        };
        let state = if self.holds() { "" } else { "FAILS" };
        let value = (self.value * 100.0).round() / 100.0;
        format!("{:<32} {value:>8}  {limit:<14} {state}", self.name).trim_end().to_owned()
    }
}

/// Measures all files; `sources` are the Rust files.
pub(crate) fn measure(files: &[(String, String)], sources: &[Source]) -> Figures {
    let mut figures = comment_words(sources);
    figures.push(Figure::of_violations("import circles", all_circles(sources)));
    figures.push(Figure::of_violations("structs with nearly equal fields", fields::check(sources)));
    figures.push(lines_of_server(sources));
    let rules = rules::check(files, sources);
    figures.push(Figure::of_violations("rules of the interface", rules.wrong));
    figures.push(Figure::of_violations("rules without a test", rules.untested));
    let avoided = avoided::check(files);
    figures.push(Figure::of_violations("avoided words over their number", avoided));
    report(figures)
}

fn report(figures: Vec<Figure>) -> Figures {
    let table = figures.iter().map(Figure::row).collect::<Vec<_>>().join("\n");
    let mut violations = Vec::new();
    for figure in figures.into_iter().filter(|figure| !figure.holds()) {
        match figure.violations.is_empty() {
            true => violations.push(Violation::new("crates", 0, figure.row())),
            false => violations.extend(figure.violations),
        }
    }
    Figures { violations, table }
}

/// Counts words of comments under `crates/`.
fn comment_words(sources: &[Source]) -> Vec<Figure> {
    let (mut all, mut counts) = (0_u32, BTreeMap::<String, u32>::new());
    for source in sources.iter().filter(|source| source.path.starts_with("crates/")) {
        for word in source.comments.iter().flat_map(|comment| words(comment.text)) {
            all += 1;
            *counts.entry(word).or_default() += 1;
        }
    }
    let figure = |(name, limit): (&'static str, Limit)| {
        let count: u32 = name.split(", ").filter_map(|word| counts.get(word)).sum();
        let value = f64::from(count) * 1_000.0 / f64::from(all.max(1));
        Figure { name, value, limit, violations: vec![] }
    };
    COMMENT_WORDS.into_iter().map(figure).collect()
}

/// Returns the words of a comment: parts between white space that contain a letter, without the
/// surrounding signs.
fn words(comment: &str) -> impl Iterator<Item = String> {
    let parts = comment.trim_start_matches(['/', '!']).split_whitespace();
    let bare = parts.map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()));
    let words = bare.filter(|word| word.chars().any(char::is_alphabetic));
    words.map(|word| word.split(['\'', '’']).next().unwrap_or(word).to_lowercase())
}

fn all_circles(sources: &[Source]) -> Vec<Violation> {
    let directories = sources.iter().filter_map(|source| source.path.split_once("/src/"));
    let mut directories: Vec<&str> = directories.map(|(directory, _)| directory).collect();
    directories.dedup();
    directories.into_iter().flat_map(|directory| circles::check(directory, sources)).collect()
}

/// The lines of the server's crate without its tests and without the console.
fn lines_of_server(sources: &[Source]) -> Figure {
    let files = sources.iter().filter(|source| {
        source.path.strip_prefix(SERVER).is_some_and(|path| path.starts_with("/src/"))
            && !source.path.starts_with(CONSOLE)
    });
    let lines = files.map(|source| {
        let lines = 1..=source.text.lines().count();
        lines.filter(|line| !source.is_test(*line)).count()
    });
    let value = u32::try_from(lines.sum::<usize>()).map_or(f64::MAX, f64::from);
    let limit = Limit::Max(SERVER_LINES_MAX);
    Figure { name: "lines of crates/server", value, limit, violations: vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(figures: &[Figure], name: &str) -> f64 {
        figures.iter().find(|figure| figure.name == name).expect(name).value
    }

    #[test]
    fn words_are_counted_in_comments_alone() {
        let text = "//! Who? \"Return\" 12 `what`\nlet what = \"who\"; // who's\n";
        let sources = [Source::new("crates/a/tests/b.rs", text), Source::new("xtask/a.rs", text)];
        let figures = comment_words(&sources);
        // Of four words: a number is not one.
        assert!((value(&figures, "who, whoever") - 500.0).abs() < 1e-9);
        assert!((value(&figures, "what") - 250.0).abs() < 1e-9);
        assert!((value(&figures, "return, returns") - 250.0).abs() < 1e-9);
    }

    #[test]
    fn a_server_counts_without_its_tests() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n}\nfn b() {}\n";
        let paths = ["server/src/a.rs", "server/src/a/tests.rs", "store/src/a.rs"];
        let paths = paths.map(|path| format!("crates/{path}"));
        let sources = paths.each_ref().map(|path| Source::new(path, text));
        assert!((lines_of_server(&sources).value - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_figure_that_does_not_hold_fails() {
        let violation = Violation::new("a.rs", 1, "planted");
        let few = Figure { name: "few", value: 1.0, limit: Limit::Min(2.0), violations: vec![] };
        let held = Figure::of_violations("circles", vec![]);
        let found = Figure::of_violations("others", vec![violation]);
        let all = report(vec![found, held, few]);
        assert_eq!(all.violations.len(), 2, "{}", all.table);
        let states: Vec<bool> = all.table.lines().map(|row| row.ends_with("FAILS")).collect();
        assert_eq!(states, [true, false, true], "{}", all.table);
        assert!(all.table.contains("at least 2"), "{}", all.table);
    }
}
