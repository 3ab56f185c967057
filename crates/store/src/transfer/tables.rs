//! The tables of a move, and the statements that read and write all of their columns.

use std::sync::LazyLock;

use super::minimum;
use crate::db::Read;
use crate::error::Error;
use crate::sql::{FromRow as _, Row, Sql, Value};

/// A table: its name, the columns of its key, and its other columns, each with its type.
type Layout = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// Every table except those about one engine's own history (migrations, nodes). Sorted by expected
/// size, so that a fault is found early.
const LAYOUT: [Layout; 26] = [
    ("groups", &[("group_no", "bigint")], "group_id text, group_name text, active boolean"),
    (
        "accounts",
        &[("account_no", "bigint")],
        "login_name text, display_name text, password_hash text, third_party_api boolean, \
         enabled boolean, used_at_ms bigint",
    ),
    ("account_groups", &[("account_no", "bigint"), ("group_no", "bigint")], "position bigint"),
    (
        "sessions",
        &[("account_no", "bigint")],
        "group_no bigint, token_digest text, expires_at_ms bigint, source text, request_id text, \
         opened_at_ms bigint",
    ),
    ("known_sources", &[("account_no", "bigint"), ("source", "text")], "last_login_ms bigint"),
    (
        "operator_keys",
        &[("key_digest", "text")],
        "key_name text, may text, created_at_ms bigint, revoked_at_ms bigint, used_at_ms bigint",
    ),
    (
        "console_sessions",
        &[("session_digest", "text")],
        "key_digest text, opened_at_ms bigint, used_at_ms bigint, expires_at_ms bigint",
    ),
    (
        "products",
        &[("goods_id", "text")],
        "goods_name text, category text, currency text, default_price bigint, is_free boolean",
    ),
    (
        "devices",
        &[("device_no", "bigint")],
        "device_code text, device_name text, device_model text, address text, enabled boolean, \
         created_at_ms bigint, total_curr_stock bigint",
    ),
    (
        "aisles",
        &[("device_no", "bigint"), ("aisle_code", "text")],
        "position bigint, cabinet_code text, layer bigint, goods_id text, price bigint, \
         show_price bigint, max_stock bigint, curr_stock bigint, enabled boolean, broken boolean",
    ),
    ("aisle_texts", &[("device_no", "bigint")], "element text"),
    ("dictionaries", &[("dictionary_no", "bigint")], "content bytea"),
    (
        "device_owners",
        &[("group_no", "bigint"), ("device_code", "text"), ("since_ms", "bigint")],
        "until_ms bigint, listed boolean, device_no bigint",
    ),
    (
        "ledger",
        &[("group_no", "bigint"), ("device_code", "text")],
        "device_no bigint, since_ms bigint, first_seq bigint, archived_seq bigint, \
         last_seq bigint, last_active_ms bigint, device_name text, blocked_seq bigint",
    ),
    (
        "group_changes",
        &[("group_no", "bigint")],
        "last_change_no bigint, history bigint, fleet bigint, rates bigint, devices bigint, \
         devices_from_ms bigint",
    ),
    ("group_histories", &[("group_no", "bigint"), ("first_change_no", "bigint")], "history bigint"),
    (
        "order_blocks",
        &[("group_no", "bigint"), ("device_no", "bigint"), ("block", "bigint")],
        "first_ms bigint, last_ms bigint",
    ),
    ("rates", &[("currency", "text"), ("day", "bigint")], "usd_per_unit_e12 bigint"),
    (
        "goods_names",
        &[("group_no", "bigint"), ("goods_id", "text")],
        "goods_name text, sale_at_ms bigint",
    ),
    (
        "audit",
        &[("entry_no", "bigint")],
        "at_ms bigint, event text, account text, actor text, source text, request_id text, \
         group_id text, count bigint, reason text, details text, other_source text, \
         other_request_id text, other_at_ms bigint",
    ),
    (
        "imports",
        &[("import_no", "bigint")],
        "started_at_ms bigint, ended_at_ms bigint, active_at_ms bigint, details text, \
         stored_orders bigint",
    ),
    (
        "refused_requests",
        &[("number", "bigint")],
        "share text, request_id text, at_ms bigint, details text",
    ),
    (
        "arrivals",
        &[("arrival_no", "bigint")],
        "at_ms bigint, import_no bigint, key_name text, node text",
    ),
    (
        "sales_by_day",
        &[("group_no", "bigint"), ("day", "bigint"), ("currency", "text")],
        "orders bigint, items bigint, amount bigint, refund bigint, shipped bigint, \
         failed bigint, first_sale_at_ms bigint, last_sale_at_ms bigint",
    ),
    (
        "sales_by_device",
        &[
            ("group_no", "bigint"),
            ("day", "bigint"),
            ("device_block", "bigint"),
            ("currency", "text"),
        ],
        "devices bytea, products bytea",
    ),
    (
        "orders",
        &[("group_no", "bigint"), ("device_no", "bigint"), ("seq", "bigint")],
        "trade_start_ms bigint, change_no bigint, sale_at_ms bigint, sale bytea, \
         arrival_no bigint, order_id text, trade_no text, trade_no_in text, record bytea",
    ),
];

