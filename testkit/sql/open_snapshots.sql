-- PostgreSQL: the number of transactions that are open and wait for their client.
select count(*) from pg_stat_activity
where datname = current_database() and state like 'idle in transaction%'
