-- The number of orders.
select count(*) from orders
