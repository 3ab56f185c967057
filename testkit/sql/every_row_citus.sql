-- For Citus: every row of every table of the schema with the transaction that wrote it, except the
-- table of nodes, which changes with time. The shards are read one by one, since a distributed
-- table has no xmin.
select r.logicalrelid || ' at ' || p.nodeport || ': ' || p.success || p.result
from pg_dist_partition r, run_command_on_placements(r.logicalrelid,
    'select coalesce(string_agg(xmin || stored::text, chr(10) order by ctid), '''')
    from %s stored') p
where r.logicalrelid in (
    select oid from pg_class where relnamespace = current_schema()::regnamespace
)
union all
select table_name || ': ' || query_to_xml(
    format('select xmin, t.* from %I t order by ctid', table_name), true, true, '')::text
from information_schema.tables
where table_schema = current_schema() and table_name <> 'nodes'
    and to_regclass(table_name) not in (select logicalrelid from pg_dist_partition)
order by 1
