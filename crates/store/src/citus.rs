//! The layout on Citus: how each table is distributed. All rows of a group are on one shard, so
//! that a request touches one shard. Sessions are distributed by account: a session must have
//! exactly one row.

/// Tables distributed by group.
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
/// Tables distributed by account. Not reference tables: a replica may be stale.
const BY_ACCOUNT: [&str; 2] = ["sessions", "known_sources"];
/// Small tables that change rarely: reference tables on each node, for joins with tables by group.
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
/// Tables on the coordinator alone, to which every Kiosque node connects.
const AT_THE_COORDINATOR: [&str; 6] =
    ["audit", "counters", "house", "migrations", "nodes", "primaries"];

/// Returns the statements that distribute the tables of new data, one on each line.
#[must_use]
pub fn citus_statements() -> String {
    let mut text = String::from(
        "-- Everything of a group on one shard, sessions by account, what is small everywhere.\n\
         create extension if not exists citus;\n",
    );
    let mut distribute = |tables: &[&str], column: &str| {
        for (at, table) in tables.iter().enumerate() {
            let colocated = if at == 0 { "none" } else { tables[0] };
            text.push_str(&format!("select create_distributed_table('{table}', '{column}', "));
            text.push_str(&format!("colocate_with => '{colocated}');\n"));
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
