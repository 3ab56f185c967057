-- For PostgreSQL: whoever adds to THE_TABLE is refused as SQLSTATE, so many TIMES. The tries are
-- counted by a sequence, which no rollback takes back.
create sequence tries;
create function refuse() returns trigger language plpgsql as $$ begin
    if nextval('tries') <= TIMES then
        raise exception 'refused for a test' using errcode = 'SQLSTATE';
    end if;
    return null;
end $$;
create constraint trigger refuse after insert on THE_TABLE
    deferrable initially WHEN for each row execute function refuse()
