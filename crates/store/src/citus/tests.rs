//! Compares every statement with the statements that Citus can run on one shard.

use std::collections::BTreeSet;

use super::*;
use crate::sql::Sql;

mod plans;

/// Statements that Citus runs on every shard, by module and name, each with its reason: rare
/// operations of the operator.
const OF_ALL_GROUPS: &[(&str, &str)] = &[
    ("owners::PERIODS", "the owners of a device over time, cached by the caller"),
    ("owners::LEDGERS", "the groups of devices that are not cached"),
    ("owners::GROUPS_SINCE", "the groups of a group's devices, for the operator"),
    ("fleet::devices::PERIODS_OF_DEVICES", "an apply, or a list for the operator"),
    ("dictionaries::CHANGES", "some times before a dictionary is trained"),
    ("dictionaries::SAMPLES", "once, to train a dictionary"),
    ("orders::following::LAST_CHANGES", "once a second, for the groups with waiting requests"),
    ("orders::following::TOKENS", "once a second, for the accounts with waiting requests"),
    ("fleet::snapshot::GROUPS_BY_DEVICE", "once before an import"),
    ("fleet::snapshot::GROUPS_OF_REPLACED_MOVES", "once before an import"),
    ("archive::LEDGERS", "archive reads every ledger"),
    ("histories::BEGIN_HISTORY", "an insert; its group is a value"),
    ("dashboard::device_days::GROUPS_OF_DEVICE", "the groups of a device, for the operator"),
    ("dashboard::fleet_sales::DAYS", "the sales of all groups, for the operator"),
    ("dashboard::fleet_sales::LAST_DAY", "the sales of all groups, for the operator"),
    ("dashboard::fleet_sales::NAMES", "the devices of all groups, for the operator"),
    (
        "dashboard::fleet_sales::attention::LISTED_DEVICES",
        "the devices of all groups, for the operator",
    ),
    ("dashboard::fleet_sales::attention::AISLES", "the devices of all groups, for the operator"),
    ("dashboard::fleet_sales::attention::SALES", "the sales of all groups, for the operator"),
    ("dashboard::fleet_sales::attention::REFUNDING", "the orders of all groups, for the operator"),
    ("dashboard::fleet_sales::SUMS", "the sales of all groups, for the operator"),
    ("dashboard::fleet_sales::names::OTHER_GOODS", "the goods of all groups, for the operator"),
    ("inventory::accounts::SESSIONS_OF_ACCOUNTS", "a list for the operator"),
    ("inventory::device_orders::BY_ORDER_ID", "a search in all groups, for the operator"),
    ("inventory::device_orders::BY_TRADE_NO", "a search in all groups, for the operator"),
    ("inventory::device_orders::BY_TRADE_NO_IN", "a search in all groups, for the operator"),
    ("inventory::device_orders::LEDGERS", "the groups of a device, for the operator"),
    ("inventory::device_orders::newest_first::RECORDS", "a list of all groups, for the operator"),
    ("inventory::devices::DEVICES_OF_GROUP", "a list for the operator"),
    ("inventory::devices::LEDGERS", "a list for the operator"),
    ("inventory::devices::search::SALES", "a list for the operator"),
    ("inventory::groups::DEVICES_OF_GROUPS", "a list for the operator"),
    ("inventory::groups::ORDERS_OF_GROUPS", "a list for the operator"),
    ("inventory::orders::LEDGERS", "a list for the operator"),
    ("inventory::orders::LEDGERS_OF_DEVICE", "a list for the operator"),
    ("inventory::overview::ORDERS", "the ledgers of all groups"),
    ("inventory::overview::LAST_ACTIVE", "the ledgers of all groups"),
    ("inventory::overview::ANY_ORDER", "a ledger of any group, while there are no rates"),
    ("inventory::overview::LIVE_SESSIONS", "the sessions of all accounts"),
    ("inventory::refill::AISLES", "a list of all groups, for the operator"),
    ("inventory::refill::SALES", "a list of all groups, for the operator"),
    ("session_clock::CAP_ACTIVITY", "the ledgers of all groups, when the clock was set back"),
    ("session_clock::END_PASSED", "the sessions of all accounts, when the clock was set back"),
    ("versions::GROUPS", "new rates concern all groups"),
    ("versions::SET_RATES", "new rates concern all groups"),
    ("verify::NEXT_GROUP", "verify looks for orders of groups that do not exist"),
    ("verify::WITHOUT_OWNER", "verify reads every device"),
    ("verify::fleet::PERIODS", "verify reads the owners of every device"),
    ("verify::fleet::SHARED", "verify looks for devices with orders in several groups"),
    ("verify::fleet::LEDGERS", "the groups of a device, for verify"),
    ("fleet::device_rows::ADD_PERIODS", "an insert; its group is a value"),
    ("fleet::device_rows::OPEN_LEDGERS", "an insert; its group is a value"),
    ("fleet::device_rows::OPEN_CHANGES", "an insert; its group is a value"),
    ("versions::GROUPS_SELLING", "the products that an apply relabels"),
    ("sessions::REPLACE", "an insert; its account is a value"),
    ("sessions::LOCK", "an insert; its account is a value"),
    ("known_sources::REMEMBER", "an insert; its account is a value"),
];

