-- For PostgreSQL: the first process that is about to make a CHANGE sleeps for a day before it does. A
-- sequence counts them, since no rollback takes its numbers back.
create sequence first_held;
create function hold_first() returns trigger language plpgsql as $$ begin
    if nextval('first_held') = 1 then
        perform pg_sleep(86400);
    end if;
    return new;
end $$;
create trigger hold_first before CHANGE execute function hold_first()
