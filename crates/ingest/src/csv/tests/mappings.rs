//! Mappings that are refused, and the explanation in each refusal.

use proptest::prelude::*;

use super::*;

fn error(text: &str) -> String {
    Mapping::parse(text).err().unwrap_or_else(|| panic!("a mapping: {text}"))
}

/// The error of a mapping that was right before `line` was added to a section, without its
/// position.
fn error_of(section: &str, line: &str) -> String {
    let text = format!("{KEYED}\n[create.device]\ngroup = \"g\"\n");
    let header = format!("[{section}]\n");
    let text = if text.contains(&header) {
        text.replace(&header, &format!("{header}{line}\n"))
    } else {
        format!("{text}\n{header}{line}\n")
    };
    without_position(&error(&text)).to_owned()
}

fn without_position(error: &str) -> &str {
    let (position, text) = error.split_once(": ").expect("a position");
    assert!(position.starts_with("line ") && position.contains(", column "), "{error}");
    text
}

/// Cases of two lines each: what is tried, and below it, indented, what is expected.
fn cases(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines.chunks(2).map(|case| (case[0], case[1].trim_start())).collect::<Vec<_>>().into_iter()
}

/// In each case, a line in its section, and the beginning of its error.
fn check_cases(text: &str) {
    for (case, want) in cases(text) {
        let (section, line) = case.strip_prefix('[').unwrap().split_once(']').unwrap();
        let error = error_of(section, line);
        assert!(error.starts_with(want), "{case}\n{error}");
    }
}

#[test]
fn each_required_key_is_asked_for() {
    for (key, want) in cases(
        r#"
unit
    amount: needed: unit = "major" when 3.50 is three dollars fifty, "minor" when 350 is
currency
    order.currency: needed, such as currency = "USD", or "{Column}"
orderId
    order.orderId: needed, such as orderId = "{Column}": a text that identifies the order
deviceCode
    order.deviceCode: needed, such as deviceCode = "{Column}", or one machine's code
totalAmount
    order.totalAmount: needed, such as totalAmount = "{Column}", or "{#sum}" of the lines
tradeStartTime
    order.tradeStartTime: needed, such as tradeStartTime = "{Column}"
"#,
    ) {
        let lines = SIMPLE.lines().filter(|line| !line.starts_with(&format!("{key} =")));
        let text: Vec<&str> = lines.collect();
        assert_eq!(without_position(&error(&text.join("\n"))), want);
    }
    assert!(error("").starts_with("line 1, column 1: amount: needed"));
    assert!(error("[amount]\nunit = \"major\"").contains("order.currency: needed"));
}

#[test]
fn an_error_has_its_line_and_column() {
    for (text, want) in [
        ("[order]\norderId = {Id}\n", "line 2, column 14: "),
        (
            "report = { columns = [\"ü\"], trim = 1 }",
            "line 1, column 36: report.trim: invalid type",
        ),
        ("[report]\n\n  trim = 1\n", "line 3, column 10: report.trim: invalid type"),
        ("[report]\r\n# é\r\nheader = 1\r\n", "line 3, column 1: report.header: unknown field"),
        ("[time]\nformat = [\"%F\", \"%H\"]", "line 2, column 10: time.format: \"%H\" has"),
    ] {
        assert!(error(text).starts_with(want), "{}", error(text));
    }
    let text = KEYED.replace("[line]", "tradeNo = \"{No\"\n[line]");
    let error = error(&text);
    assert!(
        error.starts_with("line 12, column 11: order.tradeNo: \"{No\" has an unmatched brace"),
        "{error}"
    );
}

#[test]
fn an_error_names_its_key_and_what_was_expected() {
    check_cases(
        r#"
[report] delimiter = "ab"
    report.delimiter: expected one ASCII character, got "ab"
[report] quote = ","
    report: quote and delimiter are the same character
[report] header = true
    report.header: unknown field `header`, expected one of `delimiter`, `quote`
[report] trim = 1
    report.trim: invalid type: integer `1`, expected a boolean
[report] lines_above_header = -1
    report.lines_above_header: invalid value: integer `-1`, expected a number
[report] columns = []
    report.columns: expected a string or a list of strings, got an empty list
[time] format = "%H:%M"
    time.format: "%H:%M" has no date: year, month and day
[time] format = "%F %Q"
    time.format: "%F %Q" has the unknown field %Q
[time] zone = "Mars"
    time.zone: "Mars" is not a time zone
[amount] decimal = ""
    amount.decimal: invalid value: string "", expected a character
[amount] thousands = "."
    amount: decimal and thousands are the same character
[amount] thousands = "0"
    amount: decimal and thousands are neither digits nor a minus
"#,
    );
    let error = error_of("report", "quote = \"\"\ndelimiter = \" \"");
    let want = "report: ' ' cannot be the delimiter without a quote: files of rejected rows have \
                the column \"kiosque: reason\"; leave out quote = \"\"";
    assert!(error.starts_with(want), "{error}");
}

