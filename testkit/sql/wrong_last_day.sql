-- Gives the last day with sales a wrong number of orders.
update sales_by_day set orders = 9 where day = (select max(day) from sales_by_day)
