//! JSON: of one value, and of a page's records in one buffer.

use serde::Serialize;

use crate::error::Error;

/// The usual size of a page of ten orders.
const USUAL_BYTES: usize = 12 << 10;

/// Returns the JSON of a value.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Data(format!("rendering: {error}")))
}

/// Appends the JSON of a value.
pub(crate) fn put_json(json: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer(json, value).map_err(|error| Error::Data(format!("rendering: {error}")))
}

/// JSON values in one buffer, each readable as a slice.
#[derive(Clone, Debug, Default)]
pub struct JsonRecords {
    json: Vec<u8>,
    ends: Vec<usize>,
}

impl JsonRecords {
    /// Adds a value. After an error, the buffer is no longer usable.
    pub(crate) fn push(&mut self, value: &impl Serialize) -> Result<(), Error> {
        self.push_with(|json| put_json(json, value))
    }

    /// Adds the value that `render` appends.
    pub(crate) fn push_with(
        &mut self,
        render: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.json.is_empty() {
            self.json.reserve(USUAL_BYTES);
        }
        render(&mut self.json)?;
        self.ends.push(self.json.len());
        Ok(())
    }

    /// Returns the buffer without spare capacity, and its size in bytes.
    pub(crate) fn shrunk(mut self) -> (JsonRecords, usize) {
        self.json.shrink_to_fit();
        let size = self.json.len() + size_of_val(self.ends.as_slice());
        (self, size)
    }

    /// Returns the value that was added after `at` others.
    pub(crate) fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.json.get(start.unwrap_or(0)..*self.ends.get(at)?)
    }

    /// Returns each value, in the order in which they were added.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|at| self.get(at))
    }
}
