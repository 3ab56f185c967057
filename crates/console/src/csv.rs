//! CSV by RFC 4180, for the downloads of pages.

/// Returns a file of these columns and rows.
pub(crate) fn file<const N: usize>(
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut text = String::new();
    line(&mut text, columns.iter().copied());
    for row in rows {
        line(&mut text, row.iter().map(String::as_str));
    }
    text
}

/// Returns a last row that says, in its first column, that there are more rows than these.
pub(crate) fn note<const N: usize>(text: &str) -> [String; N] {
    std::array::from_fn(|column| if column == 0 { text.to_owned() } else { String::new() })
}

fn line<'a>(text: &mut String, fields: impl Iterator<Item = &'a str>) {
    for (at, field) in fields.enumerate() {
        if at > 0 {
            text.push(',');
        }
        put(text, field);
    }
    text.push_str("\r\n");
}

/// Characters at which spreadsheets may begin another cell, depending on their language; they see
/// no quotes inside of a cell.
const SPLITTING: [char; 4] = [';', '\t', '\n', '\r'];

/// Appends a field. Spreadsheets evaluate texts that begin like a formula: those get an apostrophe.
fn put(text: &mut String, field: &str) {
    let is_number = field.parse::<f64>().is_ok();
    let field = if is_number { field.to_owned() } else { without_formulas(field) };
    if field.contains(['"', ',']) || field.contains(SPLITTING) {
        text.push_str(&format!("\"{}\"", field.replace('"', "\"\"")));
    } else {
        text.push_str(&field);
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

/// Returns an amount of cents as a plain decimal number of dollars.
pub(crate) fn dollars(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_are_texts() {
        let row = ["a,\"b\"", "=1+1", "-5.20", "x\ny", "-a,b", ""].map(str::to_owned);
        let text = file(["a", "b", "c", "d", "e", "f"], [row]);
        assert_eq!(text, "a,b,c,d,e,f\r\n\"a,\"\"b\"\"\",'=1+1,-5.20,\"x\ny\",\"'-a,b\",\r\n");
        // A spreadsheet that splits lines at `;` does not see the quotes of a later cell.
        let row = ["a;=1+1", "a;\"=1+1\"", "=1;-2;3", "a\n@b", "a\t=b", "a; b"].map(str::to_owned);
        let text = file(["a", "b", "c", "d", "e", "f"], [row]);
        assert_eq!(
            text,
            "a,b,c,d,e,f\r\n\"a;'=1+1\",\"a;'\"\"=1+1\"\"\",\"'=1;'-2;3\",\"a\n'@b\",\
             \"a\t'=b\",\"a; b\"\r\n"
        );
        assert_eq!([dollars(-5), dollars(123_456)], ["-0.05", "1234.56"]);
    }
}
