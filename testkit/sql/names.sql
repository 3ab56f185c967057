-- The names that goods came with.
select group_no || '|' || goods_id || '|' || goods_name || '|' || sale_at_ms
from goods_names order by 1
