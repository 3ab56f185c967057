-- PostgreSQL: makes each commit of an audit entry return a warning, which `warn_at_commit` does.
create function warn_at_commit() returns trigger language plpgsql as $$
begin
    raise warning 'planted';
    return null;
end $$;
create constraint trigger warn_at_commit after insert on audit
    deferrable initially deferred for each row execute function warn_at_commit();
