//! An order as stored: its columns, and its packed record.
//!
//! A packed record is a Zstandard frame (RFC 8878). The first four bytes, which are the same in
//! every frame, are replaced by a checksum over the other bytes and all columns of the order. So an
//! order with a changed bit is refused, and so is one with the record of another.

use kiosque_contract::ShipmentError;
use kiosque_model::{DeviceNo, GroupNo, TradeNo, UnixMs};

use super::dictionaries::{self, Dictionaries, Dictionary};
use super::sale::sale_of;
use super::{Incoming, Record, derived_trade_no_in, json, parsed};
use crate::error::{Error, RecordError, UnreadableOrder};
use crate::sql::row;
use kiosque_model::sales::Sale;

/// Lists the columns of [`StoredOrder`], in their order, of the table `orders o`.
macro_rules! order_columns {
    () => {
        "o.group_no, o.device_no, o.seq, o.trade_start_ms, o.change_no, o.sale_at_ms, o.sale, \
         o.arrival_no, o.order_id, o.trade_no, o.trade_no_in, o.record"
    };
}
pub(crate) use order_columns;

row! {
    /// A stored order, borrowed from its row.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct StoredOrder<'r> {
        pub(crate) group_no: GroupNo,
        pub(crate) device_no: DeviceNo,
        pub(crate) seq: i64,
        pub(crate) trade_start_ms: UnixMs,
        pub(crate) change_no: i64,
        pub(crate) sale_at_ms: Option<UnixMs>,
        /// See [`sale_figures`](super::sale_figures).
        pub(crate) sale: &'r [u8],
        pub(crate) arrival_no: Option<i64>,
        pub(crate) order_id: &'r str,
        pub(crate) trade_no: Option<&'r str>,
        pub(crate) trade_no_in: Option<&'r str>,
        pub(crate) record: &'r [u8],
    }
}

/// The bytes of a checksum.
const CHECKSUM_BYTES: usize = 4;
/// Between the fields that list and detail share, and the lines of a list record.
const LINES: &[u8] = br#","detailVOList":"#;

impl<'r> StoredOrder<'r> {
    /// Appends the order as an element of an order list's `records`.
    pub(crate) fn put_list_record(
        &self,
        dictionaries: &Dictionaries,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.check()?;
        put_numbers(out, self.trade_no, self.trade_no_in, self.order_id);
        let start = out.len();
        self.unpack(dictionaries, out)?;
        // The opening brace of the record.
        match out.get_mut(start) {
            Some(first @ b'{') => *first = b',',
            _ => return Err(self.unreadable(RecordError::Text)),
        }
        Ok(())
    }

