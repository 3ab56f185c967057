-- For PostgreSQL: the first process that moves the boundary of the device CODE sleeps for a day
-- before it does. A sequence counts them, since no rollback takes its numbers back.
create sequence first_boundary;
create function hold_boundary() returns trigger language plpgsql as $$ begin
    if nextval('first_boundary') = 1 then
        perform pg_sleep(86400);
    end if;
    return new;
end $$;
create trigger hold_boundary before update of archived_seq on ledger for each row
    when (new.device_code = 'CODE') execute function hold_boundary()
