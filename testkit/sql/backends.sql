-- For PostgreSQL: the number of connections of its nodes.
select count(*) from pg_stat_activity where application_name = 'kiosque'
