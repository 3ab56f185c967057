-- For PostgreSQL: the first process that adds a dictionary sleeps for a day before it does. A sequence
-- counts them, since no rollback takes its numbers back.
create sequence first_dictionary;
create function hold_dictionary() returns trigger language plpgsql as $$ begin
    if nextval('first_dictionary') = 1 then
        perform pg_sleep(86400);
    end if;
    return new;
end $$;
create trigger hold_dictionary before insert on dictionaries for each row
    execute function hold_dictionary()
