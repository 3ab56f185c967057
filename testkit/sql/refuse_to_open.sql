-- For PostgreSQL: every deletion from the table of metadata fails, so that a move cannot end. The
-- trigger is created with the table, which a move creates.
create function refuse() returns trigger language plpgsql as $$ begin
    raise exception 'refused for a test';
end $$;
create function guard() returns event_trigger language plpgsql as $$ begin
    if to_regclass('metadata') is not null
        and not exists (select from pg_trigger where tgname = 'refuse') then
        create trigger refuse before delete on metadata for each row execute function refuse();
    end if;
end $$;
create event trigger guard on ddl_command_end when tag in ('CREATE TABLE')
    execute function guard()
