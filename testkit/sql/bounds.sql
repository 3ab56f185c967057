-- The sale times that each day is said to span.
select group_no || '|' || day || '|' || currency || '|' || first_sale_at_ms || '|' ||
    last_sale_at_ms
from sales_by_day order by 1
