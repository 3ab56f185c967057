-- Whether a default price of 0 was given. Without it, 0 means that a product has no default price.
alter table products add column is_free boolean not null default false;
