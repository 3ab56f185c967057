-- For PostgreSQL: the first TIMES insertions into THE_TABLE fail with SQLSTATE. A sequence counts
-- the tries, since no rollback undoes it.
create sequence tries;
create function refuse() returns trigger language plpgsql as $$ begin
    if nextval('tries') <= TIMES then
        raise exception 'refused for a test' using errcode = 'SQLSTATE';
    end if;
    return null;
end $$;
create constraint trigger refuse after insert on THE_TABLE
    deferrable initially WHEN for each row execute function refuse()
