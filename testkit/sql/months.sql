-- The rows of months, one per line.
select m.group_no, m.month, d.device_code as name, m.currency, m.days, null as devices
from device_months m join devices d on d.device_no = m.device_no
union all
select m.group_no, m.month, m.goods_id, m.currency, m.days, m.devices
from product_months m
order by 1, 2, 3, 4
