//! Words that no file contains. The repository is about the product: not about one machine, one
//! registry's address, or the tools with which a text was written.

use super::Violation;

/// Paths of one machine. Assembled, like all words here, so that this file does not find itself.
const MACHINE: [&str; 4] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/tmp/", "tools"),
];
/// Hosts of the package registry; a lock file names its index by another address.
const REGISTRY: [&str; 2] = [concat!("index.", "crates.io"), concat!("static.", "crates.io")];
/// Writing tools.
const TOOLS: [&str; 8] = [
    concat!("AI-", "generated"),
    concat!("AI ", "generated"),
    concat!("Clau", "de"),
    concat!("Anthro", "pic"),
    concat!("Open", "AI"),
    concat!("Chat", "GPT"),
    concat!("chat", "gpt"),
    concat!("LL", "M"),
];

/// Finds the words, in any kind of file but a licence's own text.
pub(crate) fn check(path: &str, text: &str) -> Vec<Violation> {
    if path.starts_with("LICENSE-") {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let mut find = |words: &[&str], what: &str| {
            let words = words.iter().filter(|word| has_word(text, word));
            violations
                .extend(words.map(|word| Violation::new(path, line, format!("`{word}`: {what}"))));
        };
        find(&MACHINE, "a path of one machine");
        find(&REGISTRY, "a registry's address");
        find(&TOOLS, "the product speaks of itself alone");
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

/// Returns whether the character can be part of a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_in_any_file() {
        for word in MACHINE.iter().chain(&REGISTRY).chain(&TOOLS) {
            let text = format!("fine\nsee {word} there\n");
            for path in ["docs/a.md", "crates/a/src/b.rs", "deny.toml"] {
                let found = check(path, &text);
                assert!(found.len() == 1 && found[0].line == 2, "{word}: {found:?}");
            }
            assert!(check("LICENSE-APACHE", &text).is_empty());
        }
    }

    #[test]
    fn parts_of_other_words_are_no_words() {
        for text in ["openapi", "homework/a", "WALLMART", "https://crates.io/crates/jiff"] {
            assert!(check("docs/a.md", text).is_empty(), "{text}");
        }
    }
}
