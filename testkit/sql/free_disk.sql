-- PostgreSQL: undoes `full_disk.sql`.
set citus.enable_unsafe_triggers = on;
drop trigger no_room on orders;
drop function array_fill(text, integer[]);
