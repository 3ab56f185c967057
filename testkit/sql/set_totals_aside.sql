-- Renames a table that the totals of the data are read from.
alter table migrations rename to set_aside;
