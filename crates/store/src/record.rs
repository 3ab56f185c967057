//! Orders as they are kept: ready JSON, of which the store never looks inside. Whoever renders it
//! tells what is needed of it, as a [`RecordShape`].

use kiosque_model::sales::Sale;
use kiosque_model::{DeviceCode, OrderId, TradeNo, UnixMs};

use crate::Error;
use crate::sql::Row;

/// An order as it is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which fields the JSON has.
    pub shape: i64,
    /// The common head, without what has columns of its own.
    pub head: String,
    /// The lines: an array.
    pub lines: String,
    /// The shipment errors: an array, or none.
    pub errors: Option<String>,
}

/// An order that comes in.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Who sold it.
    pub device_code: DeviceCode,
    /// Its identity within the group.
    pub order_id: OrderId,
    /// Decides whose order it is.
    pub trade_start: UnixMs,
    /// External trade number.
    pub trade_no: Option<TradeNo>,
    /// Internal trade number, when told.
    pub trade_no_in: Option<TradeNo>,
    /// The lines whose product name was not told, by position; the store leaves them to
    /// [`RecordShape::settle`].
    pub nameless_lines: Vec<usize>,
    /// The sale that it is, if it is one.
    pub sale: Option<Sale>,
    /// As it would be kept were it new.
    pub record: Record,
}

/// What is kept of an order that comes in again.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The internal trade number it was told with, if any.
    pub trade_no_in: Option<String>,
    /// The record.
    pub record: Record,
}

/// An order as it is kept: ready JSON, to be put together by whoever knows its shape.
#[derive(Clone, Copy, Debug)]
pub struct Ready<'a> {
    /// Which fields the JSON has.
    pub shape: i64,
    /// The common head, without what has columns of its own.
    pub head: &'a [u8],
    /// The lines: an array.
    pub lines: &'a [u8],
    /// The shipment errors: an array, or none.
    pub errors: Option<&'a str>,
    /// The external trade number, if there is one.
    pub trade_no: Option<&'a str>,
    /// The internal trade number it was told with; without one it is derived.
    pub trade_no_in: Option<&'a str>,
    /// Its identity within the group.
    pub order_id: &'a str,
}

impl<'a> Ready<'a> {
    /// Reads `shape, head, lines, errors, trade_no, trade_no_in, order_id`, which begin with column
    /// `first`.
    pub(crate) fn of(row: &'a Row<'_>, first: usize) -> Result<Ready<'a>, Error> {
        Ok(Ready {
            shape: row.int(first)?,
            head: row.bytes(first + 1)?,
            lines: row.bytes(first + 2)?,
            errors: row.maybe_text(first + 3)?,
            trade_no: row.maybe_text(first + 4)?,
            trade_no_in: row.maybe_text(first + 5)?,
            order_id: row.text(first + 6)?,
        })
    }
}

impl Incoming {
    /// As it would be read were it kept as it came in.
    #[must_use]
    pub fn ready(&self) -> Ready<'_> {
        Ready {
            shape: self.record.shape,
            head: self.record.head.as_bytes(),
            lines: self.record.lines.as_bytes(),
            errors: self.record.errors.as_deref(),
            trade_no: self.trade_no.as_ref().map(TradeNo::as_str),
            trade_no_in: self.trade_no_in.as_ref().map(TradeNo::as_str),
            order_id: self.order_id.as_str(),
        }
    }
}

/// What the store must be told of records, whose inside it does not know.
pub trait RecordShape: Send + Sync + std::fmt::Debug {
    /// What an order that comes in again is to be kept as: names and numbers that it leaves out
    /// stay what they were.
    ///
    /// # Errors
    /// What is kept cannot be read.
    fn settle(&self, incoming: &Incoming, kept: &Kept) -> Result<Record, Error>;

    /// The sale that a kept order is, which was paid at `at`.
    ///
    /// # Errors
    /// What is kept cannot be read.
    fn sale(&self, head: &[u8], lines: &[u8], at: UnixMs) -> Result<Sale, Error>;

    /// Returns when a stored order became a sale, in the form of FMT-2 and the platform's zone;
    /// `None` while it is none.
    ///
    /// # Errors The stored text cannot be read.
    fn sale_time(&self, head: &[u8], lines: &[u8]) -> Result<Option<String>, Error>;

    /// The head of today's shape, and that shape, for a head of the first one.
    ///
    /// # Errors
    /// What is kept cannot be read.
    fn renewed(&self, first_head: &[u8]) -> Result<(i64, String), Error>;
}
