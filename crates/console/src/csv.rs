//! CSV by RFC 4180, for the downloads of pages.

/// Returns a file of these columns and rows.
pub(crate) fn file<const N: usize>(
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut text = line(&columns);
    for row in rows {
        text.push_str(&line(&row));
    }
    text
}

/// Returns a last row that says, in its first column, that there are more rows than these.
pub(crate) fn note<const N: usize>(text: &str) -> [String; N] {
    std::array::from_fn(|column| if column == 0 { text.to_owned() } else { String::new() })
}

/// Returns the last row of a file that has a part of a list.
pub(crate) fn more_rows<const N: usize>() -> [String; N] {
    note("The list has more rows than this file.")
}

fn line(fields: &[impl AsRef<str>]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| written(field.as_ref())).collect();
    fields.join(",") + "\r\n"
}

/// Characters at which spreadsheets may begin another cell, depending on their language; they see
/// no quotes inside of a cell.
const SPLITTING: [char; 4] = [';', '\t', '\n', '\r'];

/// Returns a field as it is written. Spreadsheets evaluate texts that begin like a formula: those
/// get an apostrophe.
fn written(field: &str) -> String {
    let is_number = field.parse::<f64>().is_ok();
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
    }
}
