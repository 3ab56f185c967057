-- The tables of a store. This file is edited until a version is released; afterwards, each change
-- of the layout is a separate migration.

-- Facts about the data itself, such as its time zone.
create table metadata (
    name text primary key,
    value text not null
);

-- The last number assigned of each kind, where several writers share a counter. `deleted_devices`
-- is the highest number of a deleted device, which is not reused; `fleet` changes whenever owners
-- of devices or names of products change. `fleet` and `rates` are locked by the writers of fleets
-- and of exchange rates.
create table counters (
    name text primary key,
    last bigint not null
) /* kept in the order of its key */;
insert into counters (name, last) values ('arrivals', 0), ('audit', 0), ('deleted_devices', 0),
    ('fleet', 0), ('rates', 0), ('refused_requests', 0);

-- Live nodes, with the time of their last write; and every primary that a node has seen, by
-- timeline and cluster, with the time when it was first seen: a promotion starts another timeline.
create table nodes (
    node text primary key,
    beat_at_ms bigint,
    seen_at_ms bigint
);

create table groups (
    group_no bigint primary key,
    group_id text not null unique,
    group_name text not null,
    active boolean not null
);

-- The versions of a group, by which caches are validated, in the row that a writer of its orders
-- locks. `last_change_no` is the last change number assigned to an order, `history` the history of
-- that number. `fleet` is replaced with each change that a list of its devices shows: of a device,
-- its aisles, or the name of the group or of a product; `rates` with each change of exchange rates.
-- Each such value is unique, even after the data went back. From `devices_from_ms` on, when the
-- last move of a device to or from the group takes effect, device pages list `devices` devices; for
-- an earlier time they are counted by the request. `refunding` is the number of orders being
-- refunded.
create table group_changes (
    group_no bigint primary key,
    last_change_no bigint not null,
    history bigint not null default 0,
    fleet bigint not null default 0,
    rates bigint not null default 0,
    devices bigint not null default 0,
    devices_from_ms bigint not null default 0,
    refunding bigint not null default 0
);

-- The histories of a group: a change belongs to the history with the greatest first number not
-- above its own. Groups without changes have no row.
create table group_histories (
    group_no bigint not null,
    first_change_no bigint not null,
    history bigint not null,
    primary key (group_no, first_change_no)
);
create unique index group_histories_history on group_histories (group_no, history);

-- `used_at_ms` is the last use of a session of the account, stored at most once a minute.
create table accounts (
    account_no bigint primary key,
    login_name text not null unique,
    display_name text not null,
    password_hash text not null,
    third_party_api boolean not null,
    enabled boolean not null,
    used_at_ms bigint
);

-- The groups of an account, in the account's order; the first active one is its default.
create table account_groups (
    account_no bigint not null,
    group_no bigint not null,
    position bigint not null,
    primary key (account_no, group_no)
) /* kept in the order of its key */;
create index account_groups_of_group on account_groups (group_no);

-- The session of each account: a new login replaces the row, so an old token is simply absent. The
-- source and request that opened it are recorded in the audit trail when it ends.
create table sessions (
    account_no bigint primary key,
    group_no bigint not null,
    token_digest text not null,
    expires_at_ms bigint not null,
    source text not null,
    request_id text not null,
    opened_at_ms bigint not null
);

-- Sources that logged in to an account before; failed logins from elsewhere do not count against
-- them.
create table known_sources (
    account_no bigint not null,
    source text not null,
    last_login_ms bigint not null,
    primary key (account_no, source)
) /* kept in the order of its key */;

create table products (
    goods_id text primary key,
    goods_name text not null,
    category text not null,
    currency text not null,
    default_price bigint
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
) /* kept in the order of its key */;
-- Finds the devices that sell a product, and its lowest price among some of them.
create index aisles_of_product on aisles (goods_id, device_no, enabled, price);
-- Finds the devices with an aisle that is out of order or empty. SQLite only uses it with all
-- columns of its condition.
create index aisles_to_mend on aisles (device_no, broken, enabled, curr_stock)
    where broken or enabled and curr_stock <= 0;

