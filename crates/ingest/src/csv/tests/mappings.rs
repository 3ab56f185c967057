//! Mappings that are refused, and the explanation in each refusal.

use proptest::prelude::*;

use super::*;

fn faults(text: &str) -> Vec<String> {
    match Mapping::parse(text) {
        Ok(_) => panic!("a mapping: {text}"),
        Err(faults) => faults,
    }
}

/// The only fault of a mapping that was right before `line` was added to a section.
fn fault_of(section: &str, line: &str) -> String {
    let text = format!("{KEYED}\n[create.device]\ngroup = \"g\"\n");
    let header = format!("[{section}]\n");
    let text = if text.contains(&header) {
        text.replace(&header, &format!("{header}{line}\n"))
    } else {
        format!("{text}\n{header}{line}\n")
    };
    let faults = faults(&text);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults[0].clone()
}

fn check(section: &str, line: &str, want: &str) {
    let fault = fault_of(section, line);
    assert!(fault.starts_with(want), "[{section}] {line}\n{fault}");
}

#[test]
fn an_empty_mapping_lists_every_required_key() {
    assert_eq!(
        faults(""),
        [
            "amount.unit: needed: \"major\" when 3.50 is three dollars fifty, \
             \"minor\" when 350 is",
            "order.currency: needed, such as currency = \"USD\", or \"{Column}\"",
            "order.orderId: needed, such as orderId = \"{Column}\": a text that identifies \
             the order",
            "order.deviceCode: needed, such as deviceCode = \"{Column}\", or one machine's code",
            "order.totalAmount: needed, such as totalAmount = \"{Column}\", or \"{#sum}\" of the \
             lines",
            "order.tradeStartTime: needed, such as tradeStartTime = \"{Column}\"",
        ]
    );
}

#[test]
fn a_fault_names_its_key_and_what_was_expected() {
    for (section, line, want) in [
        (
            "report",
            "delimiter = \"ab\"",
            "report.delimiter: expected one ASCII character, got \"ab\"",
        ),
        ("report", "quote = \",\"", "report.quote: expected another character than the delimiter"),
        ("report", "header = true", "report.header: unknown key; known here are delimiter, quote"),
        ("report", "trim = 1", "report.trim: expected true or false, got 1"),
        ("report", "lines_above_header = -1", "report.lines_above_header: expected a number of"),
        ("report", "columns = []", "report.columns: expected a text or a list, got []"),
        ("time", "format = \"%H:%M\"", "time.format: \"%H:%M\" gives no date: year, month and day"),
        ("time", "format = \"%F %Q\"", "time.format: \"%F %Q\" has the unknown field %Q"),
        ("time", "zone = \"Mars\"", "time.zone: \"Mars\" is not a time zone"),
        ("amount", "decimal = \"\"", "amount.decimal: expected one character, got \"\""),
        ("amount", "thousands = \".\"", "amount.thousands: expected another character than"),
        ("amount", "thousands = \"0\"", "amount.thousands: expected neither a digit nor a minus"),
    ] {
        check(section, line, want);
    }
}