#[test]
fn an_error_in_a_field_shows_the_notation() {
    check_cases(
        r#"
[order] tradeno = "{No}"
    order.tradeno: unknown key; known here are key, currency
[order] tradeNo = "{No"
    order.tradeNo: "{No" has an unmatched brace
[order] tradeNo = "{}"
    order.tradeNo: "{}" has {} without a column name
[order] tradeNo = "{#sum}"
    order.tradeNo: "{#sum}" has {#sum}, which must be the whole
[order] tradeNo = 1.5
    order.tradeNo: expected "{Column}", a list of such, or a table
[order] tradeNo = ["a", "{B}"]
    order.tradeNo: nothing after a constant
[order] tradeNo = "{#row}"
    order.tradeNo: {#row} differs between the rows
[order] tradeNo = { map = {} }
    order.tradeNo: expected either from = "{Column}" or
[order] tradeNo = { from = "{A}", zone = "UTC" }
    order.tradeNo: only times have a format and a zone
[order] tradeNo = { from = "{A}", map = { a = [] } }
    order.tradeNo: expected a string or a whole number
[order] orderId = "No"
    order.orderId: is the same for each order; for a column, write
[order] payAmount = "Paid"
    order.payAmount: "Paid" is not a decimal number; for a column
[order] payEndTime = "Paid"
    order.payEndTime: "Paid" is not a time
[order] payStatus = { from = "{A}", map = { x = "payed" } }
    order.payStatus: "payed" is not a status; known are unpaid, paid, cancelled, refunding
[create.device] nam = "x"
    create.device.nam: unknown field `nam`, expected one of `group`
[create.product] price = "1"
    create.product.price: unknown field `price`, expected one of `name`
[create.products]
    create.products: unknown field `products`, expected `device` or `product`
[lines]
    lines: unknown field `lines`, expected one of `report`, `time`, `amount`
"#,
    );
}

#[test]
fn a_nul_in_a_text_of_the_mapping_is_a_error() {
    check_cases(
        r#"
[create.device] name = "a\u0000{Machine}"
    create.device.name: "a\0{Machine}" has a NUL character
[create.device] model = { constant = "a\u0000" }
    create.device.model: "a\0" has a NUL character
[create.device] address = { from = "{A}", map = { x = "\u0000" } }
    create.device.address: "\0" has a NUL character
"#,
    );
}

#[test]
fn keys_groups_sums_and_filters_are_checked_too() {
    for (from, to, want) in [
        (
            "key = \"No\"",
            "key = \"{No}\"",
            "order.key: takes column names without braces: write \"No\", not",
        ),
        ("key = \"No\"", "key = [\"A\", \"B\"]", "order.orderId: needed, such as"),
        ("\"USD\"", "\"ZZZ\"", "order.currency: ZZZ is not an ISO 4217 code; for a column, write"),
        ("\"major\"", "\"cents\"", "amount.unit: needed: unit = \"major\" when"),
        ("salePrice = \"{Price}\"", "", "order.totalAmount: {#sum} needs line.payAmount, or"),
        (
            "[line]",
            "[line]\nunless_empty = [\"A\", \"B\"]",
            "line.unless_empty: expected one column",
        ),
        ("goodsId = \"{Goods}\"", "", "line.goodsId: needed, such as goodsId = \"{Column}\""),
        ("[line]", "[create.device]\n[line]", "create.device: missing field `group`"),
        (
            "[line]",
            "[create.device]\ngroup = \" \"\n[line]",
            "create.device.group: must not be blank",
        ),
        ("[line]", "[[skip]]\nequals = \"x\"\n[line]", "skip[0]: missing field `column`"),
        ("[line]", "[[skip]]\ncolumn = \"A\"\n[line]", "skip 1.column: expected exactly one of"),
        (
            "[line]",
            "[[skip]]\ncolumn = \"A\"\nin = [\"x\"]\nempty = true\n[line]",
            "skip 1.column: expected exactly one of equals, in, not_in, empty",
        ),
        ("[line]", "[skip]\n[line]", "skip: invalid type: map, expected a sequence"),
    ] {
        let error = error(&KEYED.replace(from, to));
        assert!(without_position(&error).starts_with(want), "{error}");
    }
}

#[test]
fn sections_of_the_wrong_type_are_named() {
    for section in ["report", "time", "amount", "order", "line", "skip", "create"] {
        let error = error(&format!("{section} = 1"));
        let want = format!("{section}: invalid type: integer `1`, expected a ");
        assert!(without_position(&error).starts_with(&want), "{error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_parsing_panic(text in "\\PC{0,200}") {
        let _ = Mapping::parse(&text);
    }

    #[test]
    fn no_change_to_a_mapping_makes_parsing_panic(at in 0..KEYED.len(), with in "\\PC{0,6}") {
        if KEYED.is_char_boundary(at) {
            let _ = Mapping::parse(&format!("{}{with}{}", &KEYED[..at], &KEYED[at..]));
        }
    }
}
