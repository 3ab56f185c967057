-- How many orders there are.
select count(*) from orders
