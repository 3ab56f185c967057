-- SQLite: writes the log to the database file, and returns how much an old snapshot kept in it.
pragma wal_checkpoint(truncate)
