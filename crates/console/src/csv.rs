//! CSV by RFC 4180, for the downloads of pages.

use kiosque_model::UnixMs;

/// A column of a file: its name, and its value in a row.
pub(crate) type Column<T> = (&'static str, fn(&T) -> String);

/// The last row of a file that has a part of a list.
pub(crate) const MORE_ROWS: &str = "The list has more rows than this file.";

/// Returns a file of rows. A last row has `note` in its first column, if there is one.
pub(crate) fn table<T>(
    columns: &[Column<T>],
    rows: impl IntoIterator<Item = T>,
    note: Option<&str>,
) -> String {
    let mut text = line(columns.iter().map(|(name, _)| name));
    for row in rows {
        text += &line(columns.iter().map(|(_, value)| value(&row)));
    }
    if let Some(note) = note {
        let empty = std::iter::repeat_n("", columns.len().saturating_sub(1));
        text += &line(std::iter::once(note).chain(empty));
    }
    text
}

/// Returns a file of rows, each with its texts in the order of `names`.
pub(crate) fn file<const N: usize>(names: [&str; N], rows: Vec<[String; N]>) -> String {
    let rows = rows.iter().map(|row| line(row.iter()));
    std::iter::once(line(names.iter())).chain(rows).collect()
}

/// Returns a time; an empty text without one.
pub(crate) fn time(at: Option<UnixMs>) -> String {
    at.map(UnixMs::rfc3339).unwrap_or_default()
}

fn line(fields: impl Iterator<Item = impl AsRef<str>>) -> String {
    let fields: Vec<String> = fields.map(|field| written(field.as_ref())).collect();
    fields.join(",") + "\r\n"
}

/// Characters at which spreadsheets may begin another cell, depending on their language; they see
/// no quotes inside of a cell.
const SPLITTING: [char; 4] = [';', '\t', '\n', '\r'];

/// Returns a field as it is written. Spreadsheets evaluate texts that begin like a formula: those
/// get an apostrophe.
fn written(field: &str) -> String {
    // Of what parses, `-inf` is the name of a function, and `+1` may be a telephone number.
    let has_digits = field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-'));
    let is_number = has_digits && field.parse::<f64>().is_ok();
    let field = if is_number { field.to_owned() } else { without_formulas(field) };
    if field.contains(['"', ',']) || field.contains(SPLITTING) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

/// Returns a text with an apostrophe before each part that a spreadsheet may take for a formula: at
/// the beginning, and after each of [`SPLITTING`], where quotes may belong to the part.
fn without_formulas(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    for part in field.split_inclusive(SPLITTING) {
        if part.trim_start_matches('"').starts_with(['=', '+', '-', '@', '\t', '\r']) {
            text.push('\'');
        }
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_are_texts() {
        let row = ["a,\"b\"", "=1+1", "-5.20", "x\ny", "-a,b", ""].map(str::to_owned);
        let text = file(["a", "b", "c", "d", "e", "f"], vec![row]);
        assert_eq!(text, "a,b,c,d,e,f\r\n\"a,\"\"b\"\"\",'=1+1,-5.20,\"x\ny\",\"'-a,b\",\r\n");
        for text in ["-inf", "+inf", "-NaN", "+1", "-1e5", "-1-1", "-", "@x", "=1", "\t=1"] {
            assert!(written(text).trim_start_matches('"').starts_with('\''), "{text}");
        }
        for number in ["-1", "-5.20", "0", "9223372036854775807"] {
            assert_eq!(written(number), number);
        }
        // A spreadsheet that splits lines at `;` does not see the quotes of a later cell.
        let row = ["a;=1+1", "a;\"=1+1\"", "=1;-2;3", "a\n@b", "a\t=b", "a; b"].map(str::to_owned);
        let text = file(["a", "b", "c", "d", "e", "f"], vec![row]);
        assert_eq!(
            text,
            "a,b,c,d,e,f\r\n\"a;'=1+1\",\"a;'\"\"=1+1\"\"\",\"'=1;'-2;3\",\"a\n'@b\",\
             \"a\t'=b\",\"a; b\"\r\n"
        );
    }
}
