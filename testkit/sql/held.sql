-- For PostgreSQL: how many sessions sleep in a trigger of hold_move.sql, hold_dictionary.sql or
-- hold_boundary.sql.
select count(*) from pg_stat_activity where wait_event = 'PgSleep'
