-- Months of a group whose sales are rolled up, or will be. A month has the number of its first day.
-- The rows of the three tables below count only while the month is closed. Each change of a day of
-- the month, or of a rate that it was converted with, deletes its row here. All sales of a closed
-- month lie between first_sale_at_ms and last_sale_at_ms.
create table sales_months (
    group_no bigint not null,
    first_day bigint not null,
    roll_up_no bigint not null,
    closed boolean not null,
    since_ms bigint not null,
    first_sale_at_ms bigint,
    last_sale_at_ms bigint,
    primary key (group_no, first_day)
) /* kept in the order of its key */;
create index sales_months_open on sales_months (since_ms) where not closed;

-- Amounts are units of 10^-16 US dollars, in decimal: the sum of the days, each at its own rate.
-- `converted_items` are those with a rate. `devices` is the set of the devices that sold it.
create table monthly_products (
    group_no bigint not null,
    first_day bigint not null,
    goods_id text not null,
    items bigint not null,
    converted_items bigint not null,
    amount text not null,
    devices text not null,
    primary key (group_no, first_day, goods_id)
) /* kept in the order of its key */;

create table monthly_devices (
    group_no bigint not null,
    first_day bigint not null,
    device_no bigint not null,
    orders bigint not null,
    items bigint not null,
    amount text not null,
    refund text not null,
    unconverted_orders bigint not null,
    converted_items bigint not null,
    shipped bigint not null,
    failed bigint not null,
    primary key (group_no, first_day, device_no)
) /* kept in the order of its key */;

create table monthly_device_products (
    group_no bigint not null,
    first_day bigint not null,
    device_no bigint not null,
    goods_id text not null,
    items bigint not null,
    converted_items bigint not null,
    amount text not null,
    primary key (group_no, first_day, device_no, goods_id)
) /* kept in the order of its key */;

-- No month after this day is in sales_months.
alter table group_changes add column marked_to_day bigint;
-- The last change by a program that maintains sales_months. After any other, no month counts.
alter table group_changes add column months_change_no bigint not null default 0;

insert into counters (name, last) values ('roll_ups', 0);
