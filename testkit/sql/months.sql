-- The rows of months, one per line.
select m.month || '|' || d.device_code || '|' || m.currency || '|' || hex(m.days)
from device_months m join devices d on d.device_no = m.device_no
union all
select m.month || '|' || m.goods_id || '|' || m.currency || '|' || hex(m.days) || '|' ||
    hex(m.devices)
from product_months m
order by 1
