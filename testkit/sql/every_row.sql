-- For PostgreSQL: every row of every table of the schema with the transaction that wrote it, except
-- the table of nodes, which changes with time.
select table_name || ': ' || query_to_xml(
    format('select xmin, t.* from %I t order by ctid', table_name), true, true, '')::text
from information_schema.tables
where table_schema = current_schema() and table_name <> 'nodes'
order by table_name
