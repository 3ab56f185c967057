//! The features of a mapping, one at a time.

use serde_json::json;

use super::*;

#[test]
fn the_simplest_mapping_gives_an_order_a_row() {
    let report = "Id,Machine,Total,Time\n1,m1,3.5,2022-01-01\n2,m2,1,2022-01-02 10:00:00\n";
    let got = outcome(SIMPLE, report);
    assert_eq!(got.ids(), ["1", "2"]);
    assert_eq!(
        Value::Object(got.orders[0].order.clone()),
        json!({
            "orderId": "1",
            "deviceCode": "m1",
            "currency": "USD",
            "totalAmount": 350,
            "tradeStartTime": "2022-01-01T00:00:00.000Z",
        })
    );
    assert_eq!((got.orders[1].first_line, &got.orders[1].lines), (3, &vec![3]));
    assert_eq!((&got.orders[1].device, &got.orders[1].products), (&None, &Vec::new()));
}

/// Every field, each filled in another way.
const EVERY_FIELD: &str = r#"
[amount]
unit = "minor"
[order]
orderId = "{#row}"
deviceCode = "{D}"
currency = "{Cur}"
totalAmount = "{T}"
tradeStartTime = "{A}"
tradeNo = "{D}/{#row}"
tradeNoIn = ["{None}", "{D}"]
payAmount = "{T}"
refundAmount = 5
payEndTime = { from = "{B}", format = "%d/%m/%y %H:%M", zone = "Asia/Tokyo" }
shipmentTime = "{A}"
cardNumber = "{Card}"
phone = "{None}"
payStatus = { from = "{S}", map = { P = "paid", R = 4 } }
shipmentStatus = 1
payChannelName = { constant = "D" }
[line]
goodsId = "{G}"
goodsName = ["{None}", ""]
aisleCode = "A{G}"
count = "{N}"
salePrice = "{T}"
goodsPrice = "{T}"
payAmount = "{T}"
shipmentStatus = "failed"
shipmentErrCode = 17
shipmentFailDesc = "jam {{{G}}}"
"#;

#[test]
fn every_field_of_an_order_file_can_be_filled() {
    let report = "D,Cur,T,A,B,Card,S,G,N,None\n\
        m1,JPY,350,2022-01-01T00:00:00Z,02/01/22 09:00,4111 1111 1111 1234,R,g,2, \n";
    assert_eq!(
        Value::Object(outcome(EVERY_FIELD, report).only().clone()),
        json!({
            "orderId": "1",
            "deviceCode": "m1",
            "currency": "JPY",
            "totalAmount": 350,
            "tradeStartTime": "2022-01-01T00:00:00.000Z",
            "tradeNo": "m1/1",
            "tradeNoIn": "m1",
            "payAmount": 350,
            "refundAmount": 5,
            "payEndTime": "2022-01-02T00:00:00.000Z",
            "shipmentTime": "2022-01-01T00:00:00.000Z",
            "cardNumber": "4111 1111 1111 1234",
            "payStatus": 4,
            "shipmentStatus": 1,
            "payChannelName": "D",
            "detailVOList": [{
                "goodsId": "g",
                "goodsName": "",
                "aisleCode": "Ag",
                "count": 2,
                "salePrice": 350,
                "goodsPrice": 350,
                "payAmount": 350,
                "shipmentStatus": 3,
                "shipmentErrCode": 17,
                "shipmentFailDesc": "jam {g}",
            }],
        })
    );
}

#[test]
fn rows_of_one_key_are_one_order_at_any_position() {
    let report = "No,Time,Goods,Price\n\
        7,2022-01-01,a,1\n\
        8,2022-01-01,b,2\n\
        7,2022-01-01,c,0.25\n";
    let got = outcome(KEYED, report);
    assert_eq!(got.ids(), ["7", "8"]);
    assert_eq!(got.orders[0].lines, [2, 4]);
    assert_eq!(got.orders[0].order["totalAmount"], 125);
    assert_eq!(got.orders[0].order["detailVOList"][1]["goodsId"], "c");
}

