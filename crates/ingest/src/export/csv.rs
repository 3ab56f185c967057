//! Orders as CSV: a row for each line of an order, or one for an order without lines.

use std::io::{self, Write};

use kiosque_contract::{Object, OrderLine, OrderLineItem};

/// The mapping with which an import reads the CSV.
pub const CSV_MAPPING: &str = include_str!("mapping.toml");

const HEADER: [&str; 28] = [
    "groupId",
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
    "line",
    "goodsId",
    "goodsName",
    "aisleCode",
    "count",
    "goodsPrice",
    "salePrice",
    "linePayAmount",
    "lineShipmentStatus",
    "shipmentErrCode",
    "shipmentFailDesc",
];
/// Columns of the order; the others are those of a line.
const ORDER_COLUMNS: usize = 17;

/// Writes orders as CSV.
pub struct CsvExport<W> {
    out: W,
    /// Orders with a blank text, which CSV cannot distinguish from an absent one.
    inexact: u64,
}

impl<W: Write> CsvExport<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(mut out: W) -> io::Result<CsvExport<W>> {
        write_row(&mut out, HEADER.iter().copied())?;
        Ok(CsvExport { out, inexact: 0 })
    }

    /// Writes an order of a group.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, group_id: &str, order: &OrderLine) -> io::Result<()> {
        let of_order = order_cells(group_id, order);
        let lines = order.detail_vo_list.as_deref().unwrap_or_default();
        let of_lines: Vec<Vec<Cell>> = match lines {
            [] => vec![vec![Cell::Absent; HEADER.len() - ORDER_COLUMNS]],
            lines => (1..).zip(lines).map(|(at, Object(line))| line_cells(at, line)).collect(),
        };
        for of_line in &of_lines {
            write_row(&mut self.out, of_order.iter().chain(of_line).map(Cell::text))?;
        }
        let cells = || of_order.iter().chain(of_lines.iter().flatten());
        self.inexact += u64::from(!cells().all(Cell::is_exact));
        Ok(())
    }

    /// Returns the number of orders that an import of the CSV would change.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.inexact)
    }
}

/// A cell of an order.
#[derive(Clone)]
enum Cell {
    Absent,
    /// A value that is not blank, or a text whose absence is the empty text.
    Value(String),
    /// A text that may be absent.
    Optional(String),
}

impl Cell {
    fn number(number: Option<i64>) -> Cell {
        number.map_or(Cell::Absent, |number| Cell::Value(number.to_string()))
    }

    fn optional(text: &Option<String>) -> Cell {
        text.clone().map_or(Cell::Absent, Cell::Optional)
    }

    fn value(text: &Option<String>) -> Cell {
        text.clone().map_or(Cell::Absent, Cell::Value)
    }

    fn text(&self) -> &str {
        match self {
            Cell::Absent => "",
            Cell::Value(text) | Cell::Optional(text) => text,
        }
    }

    /// Returns whether an import reads the cell as it was. A blank cell is absent for it.
    fn is_exact(&self) -> bool {
        match self {
            Cell::Absent => true,
            Cell::Value(text) => text.is_empty() || !text.trim().is_empty(),
            Cell::Optional(text) => !text.trim().is_empty(),
        }
    }
}

fn order_cells(group_id: &str, order: &OrderLine) -> Vec<Cell> {
    vec![
        Cell::Value(group_id.to_owned()),
        Cell::value(&order.device_code),
        Cell::value(&order.order_id),
        Cell::optional(&order.trade_no),
        Cell::optional(&order.trade_no_in),
        Cell::value(&order.currency),
        Cell::number(order.total_amount),
        Cell::number(order.pay_amount),
        Cell::number(order.refund_amount),
        Cell::number(order.pay_status),
        Cell::number(order.shipment_status),
        Cell::optional(&order.pay_channel_name),
        Cell::value(&order.trade_start_time),
        Cell::value(&order.pay_end_time),
        Cell::value(&order.shipment_time),
        Cell::optional(&order.card_number),
        Cell::optional(&order.phone),
    ]
}

fn line_cells(number: i64, line: &OrderLineItem) -> Vec<Cell> {
    vec![
        Cell::number(Some(number)),
        Cell::value(&line.goods_id),
        Cell::value(&line.goods_name),
        Cell::value(&line.aisle_code),
        Cell::number(line.count),
        Cell::number(line.goods_price),
        Cell::number(line.sale_price),
        Cell::number(line.pay_amount),
        Cell::number(line.shipment_status),
        Cell::number(line.shipment_err_code),
        Cell::optional(&line.shipment_fail_desc),
    ]
}

/// Writes a row. Cells are quoted where that is needed.
///
/// # Errors
/// The output cannot be written.
pub fn write_row<'c>(out: &mut impl Write, cells: impl Iterator<Item = &'c str>) -> io::Result<()> {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        if cell.contains([',', '"', '\n', '\r']) {
            write!(out, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            out.write_all(cell.as_bytes())?;
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(order: &OrderLine) -> (String, u64) {
        let mut out = Vec::new();
        let mut export = CsvExport::new(&mut out).expect("written");
        export.write("g", order).expect("written");
        let inexact = export.finish().expect("written");
        let text = String::from_utf8(out).expect("text");
        let (header, rows) = text.split_once('\n').expect("a header");
        assert_eq!(header, HEADER.join(","));
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
        assert_eq!(exported(&OrderLine::default()).1, 0);
    }

    #[test]
    fn the_mapping_takes_each_column() {
        crate::csv::Mapping::parse(CSV_MAPPING).expect("a mapping");
        for column in HEADER {
            let is_taken = CSV_MAPPING.contains(&format!("{{{column}}}"))
                || CSV_MAPPING.contains(&format!("\"{column}\""));
            assert!(is_taken, "{column}");
        }
    }
}
