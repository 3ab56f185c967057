//! Every kind of invalid row: named with its line and column, and the valid rows stored.

use proptest::prelude::*;

use super::rejected::rejected_text;
use super::*;

const HEADER: &str = "Id,Machine,Total,Time\n";
const GOOD: &str = "9,m9,1,2022-01-01\n";

/// The reason for the invalid row on line 3, between two valid ones.
fn reason(row: &[u8]) -> String {
    let report = [HEADER.as_bytes(), b"8,m8,1,2022-01-01\n", row, b"\n", GOOD.as_bytes()].concat();
    let paris = Zone::named("Europe/Paris").expect("a known zone");
    let got = outcome_in(&paris, &mapping(SIMPLE), report.as_slice());
    assert_eq!(got.ids(), ["8", "9"], "{:?}", got.reasons());
    assert_eq!(got.rejected.len(), 1);
    assert_eq!(lines(&got.rejected[0].rows), [3]);
    got.rejected[0].reason.clone()
}

#[test]
fn an_invalid_row_is_reported_and_its_neighbours_are_read() {
    for (row, want) in [
        (
            b"1,m1,1.255,2022-01-01".as_slice(),
            "column Total: \"1.255\" is a fraction of a minor unit of USD",
        ),
        (b"1,m1,one,2022-01-01", "column Total: \"one\" is not a decimal number"),
        (b"1,m1,1e3,2022-01-01", "column Total: \"1e3\" is not a decimal number"),
        (b"1,m1,99999999999999,2022-01-01", "column Total: \"99999999999999\" is larger than"),
        (b"1,m1,1,2022-02-30", "column Time: \"2022-02-30\" does not exist in the calendar"),
        (b"1,m1,1,yesterday", "column Time: \"yesterday\" is not a time; give RFC 3339"),
        (b"1,m1,1,2022-03-27 02:30:00", "column Time: 2022-03-27 02:30:00 was skipped when clocks"),
        (b"1,m1,1,2022-10-30 02:30:00", "column Time: 2022-10-30 02:30:00 occurred twice when"),
        (b",m1,1,2022-01-01", "column Id: is empty, but orderId is required"),
        (b"1,m1,1", "the row has 3 cells under 4 columns"),
        (b"1,m1,1,2022-01-01,", "the row has 5 cells under 4 columns"),
        (b"1,m\xff,1,2022-01-01", "column Machine: has bytes that are not UTF-8"),
        (b"1,m\0,1,2022-01-01", "column Machine: has a NUL character"),
        (b"1,\"m\"1,1,2022-01-01", "the row has a quoted cell with text after its closing quote"),
        (
            b"1,\"m\n1\",1",
            "the row has 3 cells under 4 columns, and runs to line 4; is a quote left",
        ),
        (
            b"1,m1,x,y",
            "column Total: \"x\" is not a decimal number; column Time: \"y\" is not a time",
        ),
        (b"8,m8,2,2022-01-02", "line 2 already has an order with this orderId for the same device"),
    ] {
        let reason = reason(row);
        let row = String::from_utf8_lossy(row);
        assert!(reason.starts_with(&format!("line 3: {want}")), "{row}\n{reason}");
    }
}

#[test]
fn a_character_split_by_a_delimiter_is_not_text() {
    assert!(reason(b"1,m\xc3,\xa9,2022-01-01").contains("column Machine: has bytes"));
}

#[test]
fn a_row_of_ten_megabytes_is_rejected_in_bounded_memory() {
    let long = "x".repeat(10 << 20);
    let commas = ",".repeat(3 << 20);
    for row in [format!("1,{long},1,2022-01-01"), commas, format!("1,\"{long}\",1,2022-01-01")] {
        assert_eq!(reason(row.as_bytes()), "line 3: the row is longer than 1048576 bytes");
    }
}

#[test]
fn a_row_may_have_as_many_bytes_as_the_limit_and_no_more() {
    let rest = "1,,1,2022-01-01\n".len();
    for (extra, orders) in [(0, 1), (1, 0)] {
        let machine = "m".repeat(ROW_MAX_BYTES - rest + extra);
        // Line ends before the row do not count.
        let got = outcome(SIMPLE, format!("{HEADER}\r\n\r\n1,{machine},1,2022-01-01\n"));
        assert_eq!(got.orders.len(), orders, "{:?}", got.reasons());
    }
}

