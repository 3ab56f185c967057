-- Grows with each change that a list of the group's devices shows: of a device, its aisles, or the
-- name of the group or of a product. Only a transaction that has locked the fleet writes it.
create table list_versions (
    group_no bigint primary key,
    version bigint not null
) /* kept in the order of its key */;
insert into list_versions (group_no, version) select group_no, 0 from groups;

-- The last migration of the program that wrote the entry. Null in entries of programs without the
-- column, which change neither these versions nor, some of them, the texts of aisles.
alter table audit add column layout bigint;
create index audit_of_older_programs on audit (entry_no) where layout is null;
-- The last entry of such a program after which versions and texts were renewed.
insert into counters (name, last) select 'older_programs', last from counters where name = 'audit';
