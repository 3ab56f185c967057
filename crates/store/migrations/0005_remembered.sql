-- Grows whenever something is written of the signs of life of the group's devices.
alter table group_changes add column heard_no bigint not null default 0;

-- Read with each summary: one search finds each.
alter table counters rename to counters_before;
create table counters (
    name text primary key,
    last bigint not null
) /* kept in the order of its key */;
insert into counters (name, last) select name, last from counters_before;
drop table counters_before;

-- Grows whenever exchange rates change.
insert into counters (name, last) values ('rates', 0);
