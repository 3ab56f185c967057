-- PostgreSQL: the number of orders of each key, then of those without a source.
select key_name, count(*) from orders left join arrivals using (arrival_no)
group by key_name
order by key_name
