-- For PostgreSQL: a move sleeps for a day before it adds FIRST_ORDER, and in a later run before it
-- adds SECOND_ORDER; each of them holds one run only. A sequence counts the runs, since no rollback
-- takes its numbers back. The triggers are created with the table of orders, which a move creates.
create sequence first_hold;
create sequence second_hold;
create function hold() returns trigger language plpgsql as $$ begin
    if nextval(tg_argv[0]) = 1 then
        perform pg_sleep(86400);
    end if;
    return new;
end $$;
create function guard() returns event_trigger language plpgsql as $$ begin
    if to_regclass('orders') is not null
        and not exists (select from pg_trigger where tgname = 'first_hold') then
        create trigger first_hold before insert on orders for each row
            when (new.order_id = 'FIRST_ORDER') execute function hold('first_hold');
        create trigger second_hold before insert on orders for each row
            when (new.order_id = 'SECOND_ORDER') execute function hold('second_hold');
    end if;
end $$;
create event trigger guard on ddl_command_end when tag in ('CREATE TABLE')
    execute function guard()
