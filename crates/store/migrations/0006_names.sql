-- The name that the device had while the group owned it last.
alter table ledger add column device_name text not null default '';
update ledger set device_name = d.device_name
    from devices d where d.device_no = ledger.device_no;
