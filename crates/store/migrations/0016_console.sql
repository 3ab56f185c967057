-- Sessions of the console, by the digest of their cookie, and the key that each was opened with.
create table console_sessions (
    session_digest text primary key,
    key_digest text not null,
    opened_at_ms bigint not null,
    used_at_ms bigint not null,
    expires_at_ms bigint not null
);
create index console_sessions_key on console_sessions (key_digest, expires_at_ms);
create index console_sessions_end on console_sessions (expires_at_ms);

-- Links that sign in once, by the digest of their token.
create table console_links (
    link_digest text primary key,
    key_digest text not null,
    expires_at_ms bigint not null
);
create index console_links_end on console_links (expires_at_ms);

-- The last use of a key by a program, stored at most once a minute.
alter table operator_keys add column used_at_ms bigint;
