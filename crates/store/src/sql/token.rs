//! The tokens of a statement.

/// A token, and whether white space precedes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) spaced: bool,
    pub(super) kind: Kind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// A keyword, a name or a number.
    Word(&'a str),
    /// `$` and a name or a number.
    Parameter(&'a str),
    /// A parameter by its position, from 1.
    Number(usize),
    /// A quoted text, with its quotes.
    Quoted(&'a str),
    /// Any other character.
    Symbol(char),
    /// SQL that a translation inserts verbatim.
    Text(&'a str),
}

impl Token<'_> {
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word(word)
    }

    pub(super) fn is_symbol(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol(symbol)
    }
}

/// Splits a text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.trim_start().chars().next() {
        let spaced = rest.starts_with(char::is_whitespace);
        rest = rest.trim_start();
        let (kind, length) = match first {
            '\'' | '"' => {
                let end = rest.get(1..).and_then(|inner| inner.find(first));
                let length = end.ok_or_else(|| format!("unclosed {first}"))? + 2;
                (Kind::Quoted(rest.get(..length).unwrap_or_default()), length)
            }
            '$' => {
                let name = word(rest.get(1..).unwrap_or_default());
                if name.is_empty() {
                    return Err("a $ without a name".to_owned());
                }
                (Kind::Parameter(name), 1 + name.len())
            }
            '-' if rest.starts_with("--") => return Err("a comment in the text".to_owned()),
            _ if is_word_char(first) => (Kind::Word(word(rest)), word(rest).len()),
            other => (Kind::Symbol(other), other.len_utf8()),
        };
        tokens.push(Token { spaced, kind });
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(tokens)
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    text.split(|c| !is_word_char(c)).next().unwrap_or_default()
}