/// Statements that Citus refuses, or runs in more than one step, each with the reason.
const REFUSED: [(&str, &str); 7] = [
    (
        "select a.account_no, exists (select 1 from known_sources k
            where k.account_no = a.account_no and k.source = $1) from accounts a
        where a.login_name = $2",
        CORRELATED,
    ),
    (
        "select d.device_code from devices d where not exists (select 1 from device_owners o
            where o.device_no = d.device_no and o.until_ms = $1)",
        CORRELATED,
    ),
    (
        "select o.order_id, (select l.archived_seq from ledger l where l.group_no = r.group_no)
        from unnest($1::bigint[]) as r(group_no) cross join orders o where o.group_no = r.group_no",
        CORRELATED,
    ),
    (
        "insert into goods_names as total (group_no, goods_id, goods_name, sale_at_ms)
        select $4, r.goods, r.name, r.sale_ms
        from unnest($1::text[], $2::text[], $3::bigint[]) as r(goods, name, sale_ms) where true",
        PULLED,
    ),
    (
        "insert into audit (entry_no, account_no)
        values ($1, (select a.account_no from accounts a where a.login_name = $2))",
        SUBQUERY_OF_VALUES,
    ),
    ("delete from known_sources where account_no = $1 and last_login_ms < random()", VOLATILE),
    ("update ledger set last_seq = random() where group_no = $1 and last_seq < random()", VOLATILE),
];
const CORRELATED: &str =
    "a correlated subquery reads a shard, and the rows that it refers to are no shard's";
const PULLED: &str = "rows of an insert are copied into a temporary result first";
const SUBQUERY_OF_VALUES: &str = "values with a subquery, also of tables that are not distributed";
const VOLATILE: &str = "a volatile function in a change of a distributed table";
const VOLATILE_FUNCTIONS: [&str; 5] =
    ["now()", "random()", "clock_timestamp", "nextval", "gen_random_uuid"];

/// Returns why Citus refuses a statement or runs it in more than one step.
fn refusal(text: &str) -> Option<&'static str> {
    let text = &text.replace("( ", "(");
    if text.starts_with("insert into ") && text.contains(" unnest(") {
        let (target, source) = text.split_once(" select ")?;
        if !sharded(target).is_empty() && sharded(source).is_empty() {
            return Some(PULLED);
        }
    }
    if text.split_once(" values (").is_some_and(|(_, values)| values.contains("(select ")) {
        return Some(SUBQUERY_OF_VALUES);
    }
    let is_change = !text.starts_with("select ");
    if is_change && !sharded(text).is_empty() {
        // Citus evaluates the functions of inserted values before it finds the shard.
        let conditions = text.split_once(" where ").map_or("", |(_, conditions)| conditions);
        let update = text.split_once("do update set").map_or("", |(_, update)| update);
        let is_used = |name: &&str| conditions.contains(*name) || update.contains(*name);
        if VOLATILE_FUNCTIONS.iter().any(is_used) {
            return Some(VOLATILE);
        }
    }
    let is_correlated = |(inner, outer): &(&str, String)| {
        let refers = |alias: &str| inner.contains(&format!(" {alias}."));
        let outer_aliases = tables(outer).into_iter().map(|(_, alias)| alias);
        let is_of_no_shard = sharded(outer).is_empty()
            && outer_aliases.into_iter().any(|alias| !alias.is_empty() && refers(alias));
        !sharded(inner).is_empty() && (is_of_no_shard || inner.contains("group_no = r."))
    };
    subqueries(text).iter().any(is_correlated).then_some(CORRELATED)
}

/// The subqueries of a statement, each with the text around it.
fn subqueries(text: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("(select ") {
        let mut depth = 0;
        let length = text[start..].find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let end = start + length.expect("a closed subquery");
        found.push((&text[start + 1..end], format!("{}{}", &text[..start], &text[end + 1..])));
    }
    found
}

/// The distributed tables of a statement, each with its alias.
fn sharded(text: &str) -> Vec<(&str, &str)> {
    let mut all = tables(text);
    all.retain(|(table, _)| BY_GROUP.contains(table) || BY_ACCOUNT.contains(table));
    all
}

/// The tables of a statement, each with its alias.
fn tables(text: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '(' || c == ',').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let behind = at.checked_sub(1).and_then(|before| words.get(before));
        let names = behind.is_some_and(|it| ["from", "join", "update", "into"].contains(it));
        let word = word.trim_end_matches(')');
        if names {
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
    text.starts_with("insert into ") && text.contains(") select g.group_no")
}

