-- The number of dictionaries.
select count(*) from dictionaries
