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

/// Appends a field. Spreadsheets evaluate texts that begin like a formula: those get an apostrophe.
fn put(text: &mut String, field: &str) {
    let is_number = field.parse::<f64>().is_ok();
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number;
    let mark = if is_formula { "'" } else { "" };
    if field.contains(['"', ',', '\n', '\r']) {
        text.push_str(&format!("\"{mark}{}\"", field.replace('"', "\"\"")));
    } else {
        text.push_str(mark);
        text.push_str(field);
    }
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
        assert_eq!([dollars(-5), dollars(123_456)], ["-0.05", "1234.56"]);
    }
}
