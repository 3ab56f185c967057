//! Limits of the signatures of functions.

use proc_macro2::{Delimiter, TokenTree};

use super::Violation;
use super::source::{Source, ends_head, is_ident, is_punct, line_of};

/// A caller's `true` says nothing: a public function takes an enum of two words instead.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    if !source.path.starts_with("crates/") {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for level in source.levels() {
        for (at, token) in level.iter().enumerate() {
            let [TokenTree::Ident(name), signature @ ..] = &level[at + 1..] else { continue };
            let is_function = is_ident(Some(token), "fn");
            if is_function && is_public(&level[..at]) && takes_bool(signature) {
                let what = format!("`{name}` takes a bool: give its two states names");
                violations.push(source.violation(line_of(token), what));
            }
        }
    }
    violations
}

/// Returns whether the tokens before a `fn`, or a `use`, make it public.
pub(crate) fn is_public(before: &[TokenTree]) -> bool {
    const KEYWORDS: [&str; 5] = ["const", "async", "unsafe", "extern", "\"C\""];
    let mut before = before.iter().rev();
    let visibility = before.find(|token| !KEYWORDS.contains(&token.to_string().as_str()));
    match visibility {
        // pub(crate)
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            is_ident(before.next(), "pub")
        }
        other => is_ident(other, "pub"),
    }
}

/// Returns whether a parameter is a `bool`. The parentheses of `Fn(…)` contain no names.
fn takes_bool(signature: &[TokenTree]) -> bool {
    signature.iter().take_while(|token| !ends_head(token)).any(|token| {
        let TokenTree::Group(group) = token else { return false };
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        (0..tokens.len()).any(|at| {
            is_punct(tokens.get(at), ':')
                && is_ident(tokens.get(at + 1), "bool")
                && tokens.get(at + 2).is_none_or(|next| is_punct(Some(next), ','))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flagged(text: &str) -> bool {
        !check(&Source::new("crates/a/src/b.rs", text)).is_empty()
    }

    #[test]
    fn a_public_function_takes_no_bool() {
        for text in [
            "pub fn f(strict: bool) {}",
            "pub(crate) const fn f(&self, n: i64, strict: bool) -> u8 { 1 }",
            "impl A { #[must_use]\n    pub fn f<F: Fn(u8) -> u8>(\n x: F,\n y: bool,\n) {} }",
        ] {
            assert!(flagged(text), "{text}");
        }
        for text in [
            "fn f(strict: bool) {}",
            "pub fn f(n: i64) -> bool { n > 0 }",
            "pub fn f<F: Fn(bool) -> u8>(f: F, g: impl Fn(bool) -> bool) {}",
            "pub fn f(flag: Option<bool>) {}",
            "pub struct A { strict: bool }\nfn g(b: bool) {}",
        ] {
            assert!(!flagged(text), "{text}");
        }
        assert!(check(&Source::new("bench/src/a.rs", "pub fn f(b: bool) {}")).is_empty());
    }

    #[test]
    fn functions_are_found_at_their_lines() {
        let text = "trait T {\n    fn a(&self) -> [u8; 2];\n}\nimpl U {\n    #[must_use]\n    \
                    pub fn b(\n        c: bool,\n    ) {\n        mod d {\n            \
                    pub(super) async fn e(f: bool);\n        }\n    }\n}\n";
        let violations = check(&Source::new("crates/a/src/b.rs", text));
        let found: Vec<usize> = violations.iter().map(|violation| violation.line).collect();
        assert_eq!(found, [6, 10]);
    }
}
