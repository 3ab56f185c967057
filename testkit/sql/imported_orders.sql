-- The number of orders from the first import.
select count(*) from orders where arrival_no = 1
