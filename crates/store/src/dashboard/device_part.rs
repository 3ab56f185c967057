//! Parts of a list of devices. A long list is read in parts, each from a separate snapshot, so that
//! no snapshot is held while the client reads the list.

use super::DashboardQuery;
use super::filter::rows_of;
use crate::sql::Value;

/// The devices of a list after a code, in the order of codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePart {
    /// The part begins after this code; the empty code begins the list.
    pub after: String,
    /// The most devices.
    pub size: usize,
}

/// The devices of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicesRead<A> {
    /// The accumulated devices.
    pub devices: A,
    /// The code after which the next part begins; `None` if this is the last part.
    pub next: Option<String>,
}

/// The devices of a part, as they arrive.
#[derive(Default)]
pub(super) struct PartRows<A> {
    pub(super) devices: A,
    count: usize,
    last: String,
}

impl DevicePart {
    /// Returns the first part of a list.
    #[must_use]
    pub fn first(size: usize) -> DevicePart {
        DevicePart { after: String::new(), size }
    }

    /// Returns the codes of the filter that belong to this part, and the one after which the next
    /// part begins.
    fn filtered<'q>(&self, codes: &[&'q str]) -> (Vec<&'q str>, Option<&'q str>) {
        let mut codes: Vec<&str> =
            codes.iter().copied().filter(|code| *code > self.after.as_str()).collect();
        let has_more = codes.len() > self.size;
        codes.truncate(self.size);
        let next = codes.last().copied().filter(|_| has_more);
        (codes, next)
    }

    /// Returns the codes of the filter that belong to this part, as rows of a bulk statement.
    pub(super) fn filter_rows<'q>(&self, codes: &[&'q str]) -> Vec<Vec<Value<'q>>> {
        rows_of(&self.filtered(codes).0)
    }
}

impl<A> PartRows<A> {
    /// Counts the device of a row.
    pub(super) fn visit(&mut self, code: &str) {
        if self.last != code {
            self.count += 1;
            self.last.clear();
            self.last.push_str(code);
        }
    }

    /// Returns the part formed by these rows, of the devices with the codes of a query.
    pub(super) fn finish(self, part: &DevicePart, query: &DashboardQuery) -> DevicesRead<A> {
        let next = match query.codes() {
            None => (self.count >= part.size).then_some(self.last),
            Some(codes) => part.filtered(&codes).1.map(str::to_owned),
        };
        DevicesRead { devices: self.devices, next }
    }
}
