-- For PostgreSQL: removes the time zone, which the next store to open the data records.
delete from metadata where name = 'time_zone'
