-- For PostgreSQL: removes the time zone, which the next store to open the data records.
delete from house where name = 'time_zone'
