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
