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

mod form;

use strum::{EnumString, IntoStaticStr};

use super::token::{Kind, Token};
#[cfg(test)]
use form::INSERT_END;
use form::{Form, Insert, LookUp, NOT_ROWS, declaration, form};

/// The type of a column of bulk rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum ColumnType {
    Text,
    Bytea,
    Bigint,
    Boolean,
}

impl ColumnType {
    pub(super) fn name(self) -> &'static str {
        self.into()
    }
}

/// The `{rows …}` of a statement.
pub(super) struct Bulk<'a> {
    /// The indexes of `{` and `}` among the tokens.
    open: usize,
    close: usize,
    alias: &'a str,
    pub(super) columns: Vec<(&'a str, ColumnType)>,
    form: Form<'a>,
    /// The clause in PostgreSQL's words.
    arrays: String,
}

impl<'a> Bulk<'a> {
    /// Finds the `{rows …}` of a statement, if it has one, and checks the statement around it.
    pub(super) fn parse(tokens: &[Token<'a>]) -> Result<Option<Bulk<'a>>, String> {
        let Some(open) = tokens.iter().position(|token| token.is_symbol('{')) else {
            return Ok(None);
        };
        let (before, rest) = (tokens.get(..open), tokens.get(open + 1..));
        let (before, rest) = (before.unwrap_or_default(), rest.unwrap_or_default());
        let length = rest.iter().position(|token| token.is_symbol('}')).ok_or(NOT_ROWS)?;
        let (inner, after) = rest.split_at(length);
        let after = after.get(1..).unwrap_or_default();
        if after.iter().any(|token| token.is_symbol('{')) {
            return Err("a second {".to_owned());
        }
        let (look_up, alias, columns) = declaration(inner)?;
        let form = form(before, after, look_up)?;
        let arrays = arrays(alias, &columns);
        Ok(Some(Bulk { open, close: open + 1 + length, alias, columns, form, arrays }))
    }

    /// Returns the position, from 1, of the column with a name.
    fn position(&self, name: &Token<'_>) -> Option<usize> {
        let column = self.columns.iter().position(|(column, _)| name.is_word(column))?;
        Some(column + 1)
    }

    /// The statement for all rows at once, as arrays.
    pub(super) fn as_arrays<'t>(&'t self, tokens: &[Token<'t>]) -> Vec<Token<'t>> {
        let before = tokens.get(..self.open).unwrap_or_default();
        let after = tokens.get(self.close + 1..).unwrap_or_default();
        let arrays = Token { spaced: true, kind: Kind::Text(&self.arrays) };
        let text = |text| Token { spaced: true, kind: Kind::Text(text) };
        if let Form::Select(LookUp::RowByRow) = self.form {
            let mut all = vec![text("select found.* from"), arrays, text("cross join lateral (")];
            all.extend(before);
            all.extend(after.get(2..).unwrap_or_default());
            all.push(text("offset 0) as found"));
            return all;
        }
        [before, &[arrays], after].concat()
    }

    /// The statement for one row, its columns as parameters.
    pub(super) fn row_by_row<'t>(&self, tokens: &[Token<'t>]) -> Result<Vec<Token<'t>>, String> {
        let before = tokens.get(..self.open).unwrap_or_default();
        let after = tokens.get(self.close + 1..).unwrap_or_default();
        let (mut before, after) = (self.with_parameters(before), self.with_parameters(after));
        let from = before.len().saturating_sub(1);
        let mut all;
        match self.form {
            Form::Select(_) => {
                all = before;
                all.extend(after.get(2..).unwrap_or_default());
            }
            Form::Change => {
                all = before.get(..from).unwrap_or_default().to_vec();
                all.extend(&after);
            }
            Form::Insert(Insert { select, tail, same_shard }) => {
                if let Some((alias, column)) = same_shard {
                    let parameter = after.get(tail - 1).ok_or("a bulk insert without its end")?;
                    before = replaced(&before, alias, |name| {
                        name.is_word(column).then_some(parameter.kind)
                    });
                }
                let from = before.len().saturating_sub(1);
                all = before.get(..select).unwrap_or_default().to_vec();
                all.push(Token { spaced: true, kind: Kind::Text("values (") });
                let values = before.get(select + 1..from).unwrap_or_default();
                let first = values.first().map(|first| Token { spaced: false, ..*first });
                all.extend(first);
                all.extend(values.get(1..).unwrap_or_default());
                all.push(Token { spaced: false, kind: Kind::Symbol(')') });
                all.extend(after.get(tail..).unwrap_or_default());
            }
        }
        Ok(all)
    }

    /// Replaces references to columns by parameters.
    fn with_parameters<'t>(&self, tokens: &[Token<'t>]) -> Vec<Token<'t>> {
        replaced(tokens, self.alias, |name| self.position(name).map(Kind::Number))
    }
}

/// Returns whether a token is the alias of a table, not a column with that name.
fn is_alias(tokens: &[Token<'_>], at: usize, alias: &str) -> bool {
    let is_qualified = at > 0 && tokens.get(at - 1).is_some_and(|token| token.is_symbol('.'));
    !is_qualified && tokens.get(at).is_some_and(|token| token.is_word(alias))
}

/// Returns the name of the column if the tokens from `at` on are `ALIAS.COLUMN`.
fn column<'a, 't>(tokens: &'a [Token<'t>], at: usize, alias: &str) -> Option<&'a Token<'t>> {
    let [_, dot, name] = tokens.get(at..at + 3)? else { return None };
    (is_alias(tokens, at, alias) && dot.is_symbol('.')).then_some(name)
}

/// Replaces references to columns of a table by what `kind` returns for their names.
fn replaced<'t>(
    tokens: &[Token<'t>],
    alias: &str,
    kind: impl Fn(&Token<'t>) -> Option<Kind<'t>>,
) -> Vec<Token<'t>> {
    let mut all = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match column(tokens, at, alias).and_then(&kind) {
            Some(kind) => {
                all.push(Token { kind, ..*token });
                at += 3;
            }
            None => {
                all.push(*token);
                at += 1;
            }
        }
    }
    all
}

fn arrays(alias: &str, columns: &[(&str, ColumnType)]) -> String {
    let typed = columns.iter().zip(1..).map(|((_, kind), at)| format!("${at}::{}[]", kind.name()));
    let typed: Vec<String> = typed.collect();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    format!("unnest({}) as {alias}({})", typed.join(", "), names.join(", "))
}

#[cfg(test)]
mod tests;
