-- The number of orders from the first import.
select count(*) from orders o join arrivals a on a.arrival_no = o.arrival_no where a.import_no = 1
