//! Files of rejected rows are read again through the mapping of their report.

use super::*;

/// Returns the rejected rows of a report as a file.
fn rejected_file(text: &str, report: &[u8]) -> Vec<u8> {
    let (mapping, zone) = (mapping(text), Zone::utc());
    let mut reading = read(report, &mapping, &zone).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let rows = reading.rows_of_orders().expect("a header");
    let mut file = reading.bound.as_ref().expect("a header").header.header_of_rejected();
    for RejectedRows { rows: of_order, reason } in reading.by_ref().filter_map(Result::err) {
        file.extend(rows.rejected(&of_order, None, &reason).file_lines());
    }
    file
}

pub(super) fn rejected_text(text: &str, report: &str) -> String {
    String::from_utf8(rejected_file(text, report.as_bytes())).expect("UTF-8")
}

#[test]
fn rejected_rows_have_the_columns_of_the_report_and_the_reason() {
    let report = "Id,Machine,Total,Time\n\
        1,m1,1,2022-01-01\n\
        2,\"m, \"\"2\"\"\",1.255,2022-01-01\n\
        3,m3,1\n";
    let file = rejected_text(SIMPLE, report);
    assert_eq!(
        file,
        "Id,Machine,Total,Time,kiosque: reason\n\
         2,\"m, \"\"2\"\"\",1.255,2022-01-01,\"line 3: column Total: \"\"1.255\"\" is a fraction \
         of a minor unit of USD\"\n\
         3,m3,1,line 4: the row has 3 cells under 4 columns\n"
    );
    // Unchanged, the rows are rejected again; corrected, they are read.
    let again = outcome(SIMPLE, &file);
    assert_eq!((again.orders.len(), again.rejected.len()), (0, 2), "{:?}", again.reasons());
    let twice = rejected_text(SIMPLE, &file);
    assert_eq!(twice.lines().next(), file.lines().next());
    let corrected = file.replace("1.255", "1.25").replace("3,m3,1,", "3,m3,1,2022-01-01,");
    assert_eq!(outcome(SIMPLE, corrected).ids(), ["2", "3"]);
}

#[test]
fn row_numbers_are_those_of_the_report() {
    let text = SIMPLE.replace("\"{Id}\"", "\"r{#row}\"");
    let report =
        "Machine,Total,Time\nm,1,2022-01-01\nm,x,2022-01-01\nm,1,2022-01-01\nm,y,2022-01-01\n";
    let file = rejected_text(&text, report);
    assert!(file.starts_with("Machine,Total,Time,kiosque: row,kiosque: reason\nm,x,2022-01-01,2,"));
    let corrected = file.replace(",x,", ",7,").replace(",y,", ",8,");
    assert_eq!(outcome(&text, &corrected).ids(), ["r2", "r4"]);
    let damaged = corrected.replace(",7,2022-01-01,2,", ",7,2022-01-01,,");
    let got = outcome(&text, damaged);
    assert_eq!(got.ids(), ["r4"]);
    assert_eq!(
        got.reasons(),
        ["line 2: column kiosque: row: \"\" is not the number of a row in the report"]
    );
}

/// A row without the cells of its columns keeps its number, too, and gets no second one.
#[test]
fn a_row_with_another_number_of_cells_keeps_its_number() {
    let text = SIMPLE.replace("\"{Id}\"", "\"r{#row}\"");
    let report = "Machine,Total,Time\nm,1,2022-01-01\nm,4,00,2022-01-01\nm,1\n";
    let mut file = rejected_text(&text, report);
    for line in ["line 3", "line 2"] {
        let rows: Vec<&str> = file.lines().skip(1).collect();
        assert!(
            rows[0].starts_with(&format!("m,4,00,2022-01-01,2,{line}: the row has ")),
            "{file}"
        );
        assert!(rows[1].starts_with("m,1,3,line "), "{file}");
        file = rejected_text(&text, &file);
    }
    let corrected = file.replace(",4,00,", ",4.00,").replace("\nm,1,3,", "\nm,1,2022-01-01,3,");
    assert_eq!(outcome(&text, corrected).ids(), ["r2", "r3"]);
}

/// The other order with the id was stored by the import of the report: the rejected one would
/// replace it.
#[test]
fn an_order_with_the_id_of_another_stays_rejected() {
    let report = "Id,Machine,Total,Time\n1,m1,1,2022-01-01\n1,m1,2,2022-01-02\n";
    let mut file = rejected_text(SIMPLE, report);
    for other in ["line 2", "another line of the report"] {
        let repeated = format!(
            "{other} already has an order with this orderId for the same device (\"1\" of \"m1\");"
        );
        assert!(file.replace("\"\"", "\"").contains(&repeated), "{file}");
        assert_eq!(outcome(SIMPLE, &file).ids(), [""; 0]);
        file = rejected_text(SIMPLE, &file);
    }
    for (from, to) in [("\n1,m1,", "\n2,m1,"), ("\n1,m1,", "\n1,m2,")] {
        assert_eq!(outcome(SIMPLE, file.replace(from, to)).orders.len(), 1, "{to}");
    }
    // The digits of a long id or code are masked in the reason.
    for (id, device) in [("202603020001", "m1"), ("1", "867530012345678"), ("2026-03-02-0001", "m")]
    {
        let row = format!("{id},{device},1,2022-01-01\n");
        let file = rejected_text(SIMPLE, &format!("Id,Machine,Total,Time\n{row}{row}"));
        assert_eq!((outcome(SIMPLE, &file).ids(), file.lines().count()), (vec![], 2), "{file}");
    }
}

