//! Bulk statements: one statement for many rows.
//!
//! `{rows r: COLUMN TYPE, …}` declares the rows `r` that a statement is given and the types of
//! their columns: `text`, `bytea`, `bigint` or `boolean`. It is the first table of the outermost
//! `from`, and the statement refers to a column as `r.COLUMN`. There are four forms.
//!
//! **Look up**: `select … from {rows …} cross join …` returns the rows found for each.
//!
//! ```sql
//! select l.device_no, l.last_seq from {rows r: code text}
//!     cross join ledger l where l.group_no = $group_no and l.device_code = r.code
//! ```
//!
//! PostgreSQL runs it once, with an array for each column. SQLite runs it for each row, with a
//! parameter for each column; there is no table of them:
//!
//! ```sql
//! PostgreSQL select l.device_no, l.last_seq from unnest($1::text[]) as r(code) cross join ledger l
//! where l.group_no = $2 and l.device_code = r.code
//! SQLite select l.device_no, l.last_seq from ledger l where l.group_no = ?2 and l.device_code = ?1
//! ```
//!
//! A look-up in one shard is written `{each r: …}`. PostgreSQL then also runs it row by row, in a
//! subquery that its planner cannot reorder: as long as it has no statistics of a table, it assumes
//! that a group is small, and would read all of its rows before the given ones.
//!
//! ```sql
//! select l.device_no, l.last_seq from {each r: code text}
//!     cross join ledger l where l.group_no = $group_no and l.device_code = r.code
//! PostgreSQL select found.* from unnest($1::text[]) as r(code) cross join lateral ( select
//! l.device_no, l.last_seq from ledger l where l.group_no = $2 and l.device_code = r.code offset 0)
//! as found
//! ```
//!
//! **Insert**: `insert into … select … from {rows …} where true`, with or without `on conflict`.
//! SQLite gets `values` instead of a `select`: to be able to undo an `insert … select` that fails
//! in the middle, it copies every page that the statement changes to a file, which was two thirds
//! of all writes of an import.
//!
//! ```sql
//! insert into t (group_no, name) select $group_no, r.name from {rows r: name text} where true
//!     on conflict do nothing
//! PostgreSQL insert into t (group_no, name) select $2, r.name from unnest($1::text[]) as r(name)
//! where true on conflict do nothing
//! SQLite insert into t (group_no, name) values (?2, ?1) on conflict do nothing
//! ```
//!
//! An insert into a distributed table takes the distribution column from a row of the same shard,
//! and inserts nothing without that row. Citus then sends the statement to the shard; with a
//! constant it first copies all rows into a temporary result. SQLite gets the parameter:
//!
//! ```sql
//! insert into t (group_no, name) select g.group_no, r.name from {rows r: name text}
//!     cross join group_changes g where g.group_no = $group_no
//! SQLite insert into t (group_no, name) values (?2, ?1)
//! ```
//!
//! **Update**: `update … set … from {rows …} where …`.
//!
//! ```sql
//! update t set name = r.name from {rows r: id bigint, name text} where t.id = r.id
//! PostgreSQL update t set name = r.name from unnest($1::bigint[], $2::text[]) as r(id, name) where
//! t.id = r.id
//! SQLite update t set name = ?2 where t.id = ?1
//! ```
//!
//! **Delete**: `delete from … using {rows …} where …`.
//!
//! ```sql
//! delete from t using {rows r: id bigint} where t.id = r.id
//! PostgreSQL delete from t using unnest($1::bigint[]) as r(id) where t.id = r.id
//! SQLite delete from t where t.id = ?1
//! ```
//!
//! On Citus, a single row gets the form of SQLite, with the type of each column (`$1::text`): it is
//! planned once instead of for each use, if it accesses one table and one group.
//!
//! The columns of the rows are the first parameters, in order; the declared parameters follow.
//! Anything else is refused with the reason, when the statement is first used and by the tests of
//! all statements.

/// The types of columns.
const TYPES: [&str; 4] = ["text", "bytea", "bigint", "boolean"];

const NOT_ROWS: &str = "{ begins no {rows NAME: COLUMN TYPE, …}";

/// A bulk statement, split at its `{rows …}`.
pub(super) struct Bulk<'a> {
    /// The text before the clause of the rows.
    before: &'a str,
    /// ` from ` or ` using `.
    clause: &'static str,
    after: &'a str,
    alias: &'a str,
    /// The names and the types of the columns.
    columns: Vec<(&'a str, &'static str)>,
    /// Whether PostgreSQL looks up row by row: `{each …}`.
    is_row_by_row: bool,
}

