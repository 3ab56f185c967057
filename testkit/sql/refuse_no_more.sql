-- For PostgreSQL: undoes refuse_to_open.sql.
drop event trigger guard;
drop trigger refuse on metadata
