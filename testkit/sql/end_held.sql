-- For PostgreSQL: ends the sessions that held.sql counts, whose clients were killed.
select count(pg_terminate_backend(pid)) from pg_stat_activity where wait_event = 'PgSleep'