impl<'a> Bulk<'a> {
    /// Finds the `{rows …}` of a statement, if it has one.
    pub(super) fn parse(text: &'a str) -> Result<Option<Bulk<'a>>, String> {
        let Some((before, rest)) = text.split_once('{') else { return Ok(None) };
        let (rows, after) = rest.split_once('}').ok_or(NOT_ROWS)?;
        let (rows, columns) = rows.split_once(": ").ok_or(NOT_ROWS)?;
        let (is_row_by_row, alias) = match rows.split_once(' ') {
            Some(("rows", alias)) => (false, alias),
            Some(("each", alias)) => (true, alias),
            _ => return Err(NOT_ROWS.to_owned()),
        };
        let clause = if before.starts_with("delete ") { " using " } else { " from " };
        let before = before.strip_suffix(clause);
        let before = before.ok_or("{rows …} is not the first table of its clause")?;
        if before.matches('(').count() != before.matches(')').count() {
            return Err("{rows …} is in parentheses".to_owned());
        }
        if after.contains('{') {
            return Err("a second {".to_owned());
        }
        let columns = columns.split(", ").map(column).collect::<Result<_, _>>()?;
        Ok(Some(Bulk { before, clause, after, alias, columns, is_row_by_row }))
    }

    /// Returns the types of the columns.
    pub(super) fn types(&self) -> Vec<&'static str> {
        self.columns.iter().map(|(_, kind)| *kind).collect()
    }

    /// Returns the statement for all rows at once, as arrays.
    pub(super) fn as_arrays(&self) -> String {
        let Bulk { before, clause, after, alias, columns, is_row_by_row } = self;
        let typed = columns.iter().zip(1..).map(|((_, kind), at)| format!("${at}::{kind}[]"));
        let typed: Vec<String> = typed.collect();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let arrays = format!("unnest({}) as {alias}({})", typed.join(", "), names.join(", "));
        if *is_row_by_row {
            let select = look_up(before, after).unwrap_or_default();
            return format!(
                "select found.* from {arrays} cross join lateral ({select} offset 0) as found"
            );
        }
        format!("{before}{clause}{arrays}{after}")
    }

    /// Returns the statement for one row, whose columns are parameters, each with a `cast` to its
    /// type.
    pub(super) fn of_row(&self, cast: impl Fn(&str) -> String) -> Result<String, String> {
        let (mut before, mut after) = (self.before.to_owned(), self.after.to_owned());
        for ((name, kind), at) in self.columns.iter().zip(1..) {
            let column = format!("{}.{name}", self.alias);
            let parameter = format!("${at}{}", cast(kind));
            before = replaced(&before, &column, &parameter);
            after = replaced(&after, &column, &parameter);
        }
        let of_row = match (word(&before), self.is_row_by_row) {
            ("select", _) => look_up(&before, &after),
            ("insert", false) => insert(&before, &after),
            ("update" | "delete", false) if after.starts_with(" where ") => Some(before + &after),
            _ => None,
        };
        let error = || format!("no form of a bulk statement: {}{{…}}{}", self.before, self.after);
        of_row.ok_or_else(error)
    }
}

/// Reads `NAME TYPE`.
fn column(text: &str) -> Result<(&str, &'static str), String> {
    let known = |(name, kind)| Some((name, *TYPES.iter().find(|known| **known == kind)?));
    let column = text.split_once(' ').and_then(known);
    column.ok_or_else(|| format!("{text} is not a name and one of the types {TYPES:?}"))
}

/// Returns a look-up of one row.
fn look_up(before: &str, after: &str) -> Option<String> {
    Some(format!("{before} from {}", after.strip_prefix(" cross join ")?))
}

/// Returns an insert of one row.
fn insert(before: &str, after: &str) -> Option<String> {
    let (table, values) = before.split_once(" select ")?;
    let (end, conflict) = after.split_at(after.find(" on conflict ").unwrap_or(after.len()));
    if end == " where true" {
        return Some(format!("{table} values ({values}){conflict}"));
    }
    // The row of the same shard: `cross join TABLE ALIAS where ALIAS.COLUMN = $PARAMETER`.
    let (of_shard, condition) = end.strip_prefix(" cross join ")?.split_once(" where ")?;
    let (_, alias) = of_shard.split_once(' ')?;
    let (column, parameter) = condition.split_once(" = ")?;
    let is_of_alias = column.split_once('.').is_some_and(|(of, _)| of == alias);
    let name = parameter.strip_prefix('$')?;
    let values = replaced(values, column, parameter);
    (is_of_alias && word(name) == name).then(|| format!("{table} values ({values}){conflict}"))
}

/// Replaces a column of a table where it is not a part of another name.
fn replaced(text: &str, column: &str, by: &str) -> String {
    let mut parts = text.split(column);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_longer = replaced.ends_with(|c| is_word_char(c) || c == '.');
        let is_longer = is_longer || part.starts_with(is_word_char);
        replaced.push_str(if is_longer { column } else { by });
        replaced.push_str(part);
    }
    replaced
}

/// Returns the name or the number at the beginning of a text.
pub(super) fn word(text: &str) -> &str {
    text.split(|c| !is_word_char(c)).next().unwrap_or_default()
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests;
