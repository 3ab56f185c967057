//! The orders of a group by their latest change.

use std::time::Duration;

use kiosque_client::{Change, OrderChanges, Position};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::listing::{Layout, Listing, Part};
use crate::lists::CHANGES;
use crate::remote::Remote;

/// A reader of changes, which releases the session after each answer.
#[derive(Debug)]
pub struct ChangeReader(OrderChanges);

impl ChangeReader {
    /// Returns a reader of the changes of a group after a cursor that [`ChangeReader::cursor`] has
    /// returned; from the first change on without one.
    ///
    /// # Errors
    /// The text is not the id of a group.
    pub async fn new(
        remote: &Remote,
        group: Option<&str>,
        after: Option<String>,
        size: Option<u64>,
    ) -> Result<ChangeReader, CommandError> {
        // A cursor of a server without a feed is JSON; one of a feed is opaque.
        let position =
            after.map(|after| serde_json::from_str(&after).unwrap_or(Position::Feed(Some(after))));
        let changes = remote
            .turn(async |turn| Ok(turn.group(group)?.changes(position.unwrap_or_default())))
            .await?;
        Ok(ChangeReader(match size {
            Some(size) => changes.size(size),
            None => changes,
        }))
    }

    /// Returns the next changes; none after the last one.
    ///
    /// # Errors
    /// The call was refused, or there is no session.
    pub async fn next(&mut self, remote: &Remote) -> Result<Vec<Value>, CommandError> {
        let changes = remote.turn(async |_| Ok(self.0.read(Duration::ZERO).await?)).await?;
        let record = |change: &Change| {
            let (number, order) = (change.change_no, change.order.json());
            json!({"changeNo": number, "order": order})
        };
        Ok(changes.iter().map(record).collect())
    }

    /// Returns the cursor after the changes that were read; `None` before the first one.
    pub fn cursor(&self) -> Option<String> {
        match self.0.position() {
            Position::Feed(cursor) => cursor.clone(),
            position => serde_json::to_string(position).ok(),
        }
    }

    /// Returns changes as a list.
    pub fn listing(records: Vec<Value>) -> Listing {
        let row = |change: &Value| {
            let mut row = change.get("order").cloned().unwrap_or_default();
            if let Some(row) = row.as_object_mut() {
                let number = change.get("changeNo").cloned().unwrap_or_default();
                row.insert("changeNo".to_owned(), number);
            }
            row
        };
        let rows = records.iter().map(row).collect();
        let part = Part { list: CHANGES, layout: Layout::Rows, rows };
        Listing { data: Value::Array(records.clone()), records, parts: vec![part] }
    }
}
