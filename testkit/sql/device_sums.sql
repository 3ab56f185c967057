-- The sums of the devices of each block and day, one per line, with dates for days.
select g.group_id, date(s.day * 86400, 'unixepoch') as date, s.device_block, s.currency, s.devices,
    s.products
from sales_by_device s join groups g on g.group_no = s.group_no
order by 1, 2, 3, 4
