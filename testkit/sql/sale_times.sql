-- The time at which each order became a sale.
select order_id || '|' || coalesce(sale_at_ms, '-') from orders order by 1
