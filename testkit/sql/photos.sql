-- SQLite: a table of another program.
create table photos (name text);
