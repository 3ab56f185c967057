-- When an import that has not ended last showed that it runs.
alter table imports add column active_at_ms bigint not null default 0;
update imports set active_at_ms = started_at_ms;
