-- For PostgreSQL: takes back what refuse_to_open.sql did.
drop event trigger guard;
drop trigger refuse on house
