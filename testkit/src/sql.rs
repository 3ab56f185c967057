//! Statements that look at, hold or damage a test's data where the store offers no function.
//!
//! The first line of a file says what its statement does, and for which engine if not for both.

macro_rules! files {
    ($($(#[$doc:meta])* $name:ident = $file:literal,)*) => {
        $($(#[$doc])* pub const $name: &str = include_str!(concat!("../sql/", $file));)*
    };
}

files! {
    /// PostgreSQL: makes the server request the password of the role `tills`.
    ASK_PASSWORD = "ask_password.sql",
    /// PostgreSQL: the number of the nodes' connections.
    BACKENDS = "backends.sql",
    /// The range of sale times stored for each day.
    BOUNDS = "bounds.sql",
    /// PostgreSQL: cancels every wait for the standby.
    CANCEL_WAITS = "cancel_waits.sql",
    /// PostgreSQL: creates a database that has few characters.
    CREATE_LATIN1_DATABASE = "create_latin1_database.sql",
    /// Gives the device `D1` a wrong stock, and a code that clears a terminal.
    CLEAR_SCREEN = "clear_screen.sql",
    /// Adds `BY` to a column of `ORDER` that its checksum covers.
    DAMAGE_ORDER = "damage_order.sql",
    /// The codes of all devices, in order.
    DEVICE_CODES = "device_codes.sql",
    /// The sums of the devices of each block and day.
    DEVICE_SUMS = "device_sums.sql",
    /// The number of dictionaries.
    DICTIONARIES = "dictionaries.sql",
    /// SQLite: writes the log into the database file; `0|0|0` if no snapshot is older than the end
    /// of the log.
    EMPTY_LOG = "empty_log.sql",
    /// PostgreSQL: ends the sessions that [`HELD`] counts.
    END_HELD = "end_held.sql",
    /// PostgreSQL: ends the sessions of the role `tills` that wait for another transaction.
    END_POOLED = "end_pooled.sql",
    /// PostgreSQL: every row of every table, with the transaction that wrote it.
    EVERY_ROW = "every_row.sql",
    /// Citus: every row of every table, with the transaction on its node that wrote it.
    EVERY_ROW_CITUS = "every_row_citus.sql",
    /// PostgreSQL: removes the recorded time zone.
    FORGET_ZONE = "forget_zone.sql",
    /// PostgreSQL: undoes [`FULL_DISK`].
    FREE_DISK = "free_disk.sql",
    /// PostgreSQL: makes new orders, and the file that shows whether the server has room, fail as
    /// on a full disk.
    FULL_DISK = "full_disk.sql",
    /// PostgreSQL: the number of sessions that sleep in a trigger of [`HOLD_MOVE`],
    /// [`HOLD_DICTIONARY`] or [`HOLD_BOUNDARY`].
    HELD = "held.sql",
    /// The number of histories of all groups.
    HISTORIES = "histories.sql",
    /// PostgreSQL: makes the first process that moves the archive boundary of the device `CODE`
    /// sleep.
    HOLD_BOUNDARY = "hold_boundary.sql",
    /// PostgreSQL: undoes [`HOLD_BOUNDARY`].
    HOLD_BOUNDARY_NO_MORE = "hold_boundary_no_more.sql",
    /// PostgreSQL: makes the first process that adds a dictionary sleep.
    HOLD_DICTIONARY = "hold_dictionary.sql",
    /// SQLite: makes each process that adds a dictionary compute for days, until the trigger
    /// `hold_dictionary` is dropped.
    HOLD_DICTIONARY_SQLITE = "hold_dictionary_sqlite.sql",
    /// PostgreSQL: begins a transaction that locks the group `GROUP`.
    HOLD_GROUP = "hold_group.sql",
    /// PostgreSQL: makes a move sleep before it adds `FIRST_ORDER`, then before `SECOND_ORDER`.
    HOLD_MOVE = "hold_move.sql",
    /// SQLite: sets the recorded time zone to Tokyo's.
    IN_TOKYO = "in_tokyo.sql",
    /// PostgreSQL: begins a transaction that blocks every other writer.
    HOLD_WRITES_POSTGRES = "hold_writes_postgres.sql",
    /// SQLite: begins a transaction that blocks every other writer.
    HOLD_WRITES_SQLITE = "hold_writes_sqlite.sql",
    /// The number of orders from the first import.
    IMPORTED_ORDERS = "imported_orders.sql",
    /// SQLite: the number and the entries of each page of the orders, or of an index of them, that
    /// has no pages below it.
    LEAVES_OF_ORDERS = "leaves_of_orders.sql",
    /// PostgreSQL: locks the table of sessions, so that no other transaction can read it.
    LOCK_SESSIONS = "lock_sessions.sql",
    /// Makes the last change of each group that has two the first one.
    LOSE_CHANGE = "lose_change.sql",
    /// SQLite: marks the data as moved to a database.
    MOVED_AWAY = "moved_away.sql",
    /// The names that orders gave to products.
    NAMES = "names.sql",
    /// PostgreSQL: the number of transactions that are open and wait for their client.
    OPEN_SNAPSHOTS = "open_snapshots.sql",
    /// The sequence number of each order.
    ORDER_SEQS = "order_seqs.sql",
    /// The number of orders.
    ORDERS_STORED = "orders_stored.sql",
    /// PostgreSQL: adds primaries of another cluster, as a restored dump has them.
    OTHER_CLUSTER = "other_cluster.sql",
    /// SQLite: gives the recorded time zone the rules of Paris.
    OTHER_ZONE_RULES = "other_zone_rules.sql",
    /// SQLite: a table of another program.
    PHOTOS = "photos.sql",
    /// PostgreSQL: refuses the first `TIMES` insertions into `THE_TABLE` with `SQLSTATE`.
    REFUSE_AT_FIRST = "refuse_at_first.sql",
    /// Citus: on each worker, refuses the first `TIMES` insertions into the shards of `THE_TABLE`
    /// with `SQLSTATE`.
    REFUSE_AT_FIRST_CITUS = "refuse_at_first_citus.sql",
    /// PostgreSQL: undoes [`REFUSE_TO_OPEN`].
    REFUSE_NO_MORE = "refuse_no_more.sql",
    /// PostgreSQL: makes the end of a move fail.
    REFUSE_TO_OPEN = "refuse_to_open.sql",
    /// PostgreSQL: makes every update of the order `ORDER` fail.
    REFUSE_UPDATES_POSTGRES = "refuse_updates_postgres.sql",
    /// SQLite: makes every update of the order `ORDER` fail.
    REFUSE_UPDATES_SQLITE = "refuse_updates_sqlite.sql",
    /// The time from which each order is a sale.
    SALE_TIMES = "sale_times.sql",
    /// Renames a table that the checks of the service read.
    SET_RATES_ASIDE = "set_rates_aside.sql",
    /// Renames a table that the totals of the data are read from.
    SET_TOTALS_ASIDE = "set_totals_aside.sql",
    /// Sets the last update of every running import back by more than a minute.
    SILENCE_IMPORTS = "silence_imports.sql",
    /// The totals that are not zero.
    SUMS = "sums.sql",
    /// PostgreSQL: drops the schema and all that is in it.
    TEAR_DOWN = "tear_down.sql",
    /// PostgreSQL: makes each commit of an audit entry return a warning.
    WARN_AT_COMMIT = "warn_at_commit.sql",
    /// PostgreSQL: the transactions that wrote orders.
    WRITERS_OF_ORDERS = "writers_of_orders.sql",
    /// Citus: the transactions that wrote orders, by node.
    WRITERS_OF_ORDERS_CITUS = "writers_of_orders_citus.sql",
    /// Gives the last day with sales a wrong number of orders.
    WRONG_LAST_DAY = "wrong_last_day.sql",
}
