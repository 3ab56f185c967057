-- Keys of the operator's listener. Only a digest is kept; `may` lists the rights, with commas.
create table operator_keys (
    key_digest text primary key,
    key_name text not null,
    may text not null,
    created_at_ms bigint not null,
    revoked_at_ms bigint
);

-- Who did what, only ever added to, and purged from its old end. `account` is a login name that
-- exists; `actor` an operator's key, or a command. `count` is above 1 for refusals told together.
-- `other_…` say from where the session came that a login replaced.
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
    detail text,
    other_source text,
    other_request_id text,
    other_at_ms bigint
);
create index audit_account on audit (account, entry_no) where account is not null;

-- From where a session was opened, for the trail of what ends it.
alter table sessions add column source text;
alter table sessions add column request_id text;
alter table sessions add column opened_at_ms bigint;

-- Sources that logged in to an account before: guessing from elsewhere is not held against them.
create table known_sources (
    account_no bigint not null,
    source text not null,
    last_login_ms bigint not null,
    primary key (account_no, source)
) /* kept in the order of its key */;
