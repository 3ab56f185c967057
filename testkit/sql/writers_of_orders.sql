-- For PostgreSQL: the transactions that wrote the stored orders.
select distinct xmin::text from orders
