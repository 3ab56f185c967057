//! Orders as CSV: a row for each line of an order, or one for an order without lines.

use std::borrow::Cow;
use std::io::{self, Write};
use std::mem;

use csv::{ErrorKind, Writer};
use kiosque_contract::OrderLine;
use serde_json::Value;

/// The mapping with which an import reads the CSV.
pub const CSV_MAPPING: &str = include_str!("mapping.toml");

/// The columns of an order, after its group, named like its fields.
const ORDER: [&str; 16] = [
    "deviceCode",
    "orderId",
    "tradeNo",
    "tradeNoIn",
    "currency",
    "totalAmount",
    "payAmount",
    "refundAmount",
    "payStatus",
    "shipmentStatus",
    "payChannelName",
    "tradeStartTime",
    "payEndTime",
    "shipmentTime",
    "cardNumber",
    "phone",
];

/// The columns of a line, after its number, each with its field.
const LINE: [(&str, &str); 10] = [
    ("goodsId", "goodsId"),
    ("goodsName", "goodsName"),
    ("aisleCode", "aisleCode"),
    ("count", "count"),
    ("goodsPrice", "goodsPrice"),
    ("salePrice", "salePrice"),
    ("linePayAmount", "payAmount"),
    ("lineShipmentStatus", "shipmentStatus"),
    ("shipmentErrCode", "shipmentErrCode"),
    ("shipmentFailDesc", "shipmentFailDesc"),
];

fn header() -> impl Iterator<Item = &'static str> {
    let line = LINE.iter().map(|(name, _)| *name);
    ["groupId"].into_iter().chain(ORDER).chain(["line"]).chain(line)
}

/// Writes orders as CSV.
pub struct CsvExport<W: Write> {
    out: Writer<W>,
    /// Orders with a blank text, which in CSV is the same as an absent one.
    inexact: u64,
}

impl<W: Write> CsvExport<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(out: W) -> io::Result<CsvExport<W>> {
        let mut out = Writer::from_writer(out);
        out.write_record(header()).map_err(io_error)?;
        Ok(CsvExport { out, inexact: 0 })
    }

    /// Writes an order of a group.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, group_id: &str, order: &OrderLine) -> io::Result<()> {
        let order = serde_json::to_value(order)?;
        let of_order = ORDER.map(|field| cell(&order[field]));
        let lines = order["detailVOList"].as_array().map_or(&[][..], Vec::as_slice);
        let mut is_exact = !of_order.iter().any(|cell| is_blank(cell));
        // An order without lines has one row, too.
        for at in 0..lines.len().max(1) {
            let line = lines.get(at).unwrap_or(&Value::Null);
            let number = if line.is_null() { String::new() } else { (at + 1).to_string() };
            let of_line = LINE.map(|(_, field)| cell(&line[field]));
            is_exact &= !of_line.iter().any(|cell| is_blank(cell));
            let cells = [group_id].into_iter().chain(of_order.iter().map(|cell| &**cell));
            let cells = cells.chain([number.as_str()]).chain(of_line.iter().map(|cell| &**cell));
            self.out.write_record(cells).map_err(io_error)?;
        }
        self.inexact += u64::from(!is_exact);
        Ok(())
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns the number of orders since the last call that an import of the CSV would change.
    pub fn take_inexact(&mut self) -> u64 {
        mem::take(&mut self.inexact)
    }
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Returns the cell of a value, empty for an absent one.
fn cell(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    }
}

/// Returns whether an import reads a cell as absent although it is not empty.
fn is_blank(cell: &str) -> bool {
    !cell.is_empty() && cell.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use kiosque_contract::{Object, OrderLineItem};

    use super::*;

    fn exported(order: &OrderLine) -> (String, u64) {
        let mut out = Vec::new();
        let mut export = CsvExport::new(&mut out).expect("written");
        export.write("g", order).expect("written");
        let inexact = export.take_inexact();
        export.flush().expect("written");
        drop(export);
        let text = String::from_utf8(out).expect("text");
        let (header, rows) = text.split_once('\n').expect("a header");
        assert_eq!(header, super::header().collect::<Vec<_>>().join(","));
        (rows.to_owned(), inexact)
    }

    #[test]
    fn cells_are_quoted_where_needed() {
        let line =
            OrderLineItem { goods_name: Some("a \"b\", c".to_owned()), ..Default::default() };
        let line = Object(line);
        let order = OrderLine {
            order_id: Some("1".to_owned()),
            detail_vo_list: Some(vec![line.clone(), line]),
            ..OrderLine::default()
        };
        let (rows, inexact) = exported(&order);
        let cells = "g,,1,,,,,,,,,,,,,,,1,,\"a \"\"b\"\", c\",,,,,,,,\n";
        assert_eq!(rows, format!("{cells}{}", cells.replace(",1,,\"", ",2,,\"")));
        assert_eq!(inexact, 0);
    }

    #[test]
    fn blank_texts_are_counted() {
        let blank = OrderLine { pay_channel_name: Some(" ".to_owned()), ..OrderLine::default() };
        assert_eq!(exported(&blank).1, 1);
        // An integrator receives the empty text if an order has no trade number.
        let no_number = OrderLine { trade_no: Some(String::new()), ..OrderLine::default() };
        assert_eq!(exported(&no_number).1, 0);
        assert_eq!(exported(&OrderLine::default()).1, 0);
    }

    #[test]
    fn the_mapping_takes_each_column() {
        crate::csv::Mapping::parse(CSV_MAPPING).expect("a mapping");
        for column in header() {
            let is_taken = CSV_MAPPING.contains(&format!("{{{column}}}"))
                || CSV_MAPPING.contains(&format!("\"{column}\""));
            assert!(is_taken, "{column}");
        }
    }
}
