-- For PostgreSQL: other sessions can read and not write until this transaction ends, except the
-- table of nodes.
begin;
do $$ begin
    execute (
        select 'lock table ' || string_agg(format('%I', table_name), ', ') || ' in exclusive mode'
        from information_schema.tables
        where table_schema = current_schema() and table_name <> 'nodes'
    );
end $$