#[test]
fn a_fault_in_a_field_shows_the_notation() {
    for (section, line, want) in [
        ("order", "tradeno = \"{No}\"", "order.tradeno: unknown key; known here are key, currency"),
        (
            "order",
            "tradeNo = \"{No\"",
            "order.tradeNo: \"{No\" has a brace without its counterpart",
        ),
        ("order", "tradeNo = \"{}\"", "order.tradeNo: \"{}\" has {} without a column's name"),
        ("order", "tradeNo = \"{#sum}\"", "order.tradeNo: \"{#sum}\" has {#sum}, which is a whole"),
        (
            "order",
            "tradeNo = 1.5",
            "order.tradeNo: expected \"{Column}\", a list of such, or a table",
        ),
        ("order", "tradeNo = [\"a\", \"{B}\"]", "order.tradeNo: nothing after a constant"),
        ("order", "tradeNo = \"{#row}\"", "order.tradeNo: {#row} differs between the rows"),
        (
            "order",
            "tradeNo = { map = {} }",
            "order.tradeNo: expected either from = \"{Column}\" or",
        ),
        (
            "order",
            "tradeNo = { from = \"{A}\", zone = \"UTC\" }",
            "order.tradeNo.zone: unknown key",
        ),
        (
            "order",
            "tradeNo = { from = \"{A}\", map = { a = [] } }",
            "order.tradeNo.map.a: expected",
        ),
        ("order", "orderId = \"No\"", "order.orderId: is the same for each order; a column is"),
        (
            "order",
            "payAmount = \"Paid\"",
            "order.payAmount: \"Paid\" is not a decimal number; a column",
        ),
        ("order", "payEndTime = \"Paid\"", "order.payEndTime: \"Paid\" is not a time"),
        (
            "order",
            "payStatus = { from = \"{A}\", map = { x = \"payed\" } }",
            "order.payStatus: \"payed\" is not a status; known are unpaid, paid, cancelled, \
             refunding",
        ),
        ("create.device", "nam = \"x\"", "create.device.nam: unknown key; known here are group"),
        (
            "create.product",
            "price = \"1\"",
            "create.product.price: unknown key; known here are name",
        ),
        ("create.products", "", "create.products: unknown key; known here are device, product"),
        ("lines", "", "lines: unknown key; known here are report, time, amount, order, line"),
    ] {
        check(section, line, want);
    }
}

#[test]
fn a_nul_in_a_text_of_the_mapping_is_a_fault() {
    for (section, line, want) in [
        (
            "create.device",
            "name = \"a\\u0000{Machine}\"",
            "create.device.name: \"a\\0{Machine}\" has a NUL character",
        ),
        (
            "create.device",
            "model = { constant = \"a\\u0000\" }",
            "create.device.model: \"a\\0\" has a NUL character",
        ),
        (
            "create.device",
            "address = { from = \"{A}\", map = { x = \"\\u0000\" } }",
            "create.device.address: \"\\0\" has a NUL character",
        ),
    ] {
        check(section, line, want);
    }
}

#[test]
fn keys_groups_sums_and_filters_are_checked_too() {
    for (from, to, want) in [
        (
            "key = \"No\"",
            "key = \"{No}\"",
            "order.key: names columns as they are: write \"No\", not",
        ),
        ("key = \"No\"", "key = [\"A\", \"B\"]", "order.orderId: needed, such as"),
        (
            "\"USD\"",
            "\"ZZZ\"",
            "order.currency: ZZZ is not an ISO 4217 code; a column is taken with",
        ),
        ("\"major\"", "\"cents\"", "amount.unit: needed: \"major\" when"),
        ("salePrice = \"{Price}\"", "", "order.totalAmount: {#sum} needs line.payAmount, or"),
        ("goodsId = \"{Goods}\"", "", "line.goodsId: needed, such as goodsId = \"{Column}\""),
        ("[line]", "[create.device]\n[line]", "create.device.group: needed: the id of the group"),
        (
            "[line]",
            "[create.device]\ngroup = \" \"\n[line]",
            "create.device.group: must not be blank",
        ),
        ("[line]", "[[skip]]\nequals = \"x\"\n[line]", "skip 1.column: needed: the name of"),
        ("[line]", "[[skip]]\ncolumn = \"A\"\n[line]", "skip 1.column: expected one test with it"),
        (
            "[line]",
            "[[skip]]\ncolumn = \"A\"\nin = [\"x\"]\nempty = true\n[line]",
            "skip 1.column: expected one test with it: equals, in, not_in, empty",
        ),
        ("[line]", "[skip]\n[line]", "skip: expected [[skip]] tables, in double brackets"),
    ] {
        let faults = faults(&KEYED.replace(from, to));
        assert_eq!(faults.len(), 1, "{faults:#?}");
        assert!(faults[0].starts_with(want), "{faults:#?}");
    }
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    let faults = faults("[order]\norderId = {Id}\n");
    assert_eq!(faults.len(), 1);
    assert!(faults[0].contains("line 2"), "{faults:?}");
}

#[test]
fn sections_of_the_wrong_type_are_named() {
    let faults = faults("report = 1\norder = \"x\"\nline = []\ncreate = true\nskip = 1");
    for path in ["report", "order", "line", "create"] {
        let want = format!("{path}: expected a table, [{path}]");
        assert!(faults.contains(&want), "{want} in {faults:#?}");
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
