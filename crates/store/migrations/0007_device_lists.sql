-- The devices on a group's device pages, numbered without gaps in the order of their codes.
create table device_list (
    group_no bigint not null,
    place bigint not null,
    device_code text not null,
    device_no bigint not null,
    primary key (group_no, place)
) /* kept in the order of its key */;

-- How many enabled aisles of these devices sell a product at a price.
create table aisle_prices (
    group_no bigint not null,
    goods_id text not null,
    price bigint not null,
    aisles bigint not null,
    primary key (group_no, goods_id, price)
) /* kept in the order of its key */;

-- The number of these devices, and the times for which the list and the prices hold: from one
-- change of ownership to the next.
alter table group_changes add column listed bigint not null default 0;
alter table group_changes add column listed_from_ms bigint not null default 0;
alter table group_changes add column listed_until_ms bigint not null default 0;
create index group_changes_listed_until on group_changes (listed_until_ms)
    where listed_until_ms < 9223372036854775807;
