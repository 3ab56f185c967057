//! Whether the database server has room for orders: now and then it writes a file.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;

use super::{Postgres, TimeLimits};
use crate::Error;
use crate::db::Deadline;

/// Begins the transaction that writes the file: the server writes what exceeds this memory.
const BEGIN: &str = "begin read only; set local work_mem = '64kB'";
/// Writes a mebibyte to a temporary file: the server stores the rows of a function in `from` before
/// it reads them.
const WRITE_FILE: &str = "select count(*) from unnest(array_fill(repeat('x', 8192), array[128]))";
/// The time between two files of this node.
const INTERVAL: Duration = Duration::from_secs(10);
/// The time between two files while there was no room for the last one.
const INTERVAL_WITHOUT_ROOM: Duration = Duration::from_secs(1);

/// What the last file showed.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When the next file is due; `None` before the first one.
    next_at: Option<Instant>,
    /// The server's message when there was no room.
    fault: Option<String>,
}

impl Postgres {
    /// Fails if the database server had no room for the last file, and starts to write the next one
    /// if it is due. Neither the lease nor most changes notice a full disk: they write to pages and
    /// to log files that exist.
    ///
    /// The caller does not wait for the file, because a server that is only slow takes orders.
    pub(in crate::db) fn check_room(self: &Arc<Self>) -> Result<(), Error> {
        if self.room.is_due(Instant::now()) {
            let postgres = Arc::clone(self);
            self.runtime.spawn(async move {
                let written = postgres.write_file().await;
                postgres.room.note(written, Instant::now());
            });
        }
        self.room.known()
    }

    async fn write_file(self: &Arc<Self>) -> Result<(), Error> {
        let write = async |postgres: &Arc<Postgres>, limits: TimeLimits| {
            let connection = postgres.begin(BEGIN, limits).await?;
            let written = connection.first(WRITE_FILE, &[]).await;
            postgres.roll_back(connection).await;
            written.map(drop)
        };
        self.on_blocking_pool(Deadline::OfRequest, write).await
    }
}

impl Room {
    /// Returns whether a file is due, and sets the time of the next one.
    fn is_due(&self, now: Instant) -> bool {
        let mut state = lock_ignoring_poison(&self.0);
        let is_due = state.next_at.is_none_or(|at| at <= now);
        if is_due {
            state.next_at = Some(now + INTERVAL);
        }
        is_due
    }

    /// Notes the outcome of a file. A failure of another kind says nothing about the room: only
    /// orders that cannot be stored may be refused.
    fn note(&self, written: Result<(), Error>, now: Instant) {
        let mut state = lock_ignoring_poison(&self.0);
        match written {
            Ok(()) => state.fault = None,
            Err(Error::File(fault)) => {
                state.next_at = Some(now + INTERVAL_WITHOUT_ROOM);
                state.fault = Some(fault);
            }
            Err(_) => {}
        }
    }

    fn known(&self) -> Result<(), Error> {
        match &lock_ignoring_poison(&self.0).fault {
            Some(fault) => Err(Error::File(fault.clone())),
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
    fn only_a_file_without_room_is_a_fault_and_the_next_one_ends_it() {
        let (room, start) = (Room::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let due_at = |times: [u64; 5]| times.map(|seconds| room.is_due(after(seconds)));
        assert_eq!(due_at([0, 0, 9, 10, 19]), [true, false, false, true, false]);

        let full = || Err(Error::File("no room".to_owned()));
        room.note(Err(Error::Busy(INTERVAL)), after(19));
        assert!(room.known().is_ok());
        room.note(full(), after(19));
        assert_eq!(room.known().map_err(|fault| fault.to_string()), Err("no room".to_owned()));
        assert_eq!(due_at([19, 20, 20, 29, 30]), [false, true, false, false, true]);
        room.note(Err(Error::Busy(INTERVAL)), after(30));
        assert!(room.known().is_err(), "it is not known to have room again");
        room.note(Ok(()), after(30));
        assert!(room.known().is_ok());
    }

    /// The statement reaches the disk: its rows exceed the memory that they may take.
    #[tokio::test]
    async fn the_server_writes_a_mebibyte_to_a_file() {
        let address = Address::parse(Schema::new().url()).expect("an address");
        let connection = Connection::open(&address, INTERVAL).await.expect("a connection");
        connection.begin(BEGIN).await.expect("a transaction");
        let plan = format!("explain (analyze, buffers) {WRITE_FILE}");
        let plan = connection.client.query(&plan, &[]).await.expect("a plan");
        let plan: Vec<String> = plan.iter().map(|line| line.get(0)).collect();
        let pages = plan.iter().find_map(|line| line.split_once(" written=")?.1.parse().ok());
        assert!(pages.is_some_and(|pages: u32| pages >= 128), "{plan:#?}");
    }
}
