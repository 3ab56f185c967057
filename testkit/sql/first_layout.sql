-- For SQLite: copies data of today's layout, at NEW, into the tables of the first layout, as a
-- program of that time would have written it.
attach database 'NEW' as new;
create table migrations (
    number bigint primary key,
    name text not null,
    checksum text not null,
    applied_at_ms bigint not null
);
insert into migrations select * from new.migrations where number = 1;
insert into house select name, value from new.house;
insert into groups select group_no, group_id, group_name, active from new.groups;
insert into accounts select account_no, login_name, display_name, password_hash, third_party_api,
    enabled from new.accounts;
insert into account_groups select account_no, group_no, position from new.account_groups;
insert into products select goods_id, goods_name, category, currency, default_price
    from new.products;
insert into devices select device_no, device_code, device_name, device_model, address, enabled,
    created_at_ms, total_curr_stock from new.devices;
insert into aisles select device_no, aisle_code, position, cabinet_code, layer, goods_id, price,
    show_price, max_stock, curr_stock, enabled, broken from new.aisles;
insert into device_owners select group_no, device_code, since_ms, until_ms, listed, device_no
    from new.device_owners;
insert into ledger select group_no, device_code, device_no, since_ms, first_seq, archived_seq,
    last_seq, last_active_ms from new.ledger;
insert into group_changes select group_no, last_change_no from new.group_changes;
-- A head was stored whole in that layout: as in a response, without its closing brace.
insert into orders select group_no, device_no, seq, trade_start_ms, change_no, order_id, trade_no,
    trade_no_in, 1,
    '{"tradeNo":"' || coalesce(trade_no, '') || '","tradeNoIn":"' ||
        coalesce(trade_no_in, 'oid:' || order_id) || '","orderId":"' || order_id || '",' || head ||
        ',"payEndDate":"2026-01-01 00:00:00"',
    lines, errors
    from new.orders;
