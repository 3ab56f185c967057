//! Orders as CSV: a row for each line of an order, or one for an order without lines.

use std::borrow::Cow;
use std::io::{self, Write};
use std::mem;

use csv::{ErrorKind, Writer};
use kiosque_contract::{Object, OrderLine, OrderLineItem};

/// The mapping with which an import reads the CSV.
pub const CSV_MAPPING: &str = include_str!("mapping.toml");

/// A column, and its cell of a `T`.
type Column<T> = (&'static str, fn(&T) -> Cell<'_>);

/// The columns of an order, after its group.
const ORDER: [Column<OrderLine>; 16] = [
    ("deviceCode", |order| Cell::text(&order.device_code)),
    ("orderId", |order| Cell::text(&order.order_id)),
    ("tradeNo", |order| Cell::optional(&order.trade_no)),
    ("tradeNoIn", |order| Cell::optional(&order.trade_no_in)),
    ("currency", |order| Cell::text(&order.currency)),
    ("totalAmount", |order| Cell::number(order.total_amount)),
    ("payAmount", |order| Cell::number(order.pay_amount)),
    ("refundAmount", |order| Cell::number(order.refund_amount)),
    ("payStatus", |order| Cell::number(order.pay_status)),
    ("shipmentStatus", |order| Cell::number(order.shipment_status)),
    ("payChannelName", |order| Cell::optional(&order.pay_channel_name)),
    ("tradeStartTime", |order| Cell::text(&order.trade_start_time)),
    ("payEndTime", |order| Cell::text(&order.pay_end_time)),
    ("shipmentTime", |order| Cell::text(&order.shipment_time)),
    ("cardNumber", |order| Cell::optional(&order.card_number)),
    ("phone", |order| Cell::optional(&order.phone)),
];

/// The columns of a line, after its number.
const LINE: [Column<OrderLineItem>; 10] = [
    ("goodsId", |line| Cell::text(&line.goods_id)),
    ("goodsName", |line| Cell::text(&line.goods_name)),
    ("aisleCode", |line| Cell::text(&line.aisle_code)),
    ("count", |line| Cell::number(line.count)),
    ("goodsPrice", |line| Cell::number(line.goods_price)),
    ("salePrice", |line| Cell::number(line.sale_price)),
    ("linePayAmount", |line| Cell::number(line.pay_amount)),
    ("lineShipmentStatus", |line| Cell::number(line.shipment_status)),
    ("shipmentErrCode", |line| Cell::number(line.shipment_err_code)),
    ("shipmentFailDesc", |line| Cell::optional(&line.shipment_fail_desc)),
];

fn header() -> impl Iterator<Item = &'static str> {
    let order = ORDER.iter().map(|(name, _)| *name);
    let line = LINE.iter().map(|(name, _)| *name);
    ["groupId"].into_iter().chain(order).chain(["line"]).chain(line)
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
        let lines = order.detail_vo_list.as_deref().unwrap_or_default();
        let of_order: Vec<Cell<'_>> = ORDER.iter().map(|(_, cell)| cell(order)).collect();
        let mut is_exact = of_order.iter().all(|cell| cell.is_exact);
        // An order without lines has one row, too.
        for at in 0..lines.len().max(1) {
            let line = lines.get(at).map(|Object(line)| line);
            let number = line.map(|_| (at + 1).to_string()).unwrap_or_default();
            let of_line = LINE.iter().map(|(_, cell)| line.map(cell).unwrap_or_default());
            let of_line: Vec<Cell<'_>> = of_line.collect();
            is_exact &= of_line.iter().all(|cell| cell.is_exact);
            let cells = of_order.iter().map(|cell| &*cell.text);
            let cells = [group_id].into_iter().chain(cells).chain([number.as_str()]);
            let cells = cells.chain(of_line.iter().map(|cell| &*cell.text));
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

/// A cell of an order; empty without a value.
struct Cell<'o> {
    text: Cow<'o, str>,
    /// Whether an import reads the cell unchanged. A blank cell is read as absent.
    is_exact: bool,
}

impl Default for Cell<'_> {
    fn default() -> Self {
        Cell { text: Cow::Borrowed(""), is_exact: true }
    }
}

impl<'o> Cell<'o> {
    fn number(number: Option<i64>) -> Cell<'o> {
        let text = number.map(|number| number.to_string()).unwrap_or_default();
        Cell { text: text.into(), is_exact: true }
    }

    /// Returns the cell of a text whose absence is the empty text.
    fn text(text: &'o Option<String>) -> Cell<'o> {
        let text = text.as_deref().unwrap_or_default();
        Cell { text: text.into(), is_exact: text.is_empty() || !text.trim().is_empty() }
    }

    /// Returns the cell of a text that may be absent.
    fn optional(text: &'o Option<String>) -> Cell<'o> {
        let is_exact = text.as_ref().is_none_or(|text| !text.trim().is_empty());
        Cell { text: text.as_deref().unwrap_or_default().into(), is_exact }
    }
}

#[cfg(test)]
mod tests {
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
