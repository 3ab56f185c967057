//! The text of a statement: its parameters, and its translation for each engine.

use std::fmt::Write as _;

use super::bulk::{Bulk, ColumnType};
use super::token::{Kind, Token, tokens};

/// A statement in the text of each engine, without line breaks and indents: a prepared statement is
/// looked up by its whole text.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) sqlite: String,
    pub(super) postgres: String,
    /// A bulk statement for one row, with a parameter for each column.
    pub(super) postgres_of_row: String,
    pub(super) bulk_types: Vec<ColumnType>,
}

/// Translates a statement for both engines, or returns the error in it. The text refers to
/// parameters as `$name`; they are bound in the order of `parameters`.
pub(super) fn translate(text: &str, parameters: &[&str]) -> Result<Translated, String> {
    let tokens = tokens(text)?;
    let bulk = Bulk::parse(&tokens)?;
    let width = bulk.as_ref().map_or(0, |bulk| bulk.columns.len());
    let tokens = numbered(tokens, parameters, width)?;
    let Some(bulk) = bulk else {
        let (sqlite, postgres) = (render(&tokens, '?', &[]), render(&tokens, '$', &[]));
        let (postgres_of_row, bulk_types) = (String::new(), Vec::new());
        return Ok(Translated { sqlite, postgres, postgres_of_row, bulk_types });
    };
    let bulk_types: Vec<ColumnType> = bulk.columns.iter().map(|(_, kind)| *kind).collect();
    let of_row = bulk.row_by_row(&tokens)?;
    Ok(Translated {
        sqlite: render(&of_row, '?', &[]),
        postgres: render(&bulk.as_arrays(&tokens), '$', &[]),
        postgres_of_row: render(&of_row, '$', &bulk_types),
        bulk_types,
    })
}

/// Replaces each parameter by its number. The `width` parameters of bulk rows come first.
fn numbered<'a>(
    mut tokens: Vec<Token<'a>>,
    parameters: &[&str],
    width: usize,
) -> Result<Vec<Token<'a>>, String> {
    let mut used = Vec::new();
    for token in &mut tokens {
        let Kind::Parameter(name) = token.kind else { continue };
        let declared = parameters.iter().position(|declared| *declared == name);
        let declared = declared.ok_or_else(|| format!("parameter ${name} is not declared"))?;
        used.push(name);
        token.kind = Kind::Number(width + 1 + declared);
    }
    if let Some(unused) = parameters.iter().find(|name| !used.contains(name)) {
        return Err(format!("parameter ${unused} is not used"));
    }
    Ok(tokens)
}

/// Joins tokens, with one space where there was white space. The first parameters have these types.
fn render(tokens: &[Token<'_>], sigil: char, types: &[ColumnType]) -> String {
    let mut text = String::new();
    for token in tokens {
        if token.spaced && !text.is_empty() {
            text.push(' ');
        }
        match token.kind {
            Kind::Word(part) | Kind::Quoted(part) | Kind::Text(part) => text.push_str(part),
            Kind::Symbol(symbol) => text.push(symbol),
            Kind::Parameter(name) => {
                text.push('$');
                text.push_str(name);
            }
            Kind::Number(number) => {
                // Writing to a string cannot fail.
                let _ = write!(text, "{sigil}{number}");
                if let Some(kind) = types.get(number - 1) {
                    let _ = write!(text, "::{}", kind.name());
                }
            }
        }
    }
    text
}

/// Adds `by` to the number of every parameter `$n`.
pub(super) fn shift_parameters(text: &str, by: usize) -> String {
    let mut parts = text.split('$');
    let mut shifted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number: usize = number.parse().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(shifted, "${}{rest}", number + by);
    }
    shifted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, names: &[&str]) -> String {
        translate(text, names).expect_err(text)
    }

    #[test]
    fn names_become_numbers_in_the_declared_order() {
        let text = "select a, '$no ''x' from t\n    where b = $beta and a=$alpha\n or c = $beta";
        let translated = translate(text, &["alpha", "beta"]).expect("a translation");
        assert_eq!(translated.sqlite, "select a, '$no ''x' from t where b = ?2 and a=?1 or c = ?2");
        assert_eq!(
            translated.postgres,
            "select a, '$no ''x' from t where b = $2 and a=$1 or c = $2"
        );
    }

    #[test]
    fn names_that_are_not_declared_or_not_used_are_refused() {
        let text = "select a from t where b = $beta";
        assert_eq!(error(text, &["alpha"]), "parameter $beta is not declared");
        assert_eq!(error(text, &["beta", "alpha"]), "parameter $alpha is not used");
        assert_eq!(error("select $1", &["alpha"]), "parameter $1 is not declared");
        // A name that begins with another name is a different name.
        assert_eq!(error(text, &["beta_ms"]), "parameter $beta is not declared");
    }

    #[test]
    fn texts_that_cannot_be_read_are_refused() {
        assert_eq!(error("select $", &[]), "a $ without a name");
        assert_eq!(error("select 'a", &[]), "unclosed '");
        assert_eq!(error("select a -- of b", &[]), "a comment in the text");
        assert_eq!(error("select {a}", &[]), "{ begins no {rows NAME: COLUMN TYPE, …}");
    }
}
