-- PostgreSQL: creates a database that has few characters.
create database latin1 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0
