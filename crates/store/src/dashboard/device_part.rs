//! Parts of a list of devices, as JSON. A long list is read in parts, each from a separate
//! snapshot, so that no snapshot is held while the client reads the list.

use bytes::Bytes;

/// The devices of a list after a code, in the order of codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePart {
    /// The part begins after this code; the empty code begins the list.
    pub after: String,
    /// The most devices.
    pub size: usize,
    /// The part ends with the device with which its JSON reaches this length.
    pub most_bytes: usize,
}

/// The devices of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevicesRead {
    /// A comma and the JSON of each device, so that parts can be concatenated.
    pub json: Bytes,
    /// The number of devices.
    pub devices: i64,
    /// The number of the online ones among them, which only lists of all devices count.
    pub online: i64,
    /// The code after which the next part begins; `None` if this is the last part.
    pub next: Option<String>,
}

/// The devices of a part, as they are added.
#[derive(Default)]
pub(super) struct PartElements {
    pub(super) json: Vec<u8>,
    pub(super) devices: usize,
    pub(super) online: i64,
    last: String,
    /// Whether further devices belong to the next part.
    is_full: bool,
}

impl DevicePart {
    /// Returns the codes of a filter that belong to this part, and the one after which the next
    /// part begins.
    pub(super) fn filtered<'q>(&self, codes: &[&'q str]) -> (Vec<&'q str>, Option<&'q str>) {
        let mut codes: Vec<&str> =
            codes.iter().copied().filter(|code| *code > self.after.as_str()).collect();
        let has_more = codes.len() > self.size;
        codes.truncate(self.size);
        let next = codes.last().copied().filter(|_| has_more);
        (codes, next)
    }
}

impl PartElements {
    /// Begins the JSON of a device; returns whether the device belongs to this part, which ends at
    /// `most_bytes`.
    pub(super) fn begin(&mut self, code: &str, most_bytes: usize) -> bool {
        self.is_full |= self.devices > 0 && self.json.len() >= most_bytes;
        if self.is_full {
            return false;
        }
        self.devices += 1;
        self.last.clear();
        self.last.push_str(code);
        self.json.push(b',');
        true
    }

    /// Returns the code of the last device.
    pub(super) fn last(&self) -> String {
        self.last.clone()
    }

    /// Returns the part. The next one begins after the code `next`, or earlier if this one is full.
    pub(super) fn finish(self, next: Option<String>) -> DevicesRead {
        DevicesRead {
            json: Bytes::from(self.json),
            devices: i64::try_from(self.devices).unwrap_or(i64::MAX),
            online: self.online,
            next: if self.is_full { Some(self.last) } else { next },
        }
    }
}
