//! Whether the database server has room for orders, that is space on its disk and a connection:
//! after a transaction for which there was none, the server periodically writes a test file until
//! that succeeds.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;

use super::{Postgres, TimeLimits};
use crate::db::Deadline;
use crate::error::Error;

/// Begins the transaction that writes the file: the server writes out what exceeds this memory.
const BEGIN: &str = "begin read only; set local work_mem = '64kB'";
/// Writes a mebibyte to a temporary file: the server stores the rows of a function in `from` before
/// it reads them.
const WRITE_FILE: &str = "select count(*) from unnest(array_fill(repeat('x', 8192), array[128]))";
/// The time between two files.
const INTERVAL: Duration = Duration::from_secs(2);

/// Why a transaction found no space or no connection; empty while there are both.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Option<Full>>);

#[derive(Debug)]
struct Full {
    /// The server's message, or why there was no connection.
    reason: String,
    /// When the next file is due.
    next_at: Instant,
}

impl Postgres {
    /// Fails after a transaction that found no space or no connection, until a file has shown that
    /// there are both again. The next file is written if it is due; the caller does not wait for
    /// it. Neither the lease, which has its own connection, nor an order that is stored shows it:
    /// most changes write to existing pages and log files.
    pub(in crate::db) fn check_room(self: &Arc<Self>) -> Result<(), Error> {
        if self.room.is_due(Instant::now()) {
            let postgres = Arc::clone(self);
            self.runtime.spawn(async move {
                if postgres.write_file().await.is_ok() {
                    postgres.room.found();
                }
            });
        }
        self.room.check()
    }

    async fn write_file(self: &Arc<Self>) -> Result<(), Error> {
        let write = async |postgres: &Arc<Postgres>, limits: TimeLimits| {
            let connection = postgres.begin(BEGIN, limits).await?;
            let written = connection.client.query_one(WRITE_FILE, &[]).await;
            postgres.roll_back(connection).await;
            written.map(drop).map_err(Error::from)
        };
        self.on_blocking_pool(Deadline::OfRequest, write).await
    }
}

impl Room {
    /// Records that a transaction found no space or no connection.
    pub(super) fn lacks(&self, reason: String, now: Instant) {
        *lock_ignoring_poison(&self.0) = Some(Full { reason, next_at: now + INTERVAL });
    }

    /// Returns whether a file is due, and sets the time of the next one.
    fn is_due(&self, now: Instant) -> bool {
        let mut state = lock_ignoring_poison(&self.0);
        let due = state.as_mut().filter(|full| full.next_at <= now);
        due.map(|full| full.next_at = now + INTERVAL).is_some()
    }

    fn found(&self) {
        *lock_ignoring_poison(&self.0) = None;
    }

    fn check(&self) -> Result<(), Error> {
        match &*lock_ignoring_poison(&self.0) {
            Some(full) => Err(Error::File(full.reason.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use kiosque_testdb::Schema;

    use super::*;
    use crate::db::postgres::address::Address;
    use crate::db::postgres::connection::Connection;

    #[test]
    fn files_are_due_after_a_write_without_room_alone() {
        let (room, start) = (Room::default(), Instant::now());
        let is_due_after = |seconds| room.is_due(start + Duration::from_secs(seconds));
        assert!(!is_due_after(60) && room.check().is_ok());
        room.lacks("no room".to_owned(), start);
        let reason = room.check().map_err(|error| error.to_string());
        assert_eq!(reason, Err("no room".to_owned()));
        assert_eq!([1, 2, 3, 4].map(is_due_after), [false, true, false, true]);
        room.found();
        assert!(!is_due_after(60) && room.check().is_ok());
    }

    /// The statement writes to the disk: its rows exceed the allowed memory.
    #[tokio::test]
    async fn the_server_writes_a_mebibyte_to_a_file() {
        let address = Arc::new(Address::parse(Schema::new().url()).expect("an address"));
        let connection = Connection::open(&address, INTERVAL).await.expect("a connection");
        connection.begin(BEGIN).await.expect("a transaction");
        let plan = format!("explain (analyze, buffers) {WRITE_FILE}");
        let plan = connection.client.query(&plan, &[]).await.expect("a plan");
        let plan: Vec<String> = plan.iter().map(|line| line.get(0)).collect();
        let pages = plan.iter().find_map(|line| line.split_once(" written=")?.1.parse().ok());
        assert!(pages.is_some_and(|pages: u32| pages >= 128), "{plan:#?}");
    }
}