#[test]
fn an_open_quote_is_reported_and_drops_no_rows_silently() {
    // To the end of the file; and to a quote of another row, where the cells would add up.
    for (tail, want) in [
        ("2,\"m2,1,2022-01-01\n3,m3,1,2022-01-01\n", "has a quoted cell that is never closed"),
        ("2,m2,1,\"2022-01-01\n3,m3,1,2022-01-01\n", "has a quoted cell that is never closed"),
        ("2,\"m2,1,2022-01-01\n3,\"m3\",1,2022-01-01\n", "with text after its closing quote"),
    ] {
        let got = outcome(SIMPLE, format!("{HEADER}1,m1,1,2022-01-01\n{tail}"));
        assert_eq!(got.ids(), ["1"]);
        let reason = got.reasons()[0];
        assert!(
            reason.contains(want) && reason.ends_with("to line 4; is a quote left open?"),
            "{reason}"
        );
    }
}

#[test]
fn one_bad_row_rejects_its_whole_order_and_no_other() {
    let report = "No,Time,Goods,Price\n\
        1,2022-01-01,a,1\n\
        1,2022-01-01,b,1.001\n\
        1,2022-01-01\n\
        2,2022-01-01,c,1\n\
        ,2022-01-01,d,1\n";
    let got = outcome(KEYED, report);
    assert_eq!(got.ids(), ["2"]);
    assert_eq!(
        got.reasons(),
        [
            "line 6: column No is empty; the row may belong to any order, so correct it in the \
             report, and import the report again",
            "line 4: the row may belong to any order, so correct it in the report, and import the \
             report again; line 3: column Price: \"1.001\" is a fraction of a minor unit of USD; \
             line 4: the row has 2 cells under 4 columns",
        ]
    );
    assert_eq!(lines(&got.rejected[1].rows), [2, 3, 4]);
    let cells: Vec<_> = got.rejected[1].rows[2].cells().collect();
    assert_eq!(cells, [&b"1"[..], b"2022-01-01"]);
}

#[test]
fn rows_of_one_order_must_not_contradict_each_other() {
    let report = "No,Time,Goods,Price\n\
        1,2022-01-01,a,1\n\
        2,2022-01-01,a,1\n\
        1,2022-01-02,b,1\n\
        2,2022-01-01 00:00:00,b,1\n";
    let got = outcome(KEYED, report);
    // The same time in another form is no contradiction.
    assert_eq!(got.ids(), ["2"]);
    assert_eq!(
        got.reasons(),
        ["lines 2 and 4: column Time: \"2022-01-01\" and \"2022-01-02\" cannot both be the \
          tradeStartTime of one order"]
    );
}

#[test]
fn card_and_phone_numbers_are_masked_in_every_report_of_a_row() {
    let text = KEYED.replace("[line]", "cardNumber = \"{Card}\"\nphone = \"{Tel}\"\n[line]");
    let report = "No,Time,Goods,Price,Card,Tel\n\
        1,2022-01-01,a,1,4111222233334444,+43 660 1234567\n\
        1,2022-01-01,a,1,4999222233334444,+43 660 1234567\n\
        2,2022-01-01,a,1,4111222233334444\n\
        3,2022-01-01,a,\"1\"4111222233334444,+43 660 1234567,x,y\n\
        4,4111222233334444,a,1,4111222233334444,x\n";
    let got = outcome(&text, report);
    assert_eq!(got.rejected.len(), 4);
    assert!(got.reasons()[0].contains("\"************4444\" and \"************4444\""));
    let file = rejected_text(&text, report);
    let rows: Vec<&str> = file.lines().skip(1).collect();
    assert!(rows[0].contains(",************4444,+** *** ***4567,"), "{file}");
    for reported in got.reasons()[..3].iter().chain(&rows[..4]) {
        assert!(!reported.contains("22223333") && !reported.contains("660"), "{reported}");
    }
}

#[test]
fn two_machines_may_give_the_same_id() {
    let report = format!("{HEADER}1,m1,1,2022-01-01\n1,m2,1,2022-01-01\n");
    assert_eq!(outcome(SIMPLE, report).orders.len(), 2);
}

#[test]
fn all_missing_columns_are_reported_with_suggestions() {
    assert_eq!(
        refused(SIMPLE, "id,Total,Total\n1,1,1\n"),
        [
            "the report has no column \"Id\" (needed by order.orderId); is it \"id\"?",
            "the report has no column \"Machine\" (needed by order.deviceCode)",
            "the report has two columns \"Total\" (needed by order.totalAmount)",
            "the report has no column \"Time\" (needed by order.tradeStartTime)",
            "the report's columns are \"id\", \"Total\", \"Total\"",
        ]
    );
    let errors = refused(SIMPLE, "Id;Machine;Total;Time\n");
    assert!(errors.last().expect("one").ends_with("should report.delimiter be ';'?"), "{errors:?}");
}

#[test]
fn a_header_that_is_not_text_is_reported() {
    assert_eq!(refused(SIMPLE, b"\xff\xfeI\0d\0"), ["the report is UTF-16; save it as UTF-8"]);
    assert!(
        refused(SIMPLE, b"I\xe9d,x\n")[0].starts_with("line 1: the header has bytes that are not")
    );
    assert!(refused(SIMPLE, "x".repeat(2 << 20))[0].starts_with("line 1: the header is longer"));
    assert!(refused(SIMPLE, "\"Id")[0].starts_with("line 1: the header has a quoted cell that is"));
}

