-- For PostgreSQL: cancels every wait for the standby, as an operator may.
select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep'
