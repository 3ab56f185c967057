-- For PostgreSQL: every update of the order ORDER fails. Citus has triggers on distributed tables
-- only with this setting, which PostgreSQL ignores.
set citus.enable_unsafe_triggers = on;
create function refuse() returns trigger language plpgsql as $$ begin
    raise exception 'refused for a test';
end $$;
create trigger refuse before update on orders for each row when (new.order_id = 'ORDER')
    execute function refuse()
