//! Bulk statements: one statement for many rows.
//!
//! `{rows r: COLUMN TYPE, …}` names the rows `r` that a statement is given and the types of their
//! columns: `text`, `bigint` or `boolean`. It is the first table of the outermost `from`, and the
//! statement refers to a column as `r.COLUMN`. There are four forms.
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
//! -- PostgreSQL
//! select l.device_no, l.last_seq from unnest($1::text[]) as r(code)
//!     cross join ledger l where l.group_no = $2 and l.device_code = r.code
//! -- SQLite
//! select l.device_no, l.last_seq from ledger l where l.group_no = ?2 and l.device_code = ?1
//! ```
//!
//! **Insert**: `insert into … select … from {rows …} where true`, with or without `on conflict`.
//! SQLite gets `values` instead of a `select`: to be able to undo an `insert … select` that fails
//! in the middle, it copies every page that the statement changes to a file, which was two thirds
//! of all that an import wrote.
//!
//! ```sql
//! insert into t (group_no, name) select $group_no, r.name from {rows r: name text} where true
//!     on conflict do nothing
//! -- PostgreSQL
//! insert into t (group_no, name) select $2, r.name from unnest($1::text[]) as r(name) where true
//!     on conflict do nothing
//! -- SQLite
//! insert into t (group_no, name) values (?2, ?1) on conflict do nothing
//! ```
//!
//! An insert into a distributed table takes the distribution column from a row of the same shard,
//! and inserts nothing without that row. Citus then sends the statement to the shard; of a constant
//! it first copies all rows into a temporary result. SQLite gets the parameter:
//!
//! ```sql
//! insert into t (group_no, name) select g.group_no, r.name from {rows r: name text}
//!     cross join group_changes g where g.group_no = $group_no
//! -- SQLite
//! insert into t (group_no, name) values (?2, ?1)
//! ```
//!
//! **Update**: `update … set … from {rows …} where …`.
//!
//! ```sql
//! update t set name = r.name from {rows r: id bigint, name text} where t.id = r.id
//! -- PostgreSQL
//! update t set name = r.name from unnest($1::bigint[], $2::text[]) as r(id, name)
//!     where t.id = r.id
//! -- SQLite
//! update t set name = ?2 where t.id = ?1
//! ```
//!
//! **Delete**: `delete from … using {rows …} where …`.
//!
//! ```sql
//! delete from t using {rows r: id bigint} where t.id = r.id
//! -- PostgreSQL
//! delete from t using unnest($1::bigint[]) as r(id) where t.id = r.id
//! -- SQLite
//! delete from t where t.id = ?1
//! ```
//!
//! The columns of the rows are the first parameters, in their order; the declared parameters
//! follow. Anything else is refused with the reason, when the statement is first used and by
//! `Store::prepare_all`.

use super::token::{Kind, Token};

/// The type of a column of bulk rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Text,
    Bigint,
    Boolean,
}

