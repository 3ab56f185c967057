-- Small rows that are read by ranges of their key now lie in its order: one search finds each, and a
-- group's devices are neighbours.
alter table account_groups rename to account_groups_before;
create table account_groups (
    account_no bigint not null,
    group_no bigint not null,
    position bigint not null,
    primary key (account_no, group_no)
) /* kept in the order of its key */;
insert into account_groups (account_no, group_no, position)
    select account_no, group_no, position from account_groups_before;
drop table account_groups_before;

alter table aisles rename to aisles_before;
create table aisles (
    device_no bigint not null,
    aisle_code text not null,
    position bigint not null,
    cabinet_code text not null,
    layer bigint not null,
    goods_id text not null,
    price bigint not null,
    show_price bigint not null,
    max_stock bigint not null,
    curr_stock bigint not null,
    enabled boolean not null,
    broken boolean not null,
    primary key (device_no, aisle_code)
) /* kept in the order of its key */;
insert into aisles (device_no, aisle_code, position, cabinet_code, layer, goods_id, price,
        show_price, max_stock, curr_stock, enabled, broken)
    select device_no, aisle_code, position, cabinet_code, layer, goods_id, price, show_price,
        max_stock, curr_stock, enabled, broken
    from aisles_before;
drop table aisles_before;

alter table device_owners rename to device_owners_before;
drop index device_owners_listing;
drop index device_owners_of_device;
create table device_owners (
    group_no bigint not null,
    device_code text not null,
    since_ms bigint not null,
    until_ms bigint not null,
    listed boolean not null,
    device_no bigint not null,
    primary key (group_no, device_code, since_ms)
) /* kept in the order of its key */;
insert into device_owners (group_no, device_code, since_ms, until_ms, listed, device_no)
    select group_no, device_code, since_ms, until_ms, listed, device_no
    from device_owners_before;
drop table device_owners_before;
create index device_owners_of_device on device_owners (device_no, since_ms);

alter table ledger rename to ledger_before;
create table ledger (
    group_no bigint not null,
    device_code text not null,
    device_no bigint not null,
    since_ms bigint not null,
    first_seq bigint not null,
    archived_seq bigint not null,
    last_seq bigint not null,
    last_active_ms bigint,
    primary key (group_no, device_code)
) /* kept in the order of its key */;
insert into ledger (group_no, device_code, device_no, since_ms, first_seq, archived_seq, last_seq,
        last_active_ms)
    select group_no, device_code, device_no, since_ms, first_seq, archived_seq, last_seq,
        last_active_ms
    from ledger_before;
drop table ledger_before;

-- One index where there were two: of each device, what starts when stands beside its place. A
-- device's orders come in one at a time, and each index of devices costs each of them a page.
drop index orders_trade_start;
drop index orders_seq;
create index orders_seq on orders (group_no, device_no, seq, trade_start_ms);

-- When the order became a sale; null while it is none.
alter table orders add column sale_at_ms bigint;
create index orders_sale on orders (group_no, sale_at_ms) where sale_at_ms is not null;

-- Sums of sales, moved in the transaction of the order that moves them. A day is counted from
-- 1970-01-01 on the calendar of the platform's zone; amounts are minor units of the currency.
-- `shipped` and `failed` count the orders whose shipment succeeded, and failed in whole or in part.
-- All sales of the day lie between first_sale_at_ms and last_sale_at_ms, which are only widened.
create table sales_by_day (
    group_no bigint not null,
    day bigint not null,
    currency text not null,
    orders bigint not null,
    items bigint not null,
    amount bigint not null,
    refund bigint not null,
    shipped bigint not null,
    failed bigint not null,
    first_sale_at_ms bigint not null,
    last_sale_at_ms bigint not null,
    primary key (group_no, day, currency)
) /* kept in the order of its key */;

create table sales_by_device (
    group_no bigint not null,
    day bigint not null,
    device_no bigint not null,
    currency text not null,
    orders bigint not null,
    items bigint not null,
    amount bigint not null,
    refund bigint not null,
    shipped bigint not null,
    failed bigint not null,
    primary key (group_no, day, device_no, currency)
) /* kept in the order of its key */;

create table sales_by_product (
    group_no bigint not null,
    day bigint not null,
    device_no bigint not null,
    goods_id text not null,
    currency text not null,
    items bigint not null,
    amount bigint not null,
    primary key (group_no, day, device_no, goods_id, currency)
) /* kept in the order of its key */;

-- The names that goods came with that are no product of ours, as of their latest sale.
create table goods_names (
    group_no bigint not null,
    goods_id text not null,
    goods_name text not null,
    sale_at_ms bigint not null,
    primary key (group_no, goods_id)
) /* kept in the order of its key */;

-- What a unit of a currency is worth from a day on, in millionths of a millionth of a US dollar.
create table rates (
    currency text not null,
    day bigint not null,
    usd_per_unit_e12 bigint not null,
    primary key (currency, day)
) /* kept in the order of its key */;
