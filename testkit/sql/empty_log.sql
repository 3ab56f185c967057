-- SQLite: writes the log into the database file, and says how much an old snapshot kept in it.
pragma wal_checkpoint(truncate)
