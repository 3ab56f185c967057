//! The form of a bulk statement, read from the clauses around its rows.

use super::{ColumnType, Kind, Token};

pub(super) const NOT_ROWS: &str = "{ begins no {rows NAME: COLUMN TYPE, …}";

/// The form of a bulk statement.
#[derive(Clone, Copy)]
pub(super) enum Form<'a> {
    Select(LookUp),
    Insert(Insert<'a>),
    /// An update or a delete.
    Change,
}

/// How PostgreSQL runs a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookUp {
    /// As a join, in the order that its planner chooses: `{rows …}`.
    Joined,
    /// Row by row: `{each …}`.
    RowByRow,
}

/// The parts of a bulk insert.
#[derive(Clone, Copy)]
pub(super) struct Insert<'a> {
    /// The index of its `select`.
    pub(super) select: usize,
    /// The number of tokens between the rows and `on conflict`.
    pub(super) tail: usize,
    /// The alias and the column of the row whose shard is used.
    pub(super) same_shard: Option<(&'a str, &'a str)>,
}
/// How the rows are looked up, their alias, and their columns.
pub(super) type Declaration<'a> = (LookUp, &'a str, Vec<(&'a str, ColumnType)>);

/// Reads `rows NAME: COLUMN TYPE, …` or `each NAME: COLUMN TYPE, …`.
pub(super) fn declaration<'a>(inner: &[Token<'a>]) -> Result<Declaration<'a>, String> {
    let [rows, name, colon, columns @ ..] = inner else { return Err(NOT_ROWS.to_owned()) };
    let Kind::Word(alias) = name.kind else { return Err(NOT_ROWS.to_owned()) };
    let look_up = match rows.kind {
        Kind::Word("rows") => LookUp::Joined,
        Kind::Word("each") => LookUp::RowByRow,
        _ => return Err(NOT_ROWS.to_owned()),
    };
    if !colon.is_symbol(':') {
        return Err(NOT_ROWS.to_owned());
    }
    let mut read: Vec<(&str, ColumnType)> = Vec::new();
    for column in columns.split(|token| token.is_symbol(',')) {
        let [Token { kind: Kind::Word(name), .. }, Token { kind: Kind::Word(kind), .. }] = column
        else {
            return Err("{rows …} has a column that is not NAME TYPE".to_owned());
        };
        let known = kind.parse().map_err(|_| {
            format!("{kind} is not a type; expected text, bytea, bigint or boolean")
        })?;
        if read.iter().any(|(other, _)| other == name) {
            return Err(format!("{{rows …}} has the column {name} twice"));
        }
        read.push((name, known));
    }
    Ok((look_up, alias, read))
}

/// Finds the form of a statement by the clauses around its `{rows …}`.
pub(super) fn form<'a>(
    before: &[Token<'a>],
    after: &[Token<'a>],
    look_up: LookUp,
) -> Result<Form<'a>, String> {
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
    let statement = before.first().map(|token| token.kind);
    if look_up == LookUp::RowByRow && statement != Some(Kind::Word("select")) {
        return Err("{each …} is for a select alone".to_owned());
    }
    match statement {
        Some(Kind::Word("select")) if next(&["cross", "join"]) => Ok(Form::Select(look_up)),
        Some(Kind::Word("update" | "delete")) if next(&["where"]) => Ok(Form::Change),
        Some(Kind::Word(name @ ("select" | "update" | "delete"))) => {
            let expected = if name == "select" { "cross join" } else { "where" };
            Err(format!("expected `{expected}` after the rows of a bulk {name}"))
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
pub(super) const INSERT_END: &str = "a bulk insert ends with `where true` or with a row of \
                                     the same shard, or goes on with `on conflict`";

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
