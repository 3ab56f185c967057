-- For PostgreSQL: how many sessions sleep in a trigger of hold_move.sql or hold_first.sql.
select count(*) from pg_stat_activity where wait_event = 'PgSleep'
