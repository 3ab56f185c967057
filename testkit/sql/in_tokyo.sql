-- SQLite: sets the recorded time zone to Tokyo's.
update metadata set value = 'Asia/Tokyo' where name = 'time_zone'