/// Tables large enough to continue an interrupted copy in their middle.
const LARGE: [&str; 3] = ["sales_by_device", "orders", "audit"];

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let mut tables: Vec<Table> = LAYOUT.iter().map(Table::of).collect();
    tables.push(Table::counters());
    tables
});

/// Every table, in the order in which they are copied.
pub(super) fn all() -> std::slice::Iter<'static, Table> {
    TABLES.iter()
}

/// Every statement of this module.
pub(crate) fn statements() -> impl Iterator<Item = &'static Sql> {
    all().flat_map(|table| [&table.page, &table.insert, &table.any, &table.count, &table.count_to])
}

/// One table, and its statements.
pub(super) struct Table {
    pub(super) name: &'static str,
    key: Vec<&'static str>,
    columns: Vec<&'static str>,
    /// Whether the key begins with a group number.
    is_by_group: bool,
    /// Whether an interrupted copy continues in the middle.
    pub(super) is_large: bool,
    /// Whether the table has rows in a new database.
    pub(super) has_initial_rows: bool,
    page: Sql,
    pub(super) insert: Sql,
    pub(super) any: Sql,
    pub(super) count: Sql,
    /// Counts the rows up to a key.
    pub(super) count_to: Sql,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
    Flag(bool),
    Null,
}

impl Table {
    fn of((name, key, others): &Layout) -> Table {
        let others = others.split(',').filter_map(|column| column.trim().split_once(' '));
        let columns: Vec<(&'static str, &'static str)> =
            key.iter().copied().chain(others).collect();
        let listed = joined(columns.iter().map(|(column, _)| (*column).to_owned()));
        let values = joined(columns.iter().map(|(column, _)| format!("r.{column}")));
        let typed = joined(columns.iter().map(|(column, kind)| format!("{column} {kind}")));
        let keys = joined(key.iter().map(|(column, _)| (*column).to_owned()));
        let params = joined(key.iter().map(|(column, _)| format!("${column}")));
        let key_names: Vec<&'static str> = key.iter().map(|(column, _)| *column).collect();
        let page_params = key_names.iter().copied().chain(["limit"]).collect();
        let names = columns.iter().map(|(column, _)| *column).collect();
        Table {
            name,
            key: key.iter().map(|(_, kind)| *kind).collect(),
            columns: columns.iter().map(|(_, kind)| *kind).collect(),
            is_by_group: key.first().is_some_and(|(column, _)| *column == "group_no"),
            is_large: LARGE.contains(name),
            has_initial_rows: false,
            page: Sql::built(
                name,
                format!(
                    "select {listed} from {name} where ({keys}) > ({params}) \
                     order by {keys} limit $limit"
                ),
                page_params,
                names,
            ),
            insert: Sql::built(
                name,
                format!(
                    "insert into {name} ({listed}) select {values} from {{rows r: {typed}}} \
                     where true on conflict do nothing"
                ),
                Vec::new(),
                Vec::new(),
            ),
            any: scalar(name, format!("select 1 from {name} limit 1"), Vec::new()),
            count: scalar(name, format!("select count(*) from {name}"), Vec::new()),
            count_to: scalar(
                name,
                format!("select count(*) from {name} where ({keys}) <= ({params})"),
                key_names,
            ),
        }
    }

