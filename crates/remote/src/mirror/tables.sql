create table mirror (
    url text not null,
    username text not null,
    time_zone text
);
create table groups (
    group_id text primary key,
    group_name text not null,
    -- 0: the account no longer has the group.
    in_account integer not null,
    -- The position in the feed of changes; null before the first change.
    cursor text,
    -- 0 until the orders have been read from the first change to the last one.
    is_complete integer not null default 0,
    -- The number of times that the orders were read from the first change on.
    reading integer not null default 1
);
create table devices (
    group_id text not null references groups,
    device_code text not null,
    device_name text not null,
    device_model text not null,
    address text not null,
    is_online integer not null,
    total_curr_stock integer not null,
    last_active_ms integer,
    create_ms integer not null,
    -- 0: the device has left the group.
    in_group integer not null,
    primary key (group_id, device_code)
) without rowid;
create table orders (
    order_no integer primary key,
    group_id text not null references groups,
    order_id text not null,
    device_code text not null,
    trade_no text not null,
    trade_no_in text not null,
    currency text not null,
    total_amount integer not null,
    pay_amount integer not null,
    refund_amount integer not null,
    pay_status integer not null,
    shipment_status integer not null,
    pay_channel_name text,
    card_number text,
    phone text,
    trade_start_time text not null,
    trade_start_ms integer,
    pay_end_time text,
    pay_end_ms integer,
    shipment_time text,
    shipment_ms integer,
    change_no integer not null,
    -- The `reading` of the group in which the order was last seen.
    reading integer not null,
    unique (group_id, order_id)
);
create table order_lines (
    order_no integer not null references orders,
    line_no integer not null,
    goods_id text not null,
    goods_name text not null,
    aisle_code text not null,
    count integer not null,
    currency text not null,
    goods_price integer not null,
    sale_price integer not null,
    pay_amount integer not null,
    shipment_status integer not null,
    shipment_err_code integer not null,
    shipment_fail_desc text,
    primary key (order_no, line_no)
) without rowid;
