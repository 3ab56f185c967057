-- For PostgreSQL: the second timeline was a primary long ago, as a dump of another cluster says.
insert into nodes (node, seen_at_ms) values ('00000002', 0), ('00000002 1', 0)
