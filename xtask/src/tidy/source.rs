//! A Rust file as seen by the rules: its tokens, its string literals and its tests.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::Violation;

/// A Rust file, taken apart.
pub(crate) struct Source<'a> {
    /// Relative to the root, with slashes.
    pub(crate) path: &'a str,
    /// The whole text.
    pub(crate) text: &'a str,
    /// The tokens outside of items under `#[cfg(test)]`.
    pub(crate) code: TokenStream,
    /// The contents of the string literals.
    pub(crate) literals: Vec<Piece<'a>>,
    /// The lines of the items under `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A part of the text and its line, from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// Takes a file apart. One that the compiler would refuse has no tokens.
    pub(crate) fn new(path: &'a str, text: &'a str) -> Source<'a> {
        let tokens: TokenStream = text.parse().unwrap_or_default();
        let mut literals = Vec::new();
        add_literals(text, tokens.clone(), &mut literals);
        let mut test_lines = Vec::new();
        let code = without_tests(tokens, &mut test_lines);
        Source { path, text, code, literals, test_lines }
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

    /// Returns the tokens of the code: those of the file itself, and those in each pair of
    /// brackets.
    pub(crate) fn levels(&self) -> Vec<Vec<TokenTree>> {
        let mut levels = Vec::new();
        let mut open = vec![self.code.clone()];
        while let Some(stream) = open.pop() {
            let level: Vec<TokenTree> = stream.into_iter().collect();
            open.extend(level.iter().filter_map(|token| match token {
                TokenTree::Group(group) => Some(group.stream()),
                _ => None,
            }));
            levels.push(level);
        }
        levels
    }

    /// A violation of this file.
    pub(crate) fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation::new(self.path, line, what)
    }
}

/// Returns the line of a token, from 1.
pub(crate) fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

/// Returns whether there is a token and it is this name or keyword.
pub(crate) fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == name)
}

/// Returns whether there is a token and it is this character.
pub(crate) fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

/// Returns whether the head of an item ends at a token: at its block, or at a `;`.
pub(crate) fn ends_head(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => is_punct(Some(token), ';'),
    }
}

/// Adds the string literals among tokens, in any brackets.
fn add_literals<'a>(text: &'a str, tokens: TokenStream, literals: &mut Vec<Piece<'a>>) {
    for token in tokens {
        let text_of_token = &text[token.span().byte_range()];
        match token {
            // The tokens of a documentation comment are in its place.
            _ if text_of_token.starts_with("//") || text_of_token.starts_with("/*") => {}
            TokenTree::Group(group) => add_literals(text, group.stream(), literals),
            TokenTree::Literal(literal) => {
                let content =
                    text_of_token.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
                let line = literal.span().start().line;
                literals.extend(content.map(|(text, _)| Piece { line, text }));
            }
            _ => {}
        }
    }
}

/// Removes the items under `#[cfg(test)]`, and adds their lines.
fn without_tests(tokens: TokenStream, lines: &mut Vec<RangeInclusive<usize>>) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        let TokenTree::Group(group) = token else {
            kept.push(token);
            continue;
        };
        if is_punct(kept.last(), '#') && group.stream().to_string() == "cfg (test)" {
            kept.pop();
            let end = tokens.find(ends_head).map_or(usize::MAX, |last| last.span().end().line);
            lines.push(group.span().start().line..=end);
        } else {
            let mut pruned = Group::new(group.delimiter(), without_tests(group.stream(), lines));
            pruned.set_span(group.span());
            kept.push(pruned.into());
        }
    }
    kept.into_iter().collect()
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
        assert_eq!(source.code.to_string(), "use a ; fn f () { } fn i () { }");
    }

    #[test]
    fn a_file_of_tests_is_one_whole() {
        for path in ["crates/a/tests/it/main.rs", "crates/a/src/b/tests.rs"] {
            let source = Source::new(path, "fn f() {}\n");
            assert!(source.is_test(1) && !source.is_inline_test(1), "{path}");
        }
    }

    #[test]
    fn strings_are_found_at_their_lines() {
        let text = "//! one \"no string\nf(\"x\\\"y\", br#\"with \"quotes\"\"#, '\"'); // \"two\"\n\
                    /* three\n\n four */ g(\"\n\");\n/// \"five\"\nfn h() {} // six";
        let source = Source::new("crates/a/src/b.rs", text);
        let found = [(2, "x\\\"y"), (2, "with \"quotes\""), (5, "\n")];
        assert_eq!(source.literals, found.map(|(line, text)| Piece { line, text }));
    }
}
