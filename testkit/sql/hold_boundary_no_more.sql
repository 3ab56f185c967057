-- For PostgreSQL: undoes hold_boundary.sql.
drop trigger hold_boundary on ledger;
drop function hold_boundary;
drop sequence first_boundary
