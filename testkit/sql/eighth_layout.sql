-- Undoes the migrations after the eighth. The rest is data of a program of that layout.
drop index aisles_of_product;
drop table account_uses;
drop table aisle_texts;
drop table archive_marks;
drop table archive_runs;
drop table arrivals;
drop index ledger_of_device;
drop table console_links;
drop table console_sessions;
drop table group_histories;
drop table imports;
drop table list_versions;
drop table monthly_device_products;
drop table monthly_devices;
drop table monthly_products;
drop table refused_requests;
drop table refused_shares;
drop table sales_months;
drop index audit_of_older_programs;
alter table audit drop column details;
alter table audit drop column layout;
alter table orders drop column arrival_no;
alter table operator_keys drop column used_at_ms;
alter table products drop column is_free;
alter table group_changes drop column marked_to_day;
alter table group_changes drop column months_change_no;
delete from counters
where name in ('roll_ups', 'imports', 'arrivals', 'archive_runs', 'deleted_devices', 'devices',
    'older_programs', 'refused_requests');
delete from migrations where number > 8;
