-- Imports, finished or not. The details are those of the entry in the audit trail, a JSON object.
create table imports (
    import_no bigint primary key,
    started_at_ms bigint not null,
    ended_at_ms bigint,
    details text not null
);

-- Archive runs. Those of the server within a day are one.
create table archive_runs (
    run_no bigint primary key,
    at_ms bigint not null,
    before_ms bigint not null,
    by_server boolean not null,
    undone_at_ms bigint
);

-- The orders that a run archived: those after old_seq up to new_seq. Undoing the run deletes them.
create table archive_marks (
    group_no bigint not null,
    device_code text not null,
    run_no bigint not null,
    old_seq bigint not null,
    new_seq bigint not null,
    primary key (group_no, device_code, run_no)
) /* kept in the order of its key */;
create index archive_marks_run on archive_marks (run_no);

-- Numbers of imports and of archive runs, and the highest number of a device that was deleted: it is
-- not used again.
insert into counters (name, last) values ('imports', 0), ('archive_runs', 0), ('deleted_devices', 0);
