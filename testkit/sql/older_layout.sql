-- SQLite: marks the data as that of a program without the last migration.
delete from migrations where number = (select max(number) from migrations)