#[test]
fn every_statement_of_a_request_touches_one_shard() {
    let (mut used, mut unknown) = (BTreeSet::new(), Vec::new());
    for sql in crate::statements::all() {
        let text = sql.for_postgres().expect("a statement");
        for (table, alias) in sharded(text) {
            if is_routed(text, table, alias) || inserts_by_group(text) {
                continue;
            }
            let name = name_of(sql);
            if !OF_ALL_GROUPS.iter().any(|(exception, _)| *exception == name) {
                unknown.push(format!("{name}: {table} has no parameter of its shard: {text}"));
            }
            used.insert(name);
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    let stale: Vec<&str> =
        OF_ALL_GROUPS.iter().map(|(name, _)| *name).filter(|name| !used.contains(name)).collect();
    assert!(stale.is_empty(), "these need no exception: {stale:?}");
}

/// Returns the forms of a statement, each with the number of its parameters that are arrays.
fn forms(sql: &Sql) -> Vec<(&str, usize)> {
    let arrays = sql.bulk_types().expect("a statement").len();
    let mut forms = vec![(sql.for_postgres().expect("a statement"), arrays)];
    if arrays > 0 {
        forms.push((sql.of_row_for_postgres().expect("a statement"), 0));
    }
    forms
}

fn name_of(sql: &Sql) -> &'static str {
    sql.name.trim_start_matches("kiosque_store::")
}

#[test]
fn citus_runs_every_statement_of_a_group_in_one_step() {
    let statements = crate::statements::all().into_iter();
    for (sql, form) in statements.flat_map(|sql| forms(sql).into_iter().map(move |it| (sql, it))) {
        let ((text, _), name) = (form, name_of(sql));
        let refused = refusal(text);
        let of_many_groups = refused == Some(PULLED)
            && OF_ALL_GROUPS.iter().any(|(exception, _)| *exception == name);
        assert_eq!(refused.is_some(), of_many_groups, "{name}: {refused:?}: {text}");
    }
}

#[test]
fn statements_that_citus_refuses_are_detected() {
    for (text, reason) in REFUSED {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(refusal(&text), Some(reason), "{text}");
    }
}

#[test]
fn a_statement_with_the_group_of_a_row_is_detected() {
    let wrong = Sql::declared(
        "WRONG",
        "select o.record from sessions s join orders o on o.group_no = s.group_no
        where s.account_no = $account_no",
        &["account_no"],
        None,
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
        let is_of_group = BY_GROUP.contains(&name) && columns.starts_with("group_no");
        assert!(is_of_group || AT_THE_COORDINATOR.contains(&name), "{on}");
        keys += 1;
    }
    assert!(keys > 10, "{keys} keys");
}

/// Shards can be moved only if each row has an identity: a primary key, or an index of the script.
#[test]
fn every_row_of_a_shard_has_an_identity() {
    let (layout, script) = (layout(), citus_statements());
    for table in BY_GROUP.iter().chain(&BY_ACCOUNT) {
        let (_, definition) = layout.split_once(&format!("create table {table} (")).expect(table);
        let definition = definition.split(';').next().unwrap_or_default();
        if definition.contains("primary key") {
            continue;
        }
        let identity = format!("\nalter table {table} replica identity using index ");
        let (_, index) = script.split_once(&identity).unwrap_or_else(|| panic!("{table}"));
        let (index, _) = index.split_once(';').expect("an index");
        let (_, columns) = layout
            .split_once(&format!("create unique index {index} on {table} ("))
            .unwrap_or_else(|| panic!("{index} is no unique index of {table}"));
        let columns = columns.split(')').next().unwrap_or_default();
        for column in columns.split(", ") {
            let mut columns = definition.split(", ").map(str::trim);
            let declared = columns.find(|it| it.starts_with(&format!("{column} ")));
            assert!(declared.is_some_and(|it| it.contains("not null")), "{table}.{column}");
        }
    }
}

/// A worker plans the coordinator's statements by its own settings.
#[test]
fn the_workers_have_the_settings_of_the_planner() {
    let script = citus_statements();
    for setting in PLANNER {
        assert!(script.contains(&format!("in database %2$I set {setting};")), "{setting}");
    }
}

/// No triggers, no foreign keys across colocations.
#[test]
fn nothing_that_citus_does_not_support_is_used() {
    let layout = layout();
    for word in ["trigger", "references", "foreign key"] {
        assert!(!layout.contains(word), "{word}");
    }
    for sql in crate::statements::all() {
        let text = sql.for_postgres().expect("a statement");
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
        let calls = [
            format!("table('{table}', "),
            format!("table('{table}') where"),
            format!("truncate_local_data_after_distributing_table('{table}');"),
        ];
        let named: usize = calls.iter().map(|call| statements.matches(call).count()).sum();
        assert_eq!(named, 2, "{table} is distributed and its copy truncated");
    }
}