    /// Appends the order as the `data` of an order detail.
    pub(crate) fn put_detail(
        &self,
        dictionaries: &Dictionaries,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let text = self.text(dictionaries)?;
        let unreadable = || self.unreadable(RecordError::Text);
        let (fields, lines) = split(&text).ok_or_else(unreadable)?;
        put_numbers(out, self.trade_no, self.trade_no_in, self.order_id);
        out.push(b',');
        out.extend_from_slice(fields);
        out.extend_from_slice(br#","detailList":"#);
        out.extend_from_slice(lines);
        out.extend_from_slice(br#","tradeNoOut":"#);
        put_text(out, self.trade_no.unwrap_or_default());
        out.extend_from_slice(br#","shipmentErrorList":"#);
        out.extend_from_slice(shipment_errors(lines)?.as_bytes());
        out.push(b'}');
        Ok(())
    }

    /// Returns the sale that the order, whose record has this text, counts as.
    pub(crate) fn sale(&self, text: &[u8]) -> Result<Sale, Error> {
        let no_sale = || Error::Data(format!("order {} is not a sale", self.order_id));
        sale_of(text, self.sale_at_ms.ok_or_else(no_sale)?)
    }

    /// Returns the text of the record.
    pub(crate) fn text(&self, dictionaries: &Dictionaries) -> Result<Vec<u8>, Error> {
        self.check()?;
        let mut text = Vec::new();
        self.unpack(dictionaries, &mut text)?;
        Ok(text)
    }

    fn unpack(&self, dictionaries: &Dictionaries, out: &mut Vec<u8>) -> Result<(), Error> {
        dictionaries::unpack(self.record, dictionaries, out).map_err(|error| self.unreadable(error))
    }

    /// Compares the checksum.
    fn check(&self) -> Result<(), Error> {
        let stored = self.record.first_chunk().copied().map(u32::from_le_bytes);
        if stored == Some(self.checksum()) {
            return Ok(());
        }
        Err(self.unreadable(RecordError::Checksum))
    }

    /// Returns the checksum over the columns and the record. Columns of bytes are preceded by their
    /// lengths, which separates adjacent ones; a missing time counts as the least number.
    fn checksum(&self) -> u32 {
        let bytes = |text: Option<&'r str>| text.map(str::as_bytes);
        let (order_id, trade_no_in) = (Some(self.order_id), self.trade_no_in);
        let columns = [Some(self.sale), bytes(order_id), bytes(self.trade_no), bytes(trade_no_in)];
        let length = |column: Option<&[u8]>| match column {
            Some(column) => i64::try_from(column.len()).unwrap_or(i64::MAX),
            None => -1,
        };
        let numbers = [
            self.group_no.0,
            self.device_no.0,
            self.seq,
            self.trade_start_ms.0,
            self.change_no,
            self.sale_at_ms.map_or(i64::MIN, |at| at.0),
            self.arrival_no.unwrap_or(i64::MIN),
        ];
        let numbers = numbers.into_iter().chain(columns.map(length));
        let mut bytes = [0; 88];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&bytes);
        columns.into_iter().flatten().for_each(|column| checksum.update(column));
        checksum.update(self.record.get(CHECKSUM_BYTES..).unwrap_or_default());
        checksum.finalize()
    }

    /// Returns the error of an order that cannot be read.
    pub(crate) fn unreadable(&self, error: RecordError) -> Error {
        Error::UnreadableOrder(Box::new(UnreadableOrder {
            group: self.group_no,
            device: self.device_no,
            seq: self.seq,
            order_id: self.order_id.to_owned(),
            error,
        }))
    }
}

/// Packs the record of an order; `order` has all other columns.
pub(crate) fn pack(
    record: &Record,
    order: StoredOrder<'_>,
    dictionary: &Dictionary,
) -> Result<Vec<u8>, Error> {
    let mut packed = dictionary.pack(record.text().as_bytes())?;
    let checksum = StoredOrder { record: &packed, ..order }.checksum().to_le_bytes();
    if let Some(place) = packed.first_chunk_mut() {
        *place = checksum;
    }
    Ok(packed)
}

impl Incoming {
    /// Appends the order as an element of an order list's `records`, as it would be listed if it
    /// were stored unchanged.
    pub fn put_list_record(&self, out: &mut Vec<u8>) {
        let trade_no = self.trade_no.as_ref().map(TradeNo::as_str);
        let trade_no_in = self.trade_no_in.as_ref().map(TradeNo::as_str);
        put_numbers(out, trade_no, trade_no_in, self.order_id.as_str());
        out.push(b',');
        out.extend(self.record.text().bytes().skip(1));
    }
}

/// Appends the opening brace and the numbers of an order.
fn put_numbers(
    out: &mut Vec<u8>,
    trade_no: Option<&str>,
    trade_no_in: Option<&str>,
    order_id: &str,
) {
    out.extend_from_slice(br#"{"tradeNo":"#);
    put_text(out, trade_no.unwrap_or_default());
    out.extend_from_slice(br#","tradeNoIn":"#);
    match trade_no_in {
        Some(number) => put_text(out, number),
        None => put_text(out, &derived_trade_no_in(order_id)),
    }
    out.extend_from_slice(br#","orderId":"#);
    put_text(out, order_id);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    // A string always serializes, and writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Splits the text of a record into the fields before the lines, without a brace, and the lines, an
/// array. In a string within the JSON, a quotation mark follows a backslash: so no string contains
/// [`LINES`].
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let brackets = text.iter().enumerate().filter(|(_, byte)| **byte == b'[');
    let mut splits = brackets.filter_map(|(at, _)| text.split_at_checked(at));
    splits.find_map(|(before, lines)| Some((before.strip_suffix(LINES)?, lines)))
}

/// Returns `shipmentErrorList`: the lines with a shipment error, or null.
fn shipment_errors(lines: &[u8]) -> Result<String, Error> {
    let mut lines: Vec<ShipmentError> = parsed(lines)?;
    lines.retain(|line| line.shipment_err_code != 0 || line.shipment_fail_desc.is_some());
    if lines.is_empty() { Ok("null".to_owned()) } else { json(&lines) }
}

#[cfg(test)]
mod tests;
