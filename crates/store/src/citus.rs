//! The layout on Citus: how each table is distributed. All rows of a group are on one shard, so
//! that a request accesses one shard. Sessions are distributed by account: a session must have
//! exactly one row.

use crate::db::{Deadline, PLANNER, Read};
use crate::error::Error;
use crate::metadata;
use crate::sql::{FromRow, Sql};
use crate::views::Upkeep;

/// Finds the tables that are not distributed, if any table is. Only Citus has the catalog.
static UNDISTRIBUTED: Sql = Sql::declared(
    "kiosque_store::citus::UNDISTRIBUTED",
    "select t.name from unnest(string_to_array($names, ',')) as t(name)
        where to_regclass('orders') in (select logicalrelid from pg_dist_partition)
            and to_regclass(t.name) not in (select logicalrelid from pg_dist_partition)
        order by t.name",
    &["names"],
    Some(<String as FromRow<'_>>::columns),
);

/// Tables distributed by group.
const BY_GROUP: [&str; 9] = [
    "orders",
    "ledger",
    "device_owners",
    "group_changes",
    "group_histories",
    "order_blocks",
    "sales_by_day",
    "sales_by_device",
    "goods_names",
];
/// Tables distributed by account. Not reference tables: a replica may be stale.
const BY_ACCOUNT: [&str; 2] = ["sessions", "known_sources"];
/// Small tables that change rarely: reference tables on each node, for joins with tables by group.
const EVERYWHERE: [&str; 9] = [
    "groups",
    "accounts",
    "account_groups",
    "products",
    "devices",
    "aisles",
    "aisle_texts",
    "rates",
    "operator_keys",
];
/// Tables on the coordinator only, to which every Kiosque node connects.
const AT_THE_COORDINATOR: [&str; 9] = [
    "arrivals",
    "audit",
    "console_sessions",
    "counters",
    "dictionaries",
    metadata::TABLE,
    "migrations",
    "nodes",
    "refused_requests",
];

/// The beginning of the script. Without nodes, Citus would make the coordinator the only one, and
/// no worker could be added later.
const BEFORE: &str = r"-- Distributes the tables of Kiosque over the workers of a Citus cluster.
-- Run it with psql on the coordinator, as the role that owns the tables, and again after an upgrade
-- of Kiosque: tables that are already distributed are skipped. Before that, run
-- `create extension citus` in this database on every node, then `citus_set_coordinator_host` and
-- `citus_add_node` on the coordinator.
\set ON_ERROR_STOP on
set client_min_messages = 'warning';
create extension if not exists citus;
do $$ begin
    if not exists (select from pg_dist_node where noderole = 'primary' and shouldhaveshards) then
        raise exception 'this cluster has no worker'
            using hint = 'run citus_set_coordinator_host and citus_add_node first';
    end if;
end $$;
";
/// Sets the role's planner settings on the workers, which plan every statement for their shards
/// again. The lock allows the script to run for several schemas at a time. Without propagation, the
/// workers do not set each other's planner.
const WORKER_SETTINGS: &str = r"-- Settings of the planner on the workers, also on new ones.
do $$
declare
    refusals text;
begin
    perform pg_advisory_xact_lock(hashtext('kiosque schema --citus'));
    select string_agg(nodename || ':' || nodeport || ': ' || result, '; ') into refusals
    from run_command_on_workers(format(
        'do $body$ begin
            set local citus.enable_ddl_propagation = off;
SETTINGS
        end $body$',
        current_user, current_database()))
    where not success;
    if refusals is not null then
        raise exception 'the settings of the workers: %', refusals;
    end if;
end $$;
";
/// Returns the script that distributes the tables, filled or empty.
pub fn citus_statements() -> String {
    let mut text = String::from(BEFORE);
    text.push_str("-- All rows of a group are on one shard, and those of an account.\n");
    for (tables, column) in [(&BY_GROUP[..], "group_no"), (&BY_ACCOUNT[..], "account_no")] {
        for (at, table) in tables.iter().enumerate() {
            let colocated = if at == 0 { "none" } else { tables[0] };
            let placement = format!(", '{column}', colocate_with => '{colocated}'");
            text.push_str(&unless_done("create_distributed_table", table, &placement));
        }
    }
    text.push_str("-- Small tables, with a copy on every node.\n");
    for table in EVERYWHERE {
        text.push_str(&unless_done("create_reference_table", table, ""));
    }
    text.push_str("-- The rows are on the nodes now; these are the old copies.\n");
    for table in BY_GROUP.iter().chain(&BY_ACCOUNT).chain(&EVERYWHERE) {
        text.push_str(&format!(
            "select truncate_local_data_after_distributing_table('{table}');\n"
        ));
    }
    let settings = PLANNER
        .map(|setting| format!("            alter role %1$I in database %2$I set {setting};"));
    text.push_str(&WORKER_SETTINGS.replace("SETTINGS", &settings.join("\n")));
    text.push_str("-- These stay on the coordinator: ");
    text.push_str(&AT_THE_COORDINATOR.join(", "));
    text.push_str(".\n");
    text
}

impl Upkeep<'_> {
    /// Returns the tables that the script has not distributed yet: the tables of migrations since
    /// its last run. Empty if it has never run.
    ///
    /// # Errors
    /// The store failed.
    pub async fn undistributed_tables(self) -> Result<Vec<String>, Error> {
        if !self.0.db.is_sharded() {
            return Ok(Vec::new());
        }
        let names = [&BY_GROUP[..], &BY_ACCOUNT, &EVERYWHERE].concat().join(",");
        let find =
            async move |read: &Read<'_>| read.all(&UNDISTRIBUTED, &[names.as_str().into()]).await;
        self.0.db.read(Deadline::OfRequest, find).await
    }
}

/// Returns a statement that distributes a table unless it already is distributed.
fn unless_done(function: &str, table: &str, placement: &str) -> String {
    format!(
        "select {function}('{table}'{placement}) where not exists \
         (select from pg_dist_partition where logicalrelid = '{table}'::regclass);\n"
    )
}

#[cfg(test)]
mod tests;
