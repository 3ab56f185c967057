//! The tables of a move, from the catalog of the directory, and the statements that read and write
//! all of their columns.

use std::sync::OnceLock;

use crate::db::Read;
use crate::error::Error;
use crate::sql::{FromRow, Row, Sql, Value, row};
use crate::{metadata, migrate};

/// Rows that are read and written in one step. A row of sums may have tens of kilobytes.
const PAGE_ROWS: i64 = 1_000;

/// The tables that are separate on each side: the time zone, which is set for new data, and the
/// history of its engine.
const NOT_MOVED: [&str; 3] = [metadata::TABLE, migrate::REGISTER, "nodes"];

row! {
    struct ColumnRow { table_name: String, column_name: String, kind: String, key_position: i64 }
}

/// The columns of every table, key columns first. Only SQLite has this catalog, in which the type
/// of a numeric key is `integer`.
static COLUMNS: Sql = Sql::declared(
    "kiosque_store::transfer::tables::COLUMNS",
    "select t.name as table_name, c.name as column_name,
            replace(lower(c.type), 'integer', 'bigint') as kind, c.pk as key_position
        from sqlite_master t cross join pragma_table_info(t.name) c
        where t.type = 'table' and t.name not like 'sqlite%'
        order by t.rowid, c.pk = 0, c.pk, c.cid",
    &[],
    Some(<ColumnRow as FromRow<'_>>::columns),
);

/// Read once, since the layout is this program's.
static TABLES: OnceLock<Vec<Table>> = OnceLock::new();

/// One table, and its statements.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// The types of its columns, key columns first.
    kinds: Vec<&'static str>,
    key_columns: usize,
    /// Whether the key begins with a group number.
    is_by_group: bool,
    first_page: Sql,
    next_page: Sql,
    pub(super) insert: Sql,
    count: Sql,
}

/// Returns every table that is moved. `read` is a snapshot of a directory.
pub(super) async fn all(read: &Read<'_>) -> Result<&'static [Table], Error> {
    let columns = read.all::<ColumnRow>(&COLUMNS, &[]).await?;
    let tables = columns.chunk_by(|one, next| one.table_name == next.table_name);
    let moved = tables.map(Table::of).filter(|table| !NOT_MOVED.contains(&table.name));
    Ok(TABLES.get_or_init(|| moved.collect()))
}

impl Table {
    fn of(columns: &[ColumnRow]) -> Table {
        let leaked = |text: &String| -> &'static str { text.clone().leak() };
        let name = columns.first().map_or("", |column| leaked(&column.table_name));
        let names: Vec<&'static str> = columns.iter().map(|one| leaked(&one.column_name)).collect();
        let kinds: Vec<&'static str> = columns.iter().map(|one| leaked(&one.kind)).collect();
        let key_columns = columns.iter().filter(|one| one.key_position > 0).count();
        let key: Vec<&'static str> = names.iter().copied().take(key_columns).collect();
        let (listed, keys) = (names.join(", "), key.join(", "));
        let select = format!("select {listed} from {name}");
        let order = format!("order by {keys} limit $limit");
        let after = key.iter().map(|column| format!("${column}")).collect::<Vec<_>>().join(", ");
        let typed: Vec<String> =
            names.iter().zip(&kinds).map(|(column, kind)| format!("{column} {kind}")).collect();
        let given = names.iter().map(|column| format!("r.{column}")).collect::<Vec<_>>().join(", ");
        let insert = format!(
            "insert into {name} ({listed}) select {given} from {{rows r: {}}} where true",
            typed.join(", ")
        );
        let page = |text: String, parameters: Vec<&'static str>| {
            Sql::declared(name, text.leak(), parameters.leak(), None)
        };
        Table {
            name,
            key_columns,
            is_by_group: key.first() == Some(&"group_no"),
            first_page: page(format!("{select} {order}"), vec!["limit"]),
            next_page: page(
                format!("{select} where ({keys}) > ({after}) {order}"),
                key.iter().copied().chain(["limit"]).collect(),
            ),
            insert: Sql::new(name, insert.leak()),
            count: Sql::new(name, format!("select count(*) from {name}").leak()),
            kinds,
        }
    }

    /// Returns the number of its rows.
    pub(super) async fn count(&'static self, read: &Read<'_>) -> Result<u64, Error> {
        let rows = read.one::<i64>(&self.count, &[]).await?;
        Ok(rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or_default())
    }

    /// Reads the rows after a row, or the first ones, in the order of the key.
    pub(super) async fn page(
        &'static self,
        read: &Read<'_>,
        after: Option<&[Value<'static>]>,
    ) -> Result<Vec<Vec<Value<'static>>>, Error> {
        let key = after.and_then(|row| row.get(..self.key_columns)).unwrap_or_default();
        let mut params = key.to_vec();
        params.push(PAGE_ROWS.into());
        let page = if after.is_some() { &self.next_page } else { &self.first_page };
        let mut rows = Vec::new();
        read.each(page, &params, |row| {
            rows.push(self.row(row)?);
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    fn row(&self, row: &Row<'_>) -> Result<Vec<Value<'static>>, Error> {
        let mut reader = row.reader();
        let value = |kind: &&str| {
            let value = match *kind {
                "text" => Value::from(Option::<&str>::read(&mut reader)?),
                "bytea" => Option::<&[u8]>::read(&mut reader)?.into(),
                "boolean" => Option::<bool>::read(&mut reader)?.into(),
                _ => Option::<i64>::read(&mut reader)?.into(),
            };
            Ok(value.into_owned())
        };
        self.kinds.iter().map(value).collect()
    }

    /// Returns the group number of a row, if the table has one in its key.
    pub(super) fn group_of(&self, row: &[Value<'static>]) -> Option<i64> {
        match row.first()? {
            Value::Int(group) if self.is_by_group => Some(*group),
            _ => None,
        }
    }
}
