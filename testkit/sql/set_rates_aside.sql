-- Renames a table that the checks of the service read.
alter table rates rename to rates_aside;
