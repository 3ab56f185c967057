-- The names that orders gave to products.
select group_no || '|' || goods_id || '|' || goods_name || '|' || sale_at_ms
from goods_names order by 1