/// The order to which a row without a key, or with cells under other columns, belongs may be stored
/// without it. Corrected alone, the row would replace that order.
#[test]
fn a_row_that_may_belong_to_any_order_is_not_imported_alone() {
    let row = |place: &str, price: &str, no: &str| format!("2022-01-01,{place},{price},{no}\n");
    let [comma, unkeyed] = [row("Ely, High St", "2.5", "1"), row("a", "3", "")];
    let header = "Time,Goods,Price,No\n";
    let report = header.to_owned() + &row("a", "1", "1") + &comma + &row("a", "1", "2") + &unkeyed;
    assert_eq!(outcome(KEYED, &report).ids(), ["1", "2"]);
    let file = rejected_text(KEYED, &report);
    let any = "the row may belong to any order, so correct it in the report, and import the report \
               again";
    assert_eq!(
        file,
        format!(
            "Time,Goods,Price,No,kiosque: reason\n\
             {},\"line 5: column No is empty; {any}\"\n\
             {},\"line 3: {any}; line 3: the row has 5 cells under 4 columns\"\n",
            unkeyed.trim_end(),
            comma.trim_end(),
        )
    );
    let correct = |text: &str| text.replace("Ely, High", "Ely High").replace("a,3,", "a,3,2");
    let mut file = correct(&file);
    for _ in 0..2 {
        assert_eq!(outcome(KEYED, &file).ids(), [""; 0], "{file}");
        file = rejected_text(KEYED, &file);
        assert_eq!(file.matches(any).count(), 2, "{file}");
    }
    let whole = outcome(KEYED, correct(&report));
    let totals: Vec<_> = whole.orders.iter().map(|one| &one.order["totalAmount"]).collect();
    assert_eq!(totals, [350, 400]);
}

#[test]
fn the_file_has_a_header_even_if_the_report_has_none() {
    let text = "[report]\ncolumns = [\"Id\", \"Machine\", \"Total\", \"Time\"]\ndelimiter = \";\"\n\
                quote = \"\"\nlines_above_header = 2\n"
        .to_owned() + SIMPLE;
    let report = "Sales\nof January\n1;m1;1;2022-01-01\n2;m2;x;y\n";
    let file = rejected_text(&text, report);
    assert_eq!(
        file,
        "Id;Machine;Total;Time;kiosque: reason\n\
         2;m2;x;y;line 4: column Total: \"x\" is not a decimal number  column Time: \
         \"y\" is not a time  give RFC 3339 with an offset, or yyyy-MM-dd or yyyy-MM-dd HH:mm:ss \
         in UTC  or set time.format, such as \"%d.%m.%Y %H:%M:%S\"\n"
    );
    assert_eq!(outcome(&text, file.replace(";x;y;", ";2;2022-01-02;")).ids(), ["2"]);
}

#[test]
fn all_rows_of_a_rejected_order_are_written() {
    let report = "No,Time,Goods,Price\n1,2022-01-01,a,1\n2,2022-01-01,a,1\n1,2022-01-01,b,x\n";
    let file = rejected_text(KEYED, report);
    let rows: Vec<&str> = file.lines().skip(1).collect();
    assert!(rows.len() == 2 && rows[0].starts_with("1,2022-01-01,a,1,\"line 4: "), "{rows:?}");
    assert_eq!(outcome(KEYED, file.replace(",b,x,", ",b,2,")).only()["totalAmount"], 300);
}

/// A row that would seem whole if it were written as it was read is rejected until it is corrected.
#[test]
fn bytes_are_kept_and_rows_with_a_flaw_stay_rejected() {
    let report =
        b"Id,Machine,Total,Time\n1,m\xff,1,2022-01-01\n2,\"m\"2,1,2022-01-01\n3,m,1,\"2022-01-01\n";
    let file = rejected_file(SIMPLE, report);
    assert!(file.windows(5).any(|part| part == b"m\xff,1,"), "{}", String::from_utf8_lossy(&file));
    let got = outcome(SIMPLE, &file);
    assert_eq!((got.orders.len(), got.rejected.len()), (0, 3), "{:?}", got.reasons());
}

#[test]
fn card_numbers_are_masked_in_the_file() {
    let text = SIMPLE.to_owned() + "cardNumber = \"{Card}\"\n";
    let report = "Id,Machine,Total,Time,Card\n1,m,x,2022-01-01,4111222233334444\n\
        2,m,1,2022-01-01,4111222233334444,\n";
    let file = rejected_text(&text, report);
    assert!(file.contains(",************4444,") && !file.contains("22223333"), "{file}");
}

#[test]
fn files_of_other_kinds_are_recognized() {
    for (report, want) in [
        (
            &b"PK\x03\x04....[Content_Types].xml"[..],
            "the report is an Excel workbook; save the sheet",
        ),
        (
            b"{\"orderId\":\"1\"}\n",
            "the report is a file of JSON objects; import it without a mapping",
        ),
        (b"\xff\xfeI\0d\0", "the report is UTF-16; save it as UTF-8"),
    ] {
        let errors = refused(SIMPLE, report);
        assert!(errors.len() == 1 && errors[0].starts_with(want), "{errors:?}");
    }
}
