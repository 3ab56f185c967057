-- The range of sale times stored for each day.
select group_no || '|' || day || '|' || currency || '|' || first_sale_at_ms || '|' ||
    last_sale_at_ms
from sales_by_day order by 1
