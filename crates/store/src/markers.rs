//! Markers that commands store with the data.

use crate::db::{Deadline, Write};
use crate::error::Error;
use crate::metadata;
use crate::views::Upkeep;

impl Upkeep<'_> {
    /// Returns the value of a marker that a command stored with the data, by the marker's name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn marker(self, name: &str) -> Result<Option<String>, Error> {
        metadata::entry_now(&self.0.db, &metadata::marker_entry(name)).await
    }

    /// Stores a marker with the data.
    ///
    /// # Errors
    /// The store failed.
    pub async fn set_marker(self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (name.to_owned(), value.to_owned());
        let set = async move |write: &Write<'_>| metadata::set_marker(write, &name, &value).await;
        self.0.db.write(Deadline::OfRequest, set).await
    }
}
