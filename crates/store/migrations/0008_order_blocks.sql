-- Bounds of the trade starts of 64 orders each that follow each other, from block * 64 + 1 on. Lists
-- of a span skip the blocks outside of it. The bounds are only widened.
create table order_blocks (
    group_no bigint not null,
    device_no bigint not null,
    block bigint not null,
    first_ms bigint not null,
    last_ms bigint not null,
    primary key (group_no, device_no, block)
) /* kept in the order of its key */;
insert into order_blocks (group_no, device_no, block, first_ms, last_ms)
    select group_no, device_no, (seq - 1) / 64, min(trade_start_ms), max(trade_start_ms)
    from orders group by group_no, device_no, (seq - 1) / 64 having count(*) = 64;
create index order_blocks_last on order_blocks (group_no, device_no, last_ms, first_ms, block);

-- The orders up to this one are in blocks.
alter table ledger add column blocked_seq bigint not null default 0;
update ledger set blocked_seq = last_seq / 64 * 64 where last_seq >= 64;
