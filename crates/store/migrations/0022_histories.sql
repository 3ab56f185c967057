-- The histories of a group: a change belongs to the history with the greatest first number that is
-- not above its own. Changes from before this table, and groups without changes, have no row.
create table group_histories (
    group_no bigint not null,
    first_change_no bigint not null,
    history bigint not null,
    primary key (group_no, first_change_no)
);
create unique index group_histories_history on group_histories (group_no, history);
