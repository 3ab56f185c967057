//! The text of a statement: its parameters, and its translation for each engine.

use super::bulk::{Bulk, word};

/// A statement in the text of each engine, without line breaks and indents: a prepared statement is
/// looked up by its whole text.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) sqlite: String,
    pub(super) postgres: String,
    /// A bulk statement for one row, with a parameter for each column.
    pub(super) postgres_of_row: String,
    /// The types of the columns of bulk rows.
    pub(super) bulk_types: Vec<&'static str>,
}

/// Translates a statement for both engines, or returns the error in it. The text refers to
/// parameters as `$name`; they are bound in the order of `parameters`, after the columns of bulk
/// rows.
pub(super) fn translate(text: &str, parameters: &[&str]) -> Result<Translated, String> {
    if text.contains("--") {
        return Err("a comment in the text".to_owned());
    }
    let used: Vec<&str> = text.split('$').skip(1).map(word).collect();
    if let Some(other) = used.iter().find(|name| !parameters.contains(name)) {
        return Err(format!("parameter ${other} is not declared"));
    }
    if let Some(unused) = parameters.iter().find(|name| !used.contains(name)) {
        return Err(format!("parameter ${unused} is not used"));
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bulk = Bulk::parse(&text)?;
    let bulk_types = bulk.as_ref().map(Bulk::types).unwrap_or_default();
    let (sqlite, postgres, postgres_of_row) = match bulk {
        None => (text.clone(), text, String::new()),
        Some(bulk) => {
            let typed = bulk.of_row(|kind| format!("::{kind}"))?;
            (bulk.of_row(|_| String::new())?, bulk.as_arrays(), typed)
        }
    };
    // The columns of bulk rows have their numbers already.
    let declared = |name: &str| parameters.iter().position(|parameter| *parameter == name);
    let number = |name: &str| match declared(name) {
        Some(at) => bulk_types.len() + at + 1,
        None => name.parse().unwrap_or_default(),
    };
    Ok(Translated {
        sqlite: numbered(&sqlite, '?', number),
        postgres: numbered(&postgres, '$', number),
        postgres_of_row: numbered(&postgres_of_row, '$', number),
        bulk_types,
    })
}

/// Adds `by` to the number of every parameter `$n`.
pub(super) fn shift_parameters(text: &str, by: usize) -> String {
    numbered(text, '$', |number| number.parse::<usize>().unwrap_or_default() + by)
}

/// Replaces each parameter `$name` by `sigil` and a number.
fn numbered(text: &str, sigil: char, number: impl Fn(&str) -> usize) -> String {
    let mut parts = text.split('$');
    let mut numbered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_at(word(part).len());
        numbered.push_str(&format!("{sigil}{}{rest}", number(name)));
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, names: &[&str]) -> String {
        translate(text, names).expect_err(text)
    }

    #[test]
    fn names_become_numbers_in_the_declared_order() {
        let text = "select a, 'no ''x' from t\n    where b = $beta and a=$alpha\n or c = $beta";
        let translated = translate(text, &["alpha", "beta"]).expect("a translation");
        assert_eq!(translated.sqlite, "select a, 'no ''x' from t where b = ?2 and a=?1 or c = ?2");
        assert_eq!(
            translated.postgres,
            "select a, 'no ''x' from t where b = $2 and a=$1 or c = $2"
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
        assert_eq!(error("select $", &[]), "parameter $ is not declared");
        assert_eq!(error("select a -- of b", &[]), "a comment in the text");
        assert_eq!(error("select {a}", &[]), "{ begins no {rows NAME: COLUMN TYPE, …}");
    }
}