impl ColumnType {
    fn parse(name: &str) -> Option<ColumnType> {
        Some(match name {
            "text" => ColumnType::Text,
            "bigint" => ColumnType::Bigint,
            "boolean" => ColumnType::Boolean,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            ColumnType::Text => "text",
            ColumnType::Bigint => "bigint",
            ColumnType::Boolean => "boolean",
        }
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

/// The form of a bulk statement.
#[derive(Clone, Copy)]
enum Form<'a> {
    Select,
    Insert(Insert<'a>),
    Update,
    Delete,
}

/// The parts of a bulk insert.
#[derive(Clone, Copy)]
struct Insert<'a> {
    /// The index of its `select`.
    select: usize,
    /// The number of tokens between the rows and `on conflict`.
    tail: usize,
    /// The alias and the column of the row whose shard is used.
    same_shard: Option<(&'a str, &'a str)>,
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
        let (alias, columns) = declaration(inner)?;
        let form = form(before, after)?;
        let arrays = arrays(alias, &columns);
        let bulk = Bulk { open, close: open + 1 + length, alias, columns, form, arrays };
        bulk.check_references(before)?;
        bulk.check_references(after)?;
        Ok(Some(bulk))
    }

    /// Every use of the alias must name a column.
    fn check_references(&self, tokens: &[Token<'_>]) -> Result<(), String> {
        for at in (0..tokens.len()).filter(|at| self.is_alias(tokens, *at)) {
            if self.referred(tokens, at).is_none() {
                let named = match tokens.get(at + 2).map(|token| token.kind) {
                    Some(Kind::Word(name)) => name,
                    _ => "",
                };
                return Err(format!("{}.{named} is not a column of {{rows …}}", self.alias));
            }
        }
        Ok(())
    }

    fn is_alias(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let is_qualified = at > 0 && tokens.get(at - 1).is_some_and(|token| token.is_symbol('.'));
        !is_qualified && tokens.get(at).is_some_and(|token| token.is_word(self.alias))
    }

    /// Returns the position, from 1, of the column that the tokens from `at` on refer to.
    fn referred(&self, tokens: &[Token<'_>], at: usize) -> Option<usize> {
        let [_, dot, column] = tokens.get(at..at + 3)? else { return None };
        let position = self.columns.iter().position(|(name, _)| column.is_word(name))?;
        dot.is_symbol('.').then_some(position + 1)
    }

    /// The statement for all rows at once, as arrays.
    pub(super) fn as_arrays<'t>(&'t self, tokens: &[Token<'t>]) -> Vec<Token<'t>> {
        let mut all = tokens.get(..self.open).unwrap_or_default().to_vec();
        all.push(Token { spaced: true, kind: Kind::Text(&self.arrays) });
        all.extend(tokens.get(self.close + 1..).unwrap_or_default());
        all
    }

    /// The statement for one row, its columns as parameters.
    pub(super) fn row_by_row<'t>(&self, tokens: &[Token<'t>]) -> Result<Vec<Token<'t>>, String> {
        let before = tokens.get(..self.open).unwrap_or_default();
        let after = tokens.get(self.close + 1..).unwrap_or_default();
        let (mut before, after) = (self.with_parameters(before), self.with_parameters(after));
        let from = before.len().saturating_sub(1);
        let mut all;
        match self.form {
            Form::Select => {
                all = before;
                all.extend(after.get(2..).unwrap_or_default());
            }
            Form::Update | Form::Delete => {
                all = before.get(..from).unwrap_or_default().to_vec();
                all.extend(&after);
            }
            Form::Insert(Insert { select, tail, same_shard }) => {
                if let Some(column) = same_shard {
                    let parameter = after.get(tail - 1).ok_or("a bulk insert without its end")?;
                    before = with_parameter(&before, column, parameter.kind);
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
        let mut all = Vec::with_capacity(tokens.len());
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let referred = if self.is_alias(tokens, at) { self.referred(tokens, at) } else { None };
            match referred {
                Some(number) => {
                    all.push(Token { kind: Kind::Number(number), ..*token });
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
}

/// Replaces references to a column of a table by a parameter.
fn with_parameter<'t>(
    tokens: &[Token<'t>],
    (alias, column): (&str, &str),
    parameter: Kind<'t>,
) -> Vec<Token<'t>> {
    let mut all: Vec<Token<'t>> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let [.., table, dot] = all.as_slice()
            && table.is_word(alias)
            && dot.is_symbol('.')
            && token.is_word(column)
        {
            let spaced = table.spaced;
            all.truncate(all.len() - 2);
            all.push(Token { spaced, kind: parameter });
        } else {
            all.push(*token);
        }
    }
    all
}

const NOT_ROWS: &str = "{ begins no {rows NAME: COLUMN TYPE, …}";

/// The alias of the rows, and their columns.
type Declaration<'a> = (&'a str, Vec<(&'a str, ColumnType)>);

/// Reads `rows NAME: COLUMN TYPE, …`.
fn declaration<'a>(inner: &[Token<'a>]) -> Result<Declaration<'a>, String> {
    let [rows, name, colon, columns @ ..] = inner else { return Err(NOT_ROWS.to_owned()) };
    let Kind::Word(alias) = name.kind else { return Err(NOT_ROWS.to_owned()) };
    if !rows.is_word("rows") || !colon.is_symbol(':') {
        return Err(NOT_ROWS.to_owned());
    }
    let mut read: Vec<(&str, ColumnType)> = Vec::new();
    for column in columns.split(|token| token.is_symbol(',')) {
        let [Token { kind: Kind::Word(name), .. }, Token { kind: Kind::Word(kind), .. }] = column
        else {
            return Err("{rows …} has a column that is not NAME TYPE".to_owned());
        };
        let known = ColumnType::parse(kind);
        let known = known
            .ok_or_else(|| format!("{kind} is not a type; expected text, bigint or boolean"))?;
        if read.iter().any(|(other, _)| other == name) {
            return Err(format!("{{rows …}} has the column {name} twice"));
        }
        read.push((name, known));
    }
    Ok((alias, read))
}

/// Finds the form of a statement by the clauses around its `{rows …}`.
fn form<'a>(before: &[Token<'a>], after: &[Token<'a>]) -> Result<Form<'a>, String> {
    let is_delete = before.first().is_some_and(|token| token.is_word("delete"));
    let clause = if is_delete { "using" } else { "from" };
    if !before.last().is_some_and(|token| token.is_word(clause)) {
        return Err(format!("{{rows …}} is not the first table of a {clause}"));
    }
    let opened = before.iter().filter(|token| token.is_symbol('(')).count();
    let closed = before.iter().filter(|token| token.is_symbol(')')).count();
    if opened != closed {
        return Err("{rows …} is not in the outermost from".to_owned());
    }
    let next = |words: &[&str]| {
        let agree = |(word, token): (&&str, &Token<'_>)| token.is_word(word);
        after.len() >= words.len() && words.iter().zip(after).all(agree)
    };
    match before.first().map(|token| token.kind) {
        Some(Kind::Word("select")) if next(&["cross", "join"]) => Ok(Form::Select),
        Some(Kind::Word("select")) => {
            Err("expected `cross join` after the rows of a bulk select".to_owned())
        }
        Some(Kind::Word("update")) if next(&["where"]) => Ok(Form::Update),
        Some(Kind::Word("update")) => {
            Err("expected `where` after the rows of a bulk update".to_owned())
        }
        Some(Kind::Word("delete")) if next(&["where"]) => Ok(Form::Delete),
        Some(Kind::Word("delete")) => {
            Err("expected `where` after the rows of a bulk delete".to_owned())
        }
        Some(Kind::Word("insert")) => {
            let same_shard = same_shard(after);
            let tail = match same_shard {
                Some(_) => SAME_SHARD_TOKENS,
                None if next(&["where", "true"]) => 2,
                None => return Err(INSERT_END.to_owned()),
            };
            let rest = after.get(tail..).unwrap_or_default();
            if !matches!(rest, [] | [Token { kind: Kind::Word("on"), .. }, ..]) {
                return Err(INSERT_END.to_owned());
            }
            let select = before.iter().position(|token| token.is_word("select"));
            let select = select.ok_or("a bulk insert has no select")?;
            Ok(Form::Insert(Insert { select, tail, same_shard }))
        }
        _ => Err("a bulk statement is a select, an insert, an update or a delete".to_owned()),
    }
}

/// The number of tokens of `cross join TABLE ALIAS where ALIAS.COLUMN = $PARAMETER`.
const SAME_SHARD_TOKENS: usize = 10;
const INSERT_END: &str = "a bulk insert ends with `where true` or with a row of the same shard, or \
                          goes on with `on conflict`";

/// Reads the alias and the column of `cross join TABLE ALIAS where ALIAS.COLUMN = $PARAMETER`.
fn same_shard<'a>(after: &[Token<'a>]) -> Option<(&'a str, &'a str)> {
    let kinds: Vec<Kind<'a>> =
        after.iter().take(SAME_SHARD_TOKENS).map(|token| token.kind).collect();
    match kinds.as_slice() {
        [
            Kind::Word("cross"),
            Kind::Word("join"),
            Kind::Word(_),
            Kind::Word(alias),
            Kind::Word("where"),
            Kind::Word(named),
            Kind::Symbol('.'),
            Kind::Word(column),
            Kind::Symbol('='),
            Kind::Parameter(_),
        ] if named == alias => Some((*alias, *column)),
        _ => None,
    }
}

fn arrays(alias: &str, columns: &[(&str, ColumnType)]) -> String {
    let typed = columns.iter().zip(1..).map(|((_, kind), at)| format!("${at}::{}[]", kind.name()));
    let typed: Vec<String> = typed.collect();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    format!("unnest({}) as {alias}({})", typed.join(", "), names.join(", "))
}

#[cfg(test)]
mod tests;
