-- The totals of days that are not zero, one per line, with dates for days.
select 'day|' || g.group_id || '|' || date(s.day * 86400, 'unixepoch') || '|' || s.currency || '|' ||
    s.orders || '|' || s.items || '|' || s.amount || '|' || s.refund || '|' || s.shipped || '|' ||
    s.failed
from sales_by_day s join groups g on g.group_no = s.group_no
where s.orders <> 0 or s.items <> 0 or s.amount <> 0 or s.refund <> 0
order by 1