/// The key of an order is the same text as the id that it gives.
#[test]
fn keys_that_differ_in_spaces_are_two_orders_unless_the_mapping_trims() {
    let report = "No,Time,Goods,Price\n\
        \x20A,2022-01-01,a,1\n\
        A,2022-01-01,b,2\n\
        \x20A,2022-01-01,c,4\n\
        \x20,2022-01-01,d,8\n";
    let no_key = "line 5: column No is empty; the row may belong to any order, so correct it in \
                  the report, and import the report again";
    let trimming = format!("[report]\ntrim = true\n{KEYED}");
    for (text, want) in [
        (KEYED, &[(" A", vec![2, 4]), ("A", vec![3])][..]),
        (trimming.as_str(), &[("A", vec![2, 3, 4])]),
    ] {
        let got = outcome(text, report);
        let lines = got.orders.iter().map(|order| order.lines.clone());
        let orders: Vec<_> = got.ids().into_iter().zip(lines).collect();
        assert_eq!((orders.as_slice(), got.reasons()), (want, vec![no_key]), "{text}");
    }
}

#[test]
fn keys_of_several_columns_are_not_confused() {
    let text =
        KEYED.replace("key = \"No\"", "key = [\"No\", \"Goods\"]\norderId = \"{No}/{Goods}\"");
    let report = "No,Time,Goods,Price\n1,2022-01-01,23,1\n12,2022-01-01,3,1\n";
    assert_eq!(outcome(&text, report).ids(), ["1/23", "12/3"]);
}

#[test]
fn the_sum_of_lines_counts_pay_amounts_or_prices_times_counts() {
    let text = KEYED.to_owned() + "count = \"{N}\"\npayAmount = \"{Paid}\"\n";
    let report = "No,Time,Goods,Price,N,Paid\n\
        1,2022-01-01,a,1.10,3,\n\
        1,2022-01-01,b,1,2,0.50\n";
    assert_eq!(outcome(&text, report).only()["totalAmount"], 380);
}

#[test]
fn filters_leave_rows_out_and_count_them() {
    let text = SIMPLE.to_owned()
        + r#"
        [[skip]]
        column = "Id"
        equals = "Total"
        [[skip]]
        column = "Machine"
        in = ["test", "demo"]
        [[skip]]
        column = "Total"
        empty = true
        [[skip]]
        column = "Kind"
        not_in = ["sale", ""]
    "#;
    let report = "Id,Machine,Total,Time,Kind\n\
        1,m1,1,2022-01-01,sale\n\
        2,test,1,2022-01-01,sale\n\
        3, demo ,1,2022-01-01,sale\n\
        4,m1, ,2022-01-01,sale\n\
        5,m1,1,2022-01-01,void\n\
        6,m1,1,2022-01-01,\n\
        Total,,2\n\
        7,m1,1\n";
    let got = outcome(&text, report);
    assert_eq!(got.ids(), ["1", "6"]);
    assert_eq!(
        got.left_out,
        [
            ("Id is \"Total\"".to_owned(), 1),
            ("Machine is one of \"test\", \"demo\"".to_owned(), 2),
            ("Total is empty".to_owned(), 1),
            ("Kind is none of \"sale\", \"\"".to_owned(), 1),
        ]
    );
    // An incomplete row is skipped only by the value of a cell, never by the lack of one.
    assert_eq!(got.reasons(), ["line 9: the row has 3 cells under 5 columns"]);
}

#[test]
fn the_row_number_counts_skipped_and_rejected_rows() {
    let text = SIMPLE.replace("\"{Id}\"", "\"r{#row}\"")
        + "[[skip]]\ncolumn = \"Machine\"\nequals = \"x\"\n";
    let report = "Machine,Total,Time\nm,1,2022-01-01\n\nx,1,2022-01-01\nm,?,?\nm,1,2022-01-01\n";
    assert_eq!(outcome(&text, report).ids(), ["r1", "r4"]);
}

#[test]
fn the_mapping_decides_the_file_format() {
    let text = "[report]\ndelimiter = \"\\t\"\nquote = \"'\"\nlines_above_header = 2\ntrim = true\n"
        .to_owned() + SIMPLE;
    let report = "\u{feff}Sales\r\n\"of January\r\nId\tMachine\tTotal\tTime\r\n\r\n\
        ' it''s\t1 '\t m1\t3 \t2022-01-01\r\n";
    let got = outcome(&text, report);
    assert_eq!(got.only()["orderId"], "it's\t1");
    assert_eq!(got.only()["deviceCode"], "m1");
    assert_eq!(got.orders[0].lines, [5]);

    let text = "[report]\ncolumns = [\"Id\", \"Machine\", \"Total\", \"Time\"]\nquote = \"\"\n"
        .to_owned()
        + SIMPLE;
    let got = outcome(&text, "\"1,m1,2,2022-01-01");
    assert_eq!(got.only()["orderId"], "\"1");
    assert_eq!(got.orders[0].lines, [1]);
}

