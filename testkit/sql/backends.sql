-- For PostgreSQL: how many connections its nodes have to it.
select count(*) from pg_stat_activity where application_name = 'kiosque'
