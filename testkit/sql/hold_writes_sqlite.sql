-- For SQLite: other connections can read and not write until this transaction ends.
begin immediate;
