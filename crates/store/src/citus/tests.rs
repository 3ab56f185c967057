//! Every statement is compared with the statements that Citus can run on one shard.

use std::collections::BTreeSet;

use super::*;
use crate::sql::{Columns, Sql};

/// Statements that Citus runs on every shard, by module and name, each with its reason: rare
/// operations of the operator.
const OF_ALL_GROUPS: [(&str, &str); 15] = [
    ("owners::PERIODS", "the owners of a device over time, cached by the caller"),
    ("fleet::stored_devices::PERIODS_OF_DEVICES", "the devices that an apply names"),
    ("fleet::snapshot::GROUPS_BY_DEVICE", "once before an import"),
    ("archive::LEDGERS", "archive reads every ledger"),
    ("backup::ORDERS", "a backup counts all orders"),
    ("verify::NEXT_GROUP", "verify looks for orders of groups that do not exist"),
    ("verify::WITHOUT_OWNER", "verify reads every device"),
    ("upgrade::ORDERS_AFTER", "the upgrade from the first layout"),
    ("fleet::device_rows::ADD_PERIODS", "an insert; its group is a value"),
    ("fleet::device_rows::OPEN_LEDGERS", "an insert; its group is a value"),
    ("fleet::device_rows::OPEN_CHANGES", "an insert; its group is a value"),
    ("sessions::REPLACE", "an insert; its account is a value"),
    ("sessions::LOCK", "an insert; its account is a value"),
    ("known_sources::REMEMBER", "an insert; its account is a value"),
    ("known_sources::CREDENTIALS_AND_SOURCE", "finds an account by its name, and its sources"),
];

/// The distributed tables of a statement, each with its alias.
fn sharded(text: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '(' || c == ',').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let is_table = |word: &str| BY_GROUP.contains(&word) || BY_ACCOUNT.contains(&word);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let behind = at.checked_sub(1).and_then(|before| words.get(before));
        let names = behind.is_some_and(|it| ["from", "join", "update", "into"].contains(it));
        let word = word.trim_end_matches(')');
        if names && is_table(word) {
            let next = words.get(at + 1).copied().unwrap_or_default();
            let is_alias = next.len() <= 2 && !next.is_empty() && next != "on";
            found.push((word, if is_alias { next.trim_end_matches(')') } else { "" }));
        }
    }
    found
}

/// Returns whether a parameter restricts a table to one shard.
fn is_routed(text: &str, table: &str, alias: &str) -> bool {
    let column = if BY_GROUP.contains(&table) { "group_no" } else { "account_no" };
    let prefixes = match alias {
        "" => vec![format!(" {column} = $"), format!("{table}.{column} = $")],
        alias => vec![format!("{alias}.{column} = $")],
    };
    prefixes.iter().any(|prefix| text.contains(prefix.as_str()))
}

fn inserts_by_group(text: &str) -> bool {
    text.starts_with("insert into ") && text.contains(") select $")
}

#[test]
fn every_statement_of_a_request_touches_one_shard() {
    let mut used = BTreeSet::new();
    for sql in crate::all_statements() {
        let text = sql.for_postgres().expect("a statement");
        for (table, alias) in sharded(text) {
            if is_routed(text, table, alias) || inserts_by_group(text) {
                continue;
            }
            let name = sql.name.trim_start_matches("kiosque_store::");
            let known = OF_ALL_GROUPS.iter().any(|(exception, _)| *exception == name);
            assert!(known, "{name}: {table} has no parameter of its shard: {text}");
            used.insert(name);
        }
    }
    let stale: Vec<&str> =
        OF_ALL_GROUPS.iter().map(|(name, _)| *name).filter(|name| !used.contains(name)).collect();
    assert!(stale.is_empty(), "these need no exception: {stale:?}");
}

#[test]
fn a_statement_with_the_group_of_a_row_is_detected() {
    let wrong = Sql::declared(
        "WRONG",
        "select o.head from sessions s join orders o on o.group_no = s.group_no
        where s.account_no = $account_no",
        &["account_no"],
        Columns::None,
    );
    let text = wrong.for_postgres().expect("a statement");
    let unrouted: Vec<&str> = sharded(text)
        .into_iter()
        .filter(|(table, alias)| !is_routed(text, table, alias))
        .map(|(table, _)| table)
        .collect();
    assert_eq!(unrouted, ["orders"]);
}

fn layout() -> String {
    let all = crate::migrate::texts();
    let lines = all.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_table_is_assigned_once() {
    let layout = layout();
    let made: BTreeSet<&str> = layout
        .split("create table ")
        .skip(1)
        .filter_map(|rest| rest.split([' ', '(']).next())
        .collect();
    let groups: [&[&str]; 4] = [&BY_GROUP, &BY_ACCOUNT, &EVERYWHERE, &AT_THE_COORDINATOR];
    let mut placed: Vec<&str> = groups.concat();
    // The table of migrations is created before the first migration.
    placed.retain(|table| *table != "migrations");
    assert_eq!(made, placed.iter().copied().collect());
    assert_eq!(placed.len(), made.len(), "each in one place");
}

#[test]
fn unique_keys_begin_with_the_distribution_column() {
    let layout = layout();
    let mut keys = 0;
    for table in layout.split("create table ").skip(1) {
        let (name, rest) = table.split_once(" (").expect("columns");
        let leads = if BY_GROUP.contains(&name) { "group_no" } else { "account_no" };
        if !BY_GROUP.contains(&name) && !BY_ACCOUNT.contains(&name) {
            continue;
        }
        let body = rest.split(';').next().unwrap_or_default();
        if let Some((_, key)) = body.split_once("primary key (") {
            assert!(key.starts_with(leads), "{name}: {key}");
            keys += 1;
        }
    }
    for index in layout.split("create unique index ").skip(1) {
        let (_, on) = index.split_once(" on ").expect("a table");
        let (name, columns) = on.split_once(" (").expect("columns");
        assert!(BY_GROUP.contains(&name) && columns.starts_with("group_no"), "{on}");
        keys += 1;
    }
    assert!(keys > 10, "{keys} keys");
}

/// No triggers, no foreign keys across colocations, no volatile function in `do update`.
#[test]
fn nothing_that_citus_does_not_support_is_used() {
    let layout = layout();
    for word in ["trigger", "references", "foreign key"] {
        assert!(!layout.contains(word), "{word}");
    }
    let volatile = ["now()", "random()", "clock_timestamp", "nextval", "gen_random_uuid"];
    for sql in crate::all_statements() {
        let text = sql.for_postgres().expect("a statement");
        if let Some((_, update)) = text.split_once("do update set") {
            let used: Vec<&&str> = volatile.iter().filter(|name| update.contains(**name)).collect();
            assert!(used.is_empty(), "{}: {used:?}", sql.name);
        }
        // The distribution column never changes.
        assert!(
            !text.contains("update set group_no =") || text.contains("into sessions"),
            "{text}"
        );
    }
}

#[test]
fn the_statements_name_each_table_once() {
    let statements = citus_statements();
    for table in BY_GROUP.iter().chain(&BY_ACCOUNT).chain(&EVERYWHERE) {
        let named = statements.matches(&format!("'{table}'")).count();
        let leads = *table == BY_GROUP[0] || *table == BY_ACCOUNT[0];
        assert!(named == 1 || (leads && named > 1), "{table}: {named}");
    }
}
