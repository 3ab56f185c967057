-- Replaces the time zone of the data.
update metadata set value = 'Asia/Tokyo' where name = 'time_zone'
