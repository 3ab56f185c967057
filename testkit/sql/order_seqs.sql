-- The sequence number of each order.
select order_id, seq from orders order by order_id
