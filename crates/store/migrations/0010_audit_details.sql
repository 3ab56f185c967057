-- The details of entries as fields: a JSON object.
alter table audit add column details text;
