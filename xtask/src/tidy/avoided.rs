//! Words that this repository avoids because the field has a term: their number may only decrease.

use std::collections::BTreeMap;

use heck::ToSnakeCase;

use super::Violation;

/// Groups of words, and how often each group may occur: where there is no other word, in data such
/// as the name of a table, and in old entries of the changelog.
const AVOIDED: [(&[&str], usize); 22] = [
    (&["told", "tell", "tells", "telling", "untold"], 0),
    (&["what"], 650),
    (&["who"], 90),
    (&["whoever", "whomever", "whom"], 0),
    (&["nobody", "somebody"], 0),
    (&["stand", "stands", "standing"], 0),
    (&["beside"], 0),
    (&["anew"], 0),
    (&["becomes", "became"], 2),
    (&["lets"], 0),
    (&["house"], 0),
    (&["courtesy"], 0),
    (&["crowded"], 1),
    (&["desk"], 0),
    (&["door", "doors"], 2),
    (&["furnish", "furnished", "furnishes"], 0),
    (&["gate", "gates"], 0),
    (&["hand", "hands", "handed"], 0),
    (&["parcel", "parcels"], 0),
    (&["patience", "patient"], 0),
    (&["pulse", "felt"], 0),
    (&["question", "questions"], 0),
];

/// This file.
const SELF: &str = "xtask/src/tidy/avoided.rs";

/// Counts the words in names, comments, texts and paths; returns a violation for each group that
/// occurs more often than its number.
pub(crate) fn check(files: &[(String, String)]) -> Vec<Violation> {
    over(&count(files), &AVOIDED)
}

fn over(counts: &BTreeMap<String, usize>, avoided: &[(&[&str], usize)]) -> Vec<Violation> {
    let mut over = Vec::new();
    for (words, allowed) in avoided {
        let count: usize = words.iter().filter_map(|word| counts.get(*word)).sum();
        if count > *allowed {
            let group = words.join(", ");
            let what = format!("{group}: {count} of {allowed}. Write the field's term instead");
            over.push(Violation::new(SELF, 1, what));
        }
    }
    over
}

/// Counts each word in Rust files and documents.
fn count(files: &[(String, String)]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (path, text) in files {
        let is_ours = path.ends_with(".rs") || path.ends_with(".md");
        if !is_ours || path == SELF {
            continue;
        }
        // Each part of a name such as `OrderQuery` is a word.
        let words = format!("{path} {text}").to_snake_case();
        for word in words.split('_') {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_names_texts_and_paths() {
        let text = "let big_zoo = ZooKeeper::new(\"a zoo\"); // Zoos, zoo's and ZOO\n";
        let files = ["src/zoo.rs", "docs/a.md", "data.csv", SELF]
            .map(|path| (path.to_owned(), text.to_owned()));
        let counts = count(&files);
        assert_eq!((counts["zoo"], counts["zoos"], counts["keeper"]), (11, 2, 2));
    }

    #[test]
    fn a_number_may_only_fall() {
        let counts = BTreeMap::from([("zoo".to_owned(), 2), ("zoos".to_owned(), 1)]);
        let of = |allowed| over(&counts, &[(&["zoo", "zoos"], allowed)]);
        assert_eq!(of(3), []);
        assert!(of(2)[0].to_string().contains("zoo, zoos: 3 of 2"));
    }
}
