-- PostgreSQL: undoes `full_disk.sql`.
drop function array_fill(text, integer[]);
