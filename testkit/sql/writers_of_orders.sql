-- For PostgreSQL: the transactions that wrote the orders that there are.
select distinct xmin::text from orders