    /// Returns the table of counters, which a new database has as well: the moved values replace
    /// them.
    fn counters() -> Table {
        let table = Table::of(&("counters", &[("name", "text")], "last bigint"));
        let insert = Sql::built(
            "counters",
            "insert into counters (name, last) select r.name, r.last \
             from {rows r: name text, last bigint} where true \
             on conflict (name) do update set last = excluded.last"
                .to_owned(),
            Vec::new(),
            Vec::new(),
        );
        Table { insert, has_initial_rows: true, ..table }
    }

    /// Reads the rows after a key, in the order of the key.
    pub(super) async fn page(
        &'static self,
        read: &Read<'_>,
        after: Option<&[Cell]>,
        rows: i64,
    ) -> Result<Vec<Vec<Cell>>, Error> {
        let mut params = match after {
            Some(after) => values(after),
            None => self.key.iter().map(|kind| minimum(kind)).collect(),
        };
        params.push(rows.into());
        read.all(&self.page, &params, |row| self.cells(row)).await
    }

    fn cells(&self, row: &Row<'_>) -> Result<Vec<Cell>, Error> {
        let mut reader = row.reader();
        let cell = |kind: &&str| {
            Ok(match *kind {
                "text" => Option::read(&mut reader)?.map_or(Cell::Null, Cell::Text),
                "bytea" => {
                    let bytes: Option<&[u8]> = Option::read(&mut reader)?;
                    bytes.map_or(Cell::Null, |bytes| Cell::Bytes(bytes.to_vec()))
                }
                "boolean" => Cell::Flag(bool::read(&mut reader)?),
                _ => Option::read(&mut reader)?.map_or(Cell::Null, Cell::Int),
            })
        };
        self.columns.iter().map(cell).collect()
    }

    /// Returns the key of a row.
    pub(super) fn key_of(&self, row: &[Cell]) -> Vec<Cell> {
        row.iter().take(self.key.len()).cloned().collect()
    }

    /// Parses a key that [`text`] formatted.
    pub(super) fn read_key(&self, text: &str) -> Option<Vec<Cell>> {
        let parts: Vec<&str> = text.split('\n').collect();
        let cell = |(kind, part): (&&str, &&str)| match *kind {
            "text" => Some(Cell::Text((*part).to_owned())),
            _ => part.parse().ok().map(Cell::Int),
        };
        let cells: Option<Vec<Cell>> = self.key.iter().zip(&parts).map(cell).collect();
        cells.filter(|cells| cells.len() == parts.len())
    }

    /// Returns the group number of a row, if the table has one in its key.
    pub(super) fn group_of(&self, row: &[Cell]) -> Option<i64> {
        match row.first() {
            Some(Cell::Int(group)) if self.is_by_group => Some(*group),
            _ => None,
        }
    }
}

/// A statement that returns one column.
fn scalar(name: &'static str, text: String, parameters: Vec<&'static str>) -> Sql {
    Sql::built(name, text, parameters, vec![""])
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

pub(super) fn values(cells: &[Cell]) -> Vec<Value<'_>> {
    let value = |cell| match cell {
        &Cell::Int(int) => Value::Int(int),
        Cell::Text(text) => Value::Text(text),
        Cell::Bytes(bytes) => Value::Bytes(bytes),
        &Cell::Flag(flag) => Value::Bool(flag),
        Cell::Null => Value::Null,
    };
    cells.iter().map(value).collect()
}

/// Formats a key as text. A key with a line break cannot be parsed again: then the table is copied
/// from its beginning, and existing rows stay.
pub(super) fn text(key: &[Cell]) -> String {
    let part = |cell: &Cell| match cell {
        Cell::Int(int) => int.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Bytes(_) | Cell::Flag(_) | Cell::Null => String::new(),
    };
    key.iter().map(part).collect::<Vec<_>>().join("\n")
}
