-- Replaces the time zone of the data.
update house set value = 'Asia/Tokyo' where name = 'time_zone'