-- The element of each device in the hierarchy of aisles, as JSON.
create table aisle_texts (
    device_no bigint primary key,
    element text not null
);

-- The owners of devices over time, as half-open intervals; listed is false while the device is not
-- enabled.
create table device_owners (
    group_no bigint not null,
    device_code text not null,
    since_ms bigint not null,
    until_ms bigint not null,
    listed boolean not null,
    device_no bigint not null,
    primary key (group_no, device_code, since_ms)
) /* kept in the order of its key */;
create index device_owners_of_device on device_owners (device_no, since_ms);
-- Finds the position of a device page among thousands of devices.
create index device_owners_pages on device_owners (group_no, listed, until_ms, device_code);

-- A row for each group that owns a device, owned it, will own it from since_ms on, or has orders of
-- it. The device is in the group's scope from since_ms on, and as soon as there are orders. Their
-- sequence numbers are first_seq to last_seq, without gaps; those up to archived_seq are archived,
-- and those up to blocked_seq are in blocks. The name is the last one while the group owned the
-- device. `last_change_no` is the last change of an order of the device, in `history`.
create table ledger (
    group_no bigint not null,
    device_code text not null,
    device_no bigint not null,
    since_ms bigint not null,
    first_seq bigint not null,
    archived_seq bigint not null,
    last_seq bigint not null,
    last_active_ms bigint,
    device_name text not null default '',
    blocked_seq bigint not null default 0,
    last_change_no bigint not null default 0,
    history bigint not null default 0,
    primary key (group_no, device_code)
) /* kept in the order of its key */;
-- Finds the groups that have orders of a device: its owner, its former owners, and groups that keep
-- orders of a period that was replaced.
create index ledger_of_device on ledger (device_code);

-- An order is its record, packed with its checksum, and the columns by which it is found. A null
-- trade_no_in means one derived from the order_id. `sale_at_ms` is null while the order is not a
-- sale; `sale` has the figures of a sale, by which parts of days are counted, and the states of the
-- order. `arrival_no` is its origin, which updates do not change. A page of a device's orders is a
-- range of the key.
create table orders (
    group_no bigint not null,
    device_no bigint not null,
    seq bigint not null,
    trade_start_ms bigint not null,
    change_no bigint not null,
    sale_at_ms bigint,
    sale bytea not null,
    arrival_no bigint,
    order_id text not null,
    trade_no text,
    trade_no_in text,
    record bytea not null,
    primary key (group_no, device_no, seq)
) /* kept in the order of its key */;
create unique index orders_order_id on orders (group_no, order_id);
create unique index orders_change on orders (group_no, change_no);
-- Finds the order with a trade number that started last.
create index orders_trade_no on orders (group_no, trade_no, trade_start_ms, device_no, seq)
    where trade_no is not null;
create unique index orders_trade_no_in on orders (group_no, trade_no_in)
    where trade_no_in is not null;
create index orders_sale on orders (group_no, sale_at_ms, device_no, seq, sale)
    where sale_at_ms is not null;
create index orders_unsold on orders (group_no, trade_start_ms, device_no, seq)
    where sale_at_ms is null;

-- The dictionaries by which records are compressed, trained from orders. The number is a checksum
-- of the content. They are never changed or deleted: records refer to them.
create table dictionaries (
    dictionary_no bigint primary key,
    content bytea not null
);

-- Bounds of the trade starts of 64 consecutive orders each, from block * 64 + 1 on. Lists of a time
-- span skip the blocks outside of it.
create table order_blocks (
    group_no bigint not null,
    device_no bigint not null,
    block bigint not null,
    first_ms bigint not null,
    last_ms bigint not null,
    primary key (group_no, device_no, block)
) /* kept in the order of its key */;
create index order_blocks_last on order_blocks (group_no, device_no, last_ms, first_ms, block);

