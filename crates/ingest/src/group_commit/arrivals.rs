//! The arrivals of streamed orders, separate for each key. A new one begins every few minutes, so
//! that it shows when its orders came.

use std::collections::HashMap;
use std::fs;

use kiosque_model::{KeyName, UnixMs};
use kiosque_store::{ARRIVAL_MAX_MS, ArrivalNo, Error, Store};

const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// The current arrival of each key.
#[derive(Debug)]
pub(super) struct Arrivals {
    node: Option<String>,
    by_key: HashMap<KeyName, (ArrivalNo, UnixMs)>,
}

impl Arrivals {
    /// Returns no arrivals, of a node with this machine's host name. Only Linux has the file.
    pub(super) fn here() -> Arrivals {
        let name = fs::read_to_string(HOST_NAME).unwrap_or_default();
        let node = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        Arrivals { node, by_key: HashMap::new() }
    }

    /// Makes each key begin another arrival.
    pub(super) fn forget(&mut self) {
        self.by_key.clear();
    }

    /// Returns the arrival of the orders that a key streams now.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn of(
        &mut self,
        store: &Store,
        key: &KeyName,
        now: UnixMs,
    ) -> Result<ArrivalNo, Error> {
        if let Some((arrival, since)) = self.by_key.get(key)
            // A clock that was set back begins a new one.
            && (0..ARRIVAL_MAX_MS).contains(&now.0.saturating_sub(since.0))
        {
            return Ok(*arrival);
        }
        let arrival = store.intake().begin_arrival(key.clone(), self.node.clone(), now).await?;
        self.by_key.insert(key.clone(), (arrival, now));
        Ok(arrival)
    }
}
