-- Finds the groups that have orders of a device, its former owners and those that keep orders of a
-- period that was replaced.
create index ledger_of_device on ledger (device_code);
