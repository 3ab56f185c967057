-- Where orders came from: an import by a command, or the orders that a key streamed to a node within
-- some minutes.
create table arrivals (
    arrival_no bigint primary key,
    at_ms bigint not null,
    import_no bigint,
    key_name text,
    node text
);
insert into counters (name, last) values ('arrivals', 0);

-- The arrival of an order, which updates leave as it is. Null in orders from before, and in those of
-- programs without the column.
alter table orders add column arrival_no bigint;
