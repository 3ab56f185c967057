-- For Citus: on each worker, the first TIMES insertions into the shards of THE_TABLE fail with
-- SQLSTATE. A sequence of the worker counts the tries, since no rollback undoes it. The function is
-- created on every node.
do $$ begin
    execute format('create function refuse() returns trigger language plpgsql as $body$ begin
        if nextval(''%I.tries'') <= TIMES then
            raise exception ''refused for a test'' using errcode = ''SQLSTATE'';
        end if;
        return null;
    end $body$', current_schema());
end $$;
select run_command_on_workers(format('create sequence %I.tries', current_schema()));
select run_command_on_placements('THE_TABLE', format('create constraint trigger refuse
    after insert on %%s deferrable initially WHEN for each row execute function %I.refuse()',
    current_schema()));
