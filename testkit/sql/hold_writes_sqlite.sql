-- For SQLite: others may read and not write until this transaction ends.
begin immediate;
