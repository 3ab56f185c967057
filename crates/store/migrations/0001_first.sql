-- What the house knows of itself: its time zone, and how often the fleet has changed.
create table house (
    name text primary key,
    value text not null
);

create table groups (
    group_no bigint primary key,
    group_id text not null unique,
    group_name text not null,
    active boolean not null
);

create table accounts (
    account_no bigint primary key,
    login_name text not null unique,
    display_name text not null,
    password_hash text not null,
    third_party_api boolean not null,
    enabled boolean not null
);

-- The groups of an account in its own order; the first active one is its default.
create table account_groups (
    account_no bigint not null,
    group_no bigint not null,
    position bigint not null,
    primary key (account_no, group_no)
);

-- One row per account is the session: a new login replaces it, and an old token is simply absent.
create table sessions (
    account_no bigint primary key,
    group_no bigint not null,
    token_digest text not null,
    expires_at_ms bigint not null
);

create table products (
    goods_id text primary key,
    goods_name text not null,
    category text not null,
    currency text not null,
    default_price bigint not null
);

create table devices (
    device_no bigint primary key,
    device_code text not null unique,
    device_name text not null,
    device_model text not null,
    address text not null,
    enabled boolean not null,
    created_at_ms bigint not null,
    total_curr_stock bigint not null
);

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
);

-- Who owned which device when, half open; listed is false while the device is not enabled.
create table device_owners (
    group_no bigint not null,
    device_code text not null,
    since_ms bigint not null,
    until_ms bigint not null,
    listed boolean not null,
    device_no bigint not null,
    primary key (group_no, device_code, since_ms)
);
create index device_owners_listing
    on device_owners (group_no, device_code, since_ms, until_ms, listed, device_no);
create index device_owners_of_device on device_owners (device_no, since_ms);

-- A row for each group that owns a device or ever did. Its orders have the sequence numbers
-- first_seq to last_seq, with none missing; those up to archived_seq are history.
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
);

-- The last number that a change of an order of the group was given.
create table group_changes (
    group_no bigint primary key,
    last_change_no bigint not null
);

-- Orders as they travel: the common head and the lines are ready JSON of the given shape; the
-- errors are null when no shipment failed. A null trade_no_in is made from the order_id.
create table orders (
    group_no bigint not null,
    device_no bigint not null,
    seq bigint not null,
    trade_start_ms bigint not null,
    change_no bigint not null,
    order_id text not null,
    trade_no text,
    trade_no_in text,
    shape bigint not null,
    head text not null,
    lines text not null,
    errors text
);
create unique index orders_seq on orders (group_no, device_no, seq);
create unique index orders_order_id on orders (group_no, order_id);
create unique index orders_change on orders (group_no, change_no);
create index orders_trade_start on orders (group_no, device_no, trade_start_ms);
create index orders_trade_no on orders (group_no, trade_no) where trade_no is not null;
create unique index orders_trade_no_in on orders (group_no, trade_no_in)
    where trade_no_in is not null;
