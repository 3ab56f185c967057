//! The records of a page, as JSON, while they are being read.

use kiosque_store::Error;

/// What a page of ten orders takes, more or less.
const USUAL_BYTES: usize = 12 << 10;

/// Records in the order in which they were read.
#[derive(Default)]
pub(crate) struct Records {
    json: Vec<u8>,
    ends: Vec<usize>,
}

impl Records {
    /// Adds the record that `render` appends.
    pub(crate) fn put(
        &mut self,
        render: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<(), Error> {
        if self.json.is_empty() {
            self.json.reserve(USUAL_BYTES);
        }
        render(&mut self.json).map_err(|error| Error::Data(format!("rendering: {error}")))?;
        self.ends.push(self.json.len());
        Ok(())
    }

    /// Each record.
    pub(crate) fn in_order(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|at| {
            let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
            self.json.get(start.unwrap_or(0)..*self.ends.get(at)?)
        })
    }
}
