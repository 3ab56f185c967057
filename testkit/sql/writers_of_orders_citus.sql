-- For Citus: the transactions that wrote the stored orders, each with its node.
select distinct nodeport || ' ' || unnest(string_to_array(result, ' '))
from run_command_on_placements('orders', 'select string_agg(distinct xmin::text, '' '') from %s')