-- Sums of sales, updated in the transaction of the order. A day is counted from 1970-01-01 on the
-- calendar of the platform's zone; amounts are minor units of the currency. `shipped` counts the
-- orders whose shipment succeeded, `failed` those whose shipment failed, fully or partially. All
-- sales of the day are between first_sale_at_ms and last_sale_at_ms, which are only widened.
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

-- The sums on a day of the devices of a block, which has 256 device numbers. `devices` has, for
-- each device with sales, orders, items, amount, refund, shipped and failed; `products` has, for
-- each product, items and amount, in total and for each device that sold it.
create table sales_by_device (
    group_no bigint not null,
    day bigint not null,
    device_block bigint not null,
    currency text not null,
    devices bytea not null,
    products bytea not null,
    primary key (group_no, day, device_block, currency)
) /* kept in the order of its key */;

-- The names of goods that are not among the products, as of their latest sale.
create table goods_names (
    group_no bigint not null,
    goods_id text not null,
    goods_name text not null,
    sale_at_ms bigint not null,
    primary key (group_no, goods_id)
) /* kept in the order of its key */;

-- The price of a currency unit from a day on, in units of 10^-12 US dollars.
create table rates (
    currency text not null,
    day bigint not null,
    usd_per_unit_e12 bigint not null,
    primary key (currency, day)
) /* kept in the order of its key */;

-- Origins of orders: the orders that a key streamed to a node within some minutes, or an import by
-- a command. An import has details, the fields of its audit entry as a JSON object. While it has
-- not ended, `active_at_ms` is its last sign of life, and `stored_orders` the number of orders
-- stored so far.
create table arrivals (
    arrival_no bigint primary key,
    at_ms bigint not null,
    key_name text,
    node text,
    ended_at_ms bigint,
    active_at_ms bigint,
    stored_orders bigint,
    details text
);
create index arrivals_imports on arrivals (arrival_no) where details is not null;

-- Keys of the operator's listener. Only a digest is stored; `may` lists the rights, separated by
-- commas. The last use by a program is stored at most once a minute.
create table operator_keys (
    key_digest text primary key,
    key_name text not null,
    may text not null,
    created_at_ms bigint not null,
    revoked_at_ms bigint,
    used_at_ms bigint
);

-- Sessions of the console, by the digest of their cookie, with the key that opened each. A one-time
-- sign-in link is a session that is not opened yet, by the digest of its token.
create table console_sessions (
    session_digest text primary key,
    key_digest text not null,
    opened_at_ms bigint,
    used_at_ms bigint,
    expires_at_ms bigint not null
);
create index console_sessions_key on console_sessions (key_digest, expires_at_ms);
create index console_sessions_end on console_sessions (expires_at_ms);

-- The audit trail, which is append-only and purged from its old end. `account` is an existing login
-- name; `actor` an operator's key, or a command. `count` is above 1 for refusals of the same kind
-- that are recorded together. `reason` says why a login was refused, why a session ended, or how a
-- person signed in to the console; `details` are the fields of a change, a JSON object. `other_…`
-- is the origin of the session that a login replaced.
create table audit (
    entry_no bigint primary key,
    at_ms bigint not null,
    event text not null,
    account text,
    actor text,
    source text,
    request_id text,
    group_id text,
    count bigint not null,
    reason text,
    details text,
    other_source text,
    other_request_id text,
    other_at_ms bigint
);
create index audit_account on audit (account, entry_no) where account is not null;
create index audit_at on audit (at_ms);

-- Refused or failed requests of integrators in the last day, for look-ups by id. The account is the
-- proven or the claimed one; the details are a JSON object. A share is an account, the logins with
-- its name, or a part of all other sources; the rows of the largest shares are deleted first.
create table refused_requests (
    number bigint primary key,
    share text not null,
    request_id text not null,
    at_ms bigint not null,
    account_no bigint,
    source text not null,
    details text not null
);
create unique index refused_requests_id on refused_requests (request_id);
create index refused_requests_share on refused_requests (share, number);
