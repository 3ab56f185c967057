-- Renames a table that the checks of the service read.
alter table migrations rename to set_aside;
