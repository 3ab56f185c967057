-- SQLite: gives the recorded time zone the rules of Paris.
update house set value = 'Europe/Paris' where name = 'time_zone'