#[test]
fn line_numbers_hold_across_line_breaks_in_cells_and_every_line_end() {
    for (end, inner) in [("\n", "\n"), ("\r\n", "\r\n"), ("\r", "\r"), ("\r\n", "\n")] {
        let report = [
            "Id,Machine,Total,Time",
            &format!("1,\"m{inner}{inner}1\",1,2022-01-01"),
            "",
            "2,m,1,2022-01-01",
            "3,m,1,2022-01-01",
        ]
        .join(end);
        let lines: Vec<u64> =
            outcome(SIMPLE, report).orders.iter().map(|order| order.first_line).collect();
        assert_eq!(lines, [2, 6, 7], "{end:?} {inner:?}");
    }
}

#[test]
fn a_report_that_trickles_in_reads_the_same() {
    struct Trickle<'a>(&'a [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(1).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let report = "\u{feff}Id,Machine,Total,Time\r\n\"1\",m1,\"1\",2022-01-01\r\n";
    let got = outcome_in(&Zone::utc(), &mapping(SIMPLE), Trickle(report.as_bytes()));
    assert_eq!(got.only()["orderId"], "1");
}

#[test]
fn unknown_devices_and_products_have_the_values_to_create_them() {
    let text = KEYED.to_owned()
        + r#"
        goodsName = "{Name}"
        [create.device]
        group = "{Region}"
        address = "{Street}, {City}"
        model = "V1"
        [create.product]
        category = "{Kind}"
        currency = "EUR"
        default_price = "{List}"
    "#;
    let report = "No,Time,Goods,Price,Name,Region,Street,City,Kind,List\n\
        1,2022-01-01,a,1,Ay,north,High St,Ely,food,1.5\n\
        1,2022-01-01,a,1,Ay,north,High St,Ely,food,1.5\n\
        1,2022-01-01,b,1,,north,High St,Ely,,\n";
    let got = outcome(&text, report);
    let order = &got.orders[0];
    let device = order.device.clone().expect("a device").expect("a group");
    assert_eq!(device.code.as_str(), "m1");
    assert_eq!(device.name.as_deref(), Some("m1"));
    assert_eq!(device.group.as_ref().map(|group| group.as_str()), Some("north"));
    assert_eq!(device.address.as_deref(), Some("High St, Ely"));
    assert_eq!(device.model.as_deref(), Some("V1"));
    let products: Vec<_> = order
        .products
        .iter()
        .map(|product| {
            assert_eq!(product.currency.map(|currency| currency.code()), Some("EUR"));
            let price = product.default_price.map(|price| price.0);
            (product.id.as_str(), product.name.as_deref(), product.category.as_deref(), price)
        })
        .collect();
    assert_eq!(
        products,
        [("a", Some("Ay"), Some("food"), Some(150)), ("b", Some("b"), None, None)]
    );
    // A device that exists needs no group; a price is one that `apply` accepts.
    let report = report.replace("north", "").replace(",food,1.5", ",food,-1.5");
    let got = outcome(&text, &report);
    let price = "create.product.default_price: -150 is not between 0 and 1000000000000 minor units";
    assert_eq!(got.reasons(), [format!("line 2: {price}; line 3: {price}")]);
    let got = outcome(&text, report.replace("-1.5", "1.5"));
    let device = got.orders[0].device.clone().expect("a device");
    assert_eq!(device, Err("create.device.group: its columns are empty".to_owned()));
}

#[test]
fn an_empty_report_and_a_bare_header_have_no_orders() {
    for report in ["", "\u{feff}", "\n\n", "Id,Machine,Total,Time", "Id,Machine,Total,Time\r\n"] {
        let got = outcome(SIMPLE, report);
        assert_eq!((got.orders.len(), got.rejected.len()), (0, 0), "{report:?}");
    }
}
