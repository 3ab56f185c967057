-- Grows whenever something is written of the signs of life of the group's devices.
alter table group_changes add column heard_no bigint not null default 0;

-- Grows whenever exchange rates change.
insert into counters (name, last) values ('rates', 0);
