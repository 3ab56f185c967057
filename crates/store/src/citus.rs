//! The layout on Citus: what lies on which shard. Everything of a group lies on one, so that a
//! request touches one; sessions lie by account, where a row has one place that decides.

/// Tables that lie by group, all of a group's on one shard.
const BY_GROUP: [&str; 8] = [
    "orders",
    "ledger",
    "device_owners",
    "group_changes",
    "sales_by_day",
    "sales_by_device",
    "sales_by_product",
    "goods_names",
];
/// Tables that lie by account. Never as reference tables: a copy may be old.
const BY_ACCOUNT: [&str; 2] = ["sessions", "known_sources"];
/// Small tables that change seldom: whole on each node, so that what lies by group can be joined.
const EVERYWHERE: [&str; 8] = [
    "groups",
    "accounts",
    "account_groups",
    "products",
    "devices",
    "aisles",
    "rates",
    "operator_keys",
];
/// What stays on the coordinator alone, which every node of ours speaks to.
const AT_THE_COORDINATOR: [&str; 6] =
    ["audit", "counters", "house", "migrations", "nodes", "primaries"];

/// The statements that distribute the tables of new data, each on a line of its own.
#[must_use]
pub fn citus_statements() -> String {
    let mut text = String::from(
        "-- Everything of a group on one shard, sessions by account, what is small everywhere.\n\
         create extension if not exists citus;\n",
    );
    let mut distribute = |tables: &[&str], column: &str| {
        for (at, table) in tables.iter().enumerate() {
            let beside = if at == 0 { "none" } else { tables[0] };
            text.push_str(&format!("select create_distributed_table('{table}', '{column}', "));
            text.push_str(&format!("colocate_with => '{beside}');\n"));
        }
    };
    distribute(&BY_GROUP, "group_no");
    distribute(&BY_ACCOUNT, "account_no");
    for table in EVERYWHERE {
        text.push_str(&format!("select create_reference_table('{table}');\n"));
    }
    text.push_str("-- These stay on the coordinator: ");
    text.push_str(&AT_THE_COORDINATOR.join(", "));
    text.push_str(".\n");
    text
}

#[cfg(test)]
mod tests;
