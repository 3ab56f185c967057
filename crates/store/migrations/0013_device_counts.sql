-- The number of devices in the set, so that a report about one month reads no set. Null in rows of
-- programs without the column.
alter table monthly_products add column device_count bigint;
-- The roll-ups are made again, with it.
delete from sales_months;
