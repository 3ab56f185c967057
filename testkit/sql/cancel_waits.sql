-- Whoever waits for the standby is told to wait no longer, as an operator might.
select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep'
