-- For PostgreSQL: undoes hold_first.sql.
drop function hold_first cascade;
drop sequence first_held
