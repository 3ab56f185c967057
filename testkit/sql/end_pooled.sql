-- PostgreSQL: ends the sessions of the role `tills` that wait for another transaction.
select pg_terminate_backend(pid) from pg_stat_activity
where usename = 'tills' and state = 'idle' and query in ('commit', 'rollback')
