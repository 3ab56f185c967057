-- The last number that was given of each kind, where several writers count together.
create table counters (
    name text primary key,
    last bigint not null
);
insert into counters (name, last)
    select 'audit', coalesce(max(n), 0) from (
        select max(entry_no) as n from audit
        union all select cast(value as bigint) from house where name = 'audit_purged_to'
    ) numbers;
insert into counters (name, last)
    select 'fleet', coalesce(max(n), 0) from (
        select cast(value as bigint) as n from house where name = 'fleet_version'
    ) numbers;
delete from house where name = 'fleet_version';

-- Every primary that a node has seen, by its line of time, and when: a promotion makes another one.
create table primaries (
    timeline text primary key,
    seen_at_ms bigint not null
);

-- Nodes that answer, and when they last wrote that they do.
create table nodes (
    node text primary key,
    beat_at_ms bigint not null
);
