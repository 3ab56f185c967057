-- SQLite: marks the data as moved to a database.
insert into metadata (name, value) values ('moved_at', '1772445600000');
pragma user_version = 1;
