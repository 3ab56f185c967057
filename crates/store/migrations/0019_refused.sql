-- Requests of integrators that were refused or failed, of the last day: look-ups by their ids. The
-- details are a JSON object. A share is an account, the logins with its name, or a part of all other
-- sources; the rows of the largest shares are deleted first.
create table refused_requests (
    number bigint primary key,
    share text not null,
    request_id text not null,
    at_ms bigint not null,
    details text not null
);
create index refused_requests_id on refused_requests (request_id);
create index refused_requests_share on refused_requests (share, number);

-- The number of rows of each share.
create table refused_shares (
    share text primary key,
    requests bigint not null
) /* kept in the order of its key */;

-- The last use of an account's session, stored at most once a minute.
create table account_uses (
    account_no bigint primary key,
    used_at_ms bigint not null
);

-- The orders that an import which runs has stored so far.
alter table imports add column stored_orders bigint not null default 0;

-- The number of the last refused request.
insert into counters (name, last) values ('refused_requests', 0);
