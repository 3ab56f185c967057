-- SQLite: gives the recorded time zone the rules of Paris.
update metadata set value = 'Europe/Paris' where name = 'time_zone'
