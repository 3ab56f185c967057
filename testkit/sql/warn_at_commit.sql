-- PostgreSQL: makes each commit of a row that is added to THE_TABLE return a warning, which
-- `warn_at_commit` does.
create function warn_at_commit() returns trigger language plpgsql as $$
begin
    raise warning 'planted';
    return null;
end $$;
create constraint trigger warn_at_commit after insert on THE_TABLE
    deferrable initially deferred for each row execute function warn_at_commit();