#[test]
fn a_constant_that_is_a_columns_name_is_refused_with_a_hint() {
    let report = "Id,Total,Time,Kind\n1,1,2022-01-01,x\n";
    let text = SIMPLE.replace("\"{Machine}\"", "\"Kind\"");
    assert_eq!(
        refused(&text, report),
        ["order.deviceCode: \"Kind\" is a text here, but the report has a column of that name; \
          write \"{Kind}\" for the column or { constant = \"Kind\" } for the text"]
    );
    let text = SIMPLE.replace("\"{Machine}\"", "{ constant = \"Kind\" }");
    assert_eq!(outcome(&text, report).only()["deviceCode"], "Kind");
}

#[test]
fn past_a_limit_no_order_is_incomplete() {
    let within = |text: &str, report: &str, limits: Limits| {
        let (mapping, zone) = (mapping(text), Zone::utc());
        let mut reading = read(report.as_bytes(), &mapping, &zone).expect("a header");
        reading.limits = limits;
        reading.map(|item| item.map(|_| ()).map_err(|rows| rows.reason)).collect::<Vec<_>>()
    };
    let rows = Limits { rows: 2, grouped_bytes: 1 << 20 };
    let plain =
        format!("{HEADER}1,m,1,2022-01-01\n2,m,1,2022-01-01\n3,m,1,2022-01-01\n4,m,1,2022-01-01\n");
    assert_eq!(
        within(SIMPLE, &plain, rows),
        [
            Ok(()),
            Ok(()),
            Err("line 4: is more than the 2 rows of one report: no row from here on is imported; \
                 the rows before are"
                .to_owned())
        ]
    );
    let keyed = "No,Time,Goods,Price\n1,2022-01-01,a,1\n1,2022-01-01,a,1\n1,2022-01-01,a,1\n";
    let split =
        "no row of the report is imported; split it, keeping the rows of each order together";
    assert_eq!(
        within(KEYED, keyed, rows),
        [Err(format!("line 4: is more than the 2 rows of one report: {split}"))]
    );
    let held = Limits { rows: 9, grouped_bytes: 10 };
    assert_eq!(
        within(KEYED, keyed, held),
        [Err(format!(
            "line 2: exceeds the 10 bytes of rows that are grouped by order in memory: {split}"
        ))]
    );
}

#[test]
fn an_input_that_breaks_off_ends_the_report_with_a_reason() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let start = format!("{HEADER}1,m1,1,2022-01-01\n");
    let got = outcome_in(&Zone::utc(), &mapping(SIMPLE), start.as_bytes().chain(Broken));
    assert_eq!(got.ids(), ["1"]);
    assert_eq!(
        got.reasons(),
        ["line 3: cannot be read: the disk is gone: no row from here on is imported; \
             the rows before are"]
    );
    assert!(read(Broken, &mapping(SIMPLE), &Zone::utc()).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_reading_panic_and_each_row_is_reported_once(
        report in proptest::collection::vec(
            prop_oneof![Just(b','), Just(b'"'), Just(b'\n'), Just(b'\r'), Just(b'1'), any::<u8>()],
            0..300,
        ),
        keyed in any::<bool>(),
    ) {
        let (text, header) =
            if keyed { (KEYED, "No,Time,Goods,Price\n") } else { (SIMPLE, HEADER) };
        let got = outcome(text, [header.as_bytes(), &report].concat());
        let orders = got.orders.iter().map(|order| &order.lines);
        let orders = orders.flatten().copied();
        let rejected = got.rejected.iter().flat_map(|rejected| lines(&rejected.rows));
        let mut lines: Vec<u64> = orders.chain(rejected).collect();
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        prop_assert_eq!(lines.len(), all);
        prop_assert_eq!(lines.len() as u64, got.rows);
    }

    #[test]
    fn written_csv_is_read_back(
        ids in proptest::collection::vec("[ -~é\r\n]{1,12}", 1..8),
    ) {
        let mut report = ::csv::Writer::from_writer(Vec::new());
        report.write_record(["Id", "Machine", "Total", "Time"]).expect("memory");
        for (number, id) in ids.iter().enumerate() {
            let machine = format!("m{number}");
            report.write_record([id, &machine, "1", "2022-01-01"]).expect("memory");
        }
        let got = outcome(SIMPLE, report.into_inner().expect("memory"));
        let want: Vec<&str> =
            ids.iter().map(String::as_str).filter(|id| !id.trim().is_empty()).collect();
        prop_assert_eq!(got.ids(), want);
    }
}
