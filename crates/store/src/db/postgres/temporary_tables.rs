//! The temporary tables of a dry run, which hide stored tables by having the same names: a row
//! changed in a stored table would stay locked until the end of the dry run. An overlaid table is
//! hidden by a view of its rows and of the changed rows, which are in a separate table.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kiosque_locks::lock_ignoring_poison;
use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;

use super::connection::Connection;
use crate::db::TemporaryTables;
use crate::error::Error;

/// The transaction of a dry run.
#[derive(Debug, Default)]
pub(in crate::db) struct DryRun {
    pub(super) has_begun: AtomicBool,
    /// The hidden tables; none on Citus, where a temporary table cannot be joined with every
    /// distributed one.
    tables: OnceLock<&'static TemporaryTables>,
    /// Whether the overlaid tables are known to be hidden. A failed change rolls back what it
    /// created.
    pub(super) has_overlays: AtomicBool,
    /// The number of statements that changed overlaid tables.
    redirected: AtomicU64,
    /// Held while a statement of a change runs. Statements run in the order in which they were
    /// called, even if one of them needs another first.
    pub(super) turn: Mutex<()>,
}

impl DryRun {
    /// Hides all tables but the overlaid ones, which are hidden by their first change.
    pub(super) async fn hide(
        &self,
        connection: &Connection,
        tables: &'static TemporaryTables,
    ) -> Result<(), Error> {
        connection.simple(&hiding(tables)).await?;
        connection.simple(&format!("analyze {}", tables.copied.join(", "))).await?;
        forget_statements(connection);
        let _ = self.tables.set(tables);
        Ok(())
    }

    /// Runs a statement that changes an overlaid table, in call order. Returns the number of rows;
    /// `None` for other statements, which are not run.
    pub(super) async fn redirect(
        &self,
        connection: &Connection,
        text: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<u64>, Error> {
        let mut overlaid = self.tables.get().into_iter().flat_map(|tables| tables.overlaid);
        let found = overlaid.find_map(|table| Some((table.0, redirected(text, *table)?)));
        let Some((table, Redirected { needed, text })) = found else { return Ok(None) };
        self.hide_overlaid(connection).await?;
        if let Some(needed) = needed {
            let needed = connection.prepared(&needed).await?;
            connection.client.execute(&needed, params).await?;
        }
        let statement = connection.prepared(&text).await?;
        let changed = connection.client.execute(&statement, params).await?;
        // A plan for a small table may use the wrong index once it is large.
        if (self.redirected.fetch_add(1, Ordering::Relaxed) + 1).is_power_of_two() {
            connection.simple(&format!("analyze changed_{table}; discard plans")).await?;
        }
        Ok(Some(changed))
    }

    /// Hides the overlaid tables, before the first change of one: reads of a view take longer.
    async fn hide_overlaid(&self, connection: &Connection) -> Result<(), Error> {
        if let (Some(tables), false) =
            (self.tables.get(), self.has_overlays.load(Ordering::Acquire))
        {
            connection.simple(&overlaying(tables)).await?;
            forget_statements(connection);
            self.has_overlays.store(true, Ordering::Release);
        }
        Ok(())
    }
}

/// Forgets the prepared statements: their names now refer to other tables.
fn forget_statements(connection: &Connection) {
    lock_ignoring_poison(&connection.statements).clear();
}

/// A statement that changes an overlaid table, redirected to the table of its changed rows.
#[derive(Debug, PartialEq, Eq)]
struct Redirected {
    /// Adds the rows that an update changes, each once: it may contain a row twice.
    needed: Option<String>,
    text: String,
}

/// Returns the redirected form of a statement that changes the table: an insert, or an update of
/// bulk rows. No other statement changes an overlaid table.
fn redirected(text: &str, (table, key): (&str, &[&str])) -> Option<Redirected> {
    if let Some(rest) = text.strip_prefix(&format!("insert into {table} ")) {
        let text = format!("insert into changed_{table} {rest}");
        return Some(Redirected { needed: None, text });
    }
    let rest = text.strip_prefix(&format!("update {table} set "))?;
    let (_, rows) = rest.split_once(" from unnest(")?;
    let needed = format!(
        "insert into changed_{table} select {table}.* from stored_{table} as {table}, \
         unnest({rows} on conflict ({}) do nothing",
        key.join(", "),
    );
    let text = format!("update changed_{table} as {table} set {rest}");
    Some(Redirected { needed: Some(needed), text })
}

fn same_row(one: &str, other: &str, key: &[&str]) -> String {
    let columns = key.iter().map(|column| format!("{one}.{column} = {other}.{column}"));
    columns.collect::<Vec<_>>().join(" and ")
}

/// Returns the script that hides all tables but the overlaid ones.
fn hiding(tables: &TemporaryTables) -> String {
    let create = |name: &&str| {
        script_of(&format!("create temp table {name} (like %1$s.{name} including all)"))
    };
    let fill =
        |name: &&str| script_of(&format!("insert into pg_temp.{name} select * from %1$s.{name}"));
    let created = tables.copied.iter().chain(tables.empty).map(create);
    in_block(&created.chain(tables.copied.iter().map(fill)).collect::<String>())
}

/// Returns the script that hides the overlaid tables, unless they are already hidden.
fn overlaying(tables: &TemporaryTables) -> String {
    let overlay = |(name, key): &(&str, &[&str])| {
        let statements = [
            format!("create temp view stored_{name} as select * from %1$s.{name}"),
            format!("create temp table changed_{name} (like %1$s.{name} including all)"),
            format!(
                "create temp view {name} as select stored.* from %1$s.{name} stored \
                 where not exists (select from pg_temp.changed_{name} changed where {}) \
                 union all select * from pg_temp.changed_{name}",
                same_row("changed", "stored", key)
            ),
        ];
        let created: String = statements.iter().map(|text| script_of(text)).collect();
        format!("if to_regclass('pg_temp.stored_{name}') is null then {created} end if; ")
    };
    in_block(&tables.overlaid.iter().map(overlay).collect::<String>())
}

/// Returns the command of a block that runs a statement with the schema of the stored tables.
fn script_of(statement: &str) -> String {
    format!("execute format('{statement}', stored); ")
}

fn in_block(commands: &str) -> String {
    format!("do $$ declare stored text := quote_ident(current_schema()); begin {commands} end $$")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[&str] = &["a", "b"];

    #[test]
    fn an_update_of_bulk_rows_first_adds_those_that_it_changes() {
        let text = "update t set c = r.c from unnest($1::bigint[], $2::text[]) as r(b, c) \
                    where t.a = $3 and t.b = r.b";
        let found = redirected(text, ("t", KEY)).expect("a change of t");
        assert_eq!(
            found.needed.expect("an update"),
            "insert into changed_t select t.* from stored_t as t, unnest($1::bigint[], \
             $2::text[]) as r(b, c) where t.a = $3 and t.b = r.b on conflict (a, b) do nothing"
        );
        assert_eq!(found.text, text.replacen("update t set", "update changed_t as t set", 1));
        let inserted = redirected("insert into t (a, b) select 1, 2", ("t", KEY));
        assert_eq!(
            inserted.expect("a change of t").text,
            "insert into changed_t (a, b) select 1, 2"
        );
        for other in ["insert into tt (a) select 1", "update tt set a = 1", "select a from t"] {
            assert_eq!(redirected(other, ("t", KEY)), None);
        }
    }
}
