use super::super::text::{Translated, translate};
use super::*;

fn read(text: &str) -> Result<Translated, String> {
    translate(text, &["group_no"])
}

fn texts(text: &str) -> (String, String) {
    let translated = read(text).expect(text);
    (translated.sqlite, translated.postgres)
}

#[test]
fn a_look_up_is_one_select_or_one_for_each_row() {
    let (sqlite, postgres) = texts(
        "select l.a from {rows r: code text, code_no bigint} cross join ledger l
        where l.code=r.code and l.no = r.code_no and l.group_no = $group_no and l.r = x.r",
    );
    assert_eq!(
        sqlite,
        "select l.a from ledger l where l.code=?1 and l.no = ?2 and l.group_no = ?3 and l.r = x.r"
    );
    assert_eq!(
        postgres,
        "select l.a from unnest($1::text[], $2::bigint[]) as r(code, code_no) cross join \
         ledger l where l.code=r.code and l.no = r.code_no and l.group_no = $3 and l.r = x.r"
    );
}

#[test]
fn a_look_up_of_each_row_is_one_subquery_for_each() {
    let (sqlite, postgres) = texts(
        "select l.a, r.code from {each r: code text} cross join ledger l
        where l.code = r.code and l.group_no = $group_no",
    );
    assert_eq!(sqlite, "select l.a, ?1 from ledger l where l.code = ?1 and l.group_no = ?2");
    assert_eq!(
        postgres,
        "select found.* from unnest($1::text[]) as r(code) cross join lateral (select l.a, r.code \
         from ledger l where l.code = r.code and l.group_no = $2 offset 0) as found"
    );
}

/// A number in an expression does not have its own type on PostgreSQL.
#[test]
fn the_columns_of_a_single_row_have_types_on_postgresql() {
    for (text, of_row) in [
        (
            "select r.no * 64, l.a from {each r: code text, no bigint} cross join ledger l
            where l.code = r.code and l.group_no = $group_no",
            "select $2::bigint * 64, l.a from ledger l where l.code = $1::text and l.group_no = $3",
        ),
        (
            "insert into t (a, group_no) select r.a, g.group_no from {rows r: a boolean}
            cross join group_changes g where g.group_no = $group_no on conflict do nothing",
            "insert into t (a, group_no) values ($1::boolean, $2) on conflict do nothing",
        ),
        (
            "update t set a = r.a from {rows r: id bigint, a bytea}
            where t.group_no = $group_no and t.id = r.id",
            "update t set a = $2::bytea where t.group_no = $3 and t.id = $1::bigint",
        ),
    ] {
        assert_eq!(read(text).expect(text).postgres_of_row, of_row);
    }
}

#[test]
fn an_insert_names_the_values_of_one_row_on_sqlite() {
    let text = "insert into t (a, b) select r.a, $group_no\n from {rows r: a boolean} where true";
    assert_eq!(
        texts(text),
        (
            "insert into t (a, b) values (?1, ?2)".to_owned(),
            "insert into t (a, b) select r.a, $2 from unnest($1::boolean[]) as r(a) where true"
                .to_owned()
        )
    );
    let (sqlite, _) = texts(&format!("{text} on conflict (a) do update set b = excluded.b"));
    assert_eq!(
        sqlite,
        "insert into t (a, b) values (?1, ?2) on conflict (a) do update set b = excluded.b"
    );
}

#[test]
fn an_insert_next_to_a_row_of_its_shard_has_values_on_sqlite() {
    let text = "insert into t (group_no, a) select g.group_no, r.a from {rows r: a text}
        cross join group_changes g where g.group_no = $group_no";
    let (sqlite, postgres) = texts(text);
    assert_eq!(sqlite, "insert into t (group_no, a) values (?2, ?1)");
    assert_eq!(
        postgres,
        "insert into t (group_no, a) select g.group_no, r.a from unnest($1::text[]) as r(a) cross \
         join group_changes g where g.group_no = $2"
    );
    let (sqlite, _) = texts(&format!("{text} on conflict do nothing"));
    assert_eq!(sqlite, "insert into t (group_no, a) values (?2, ?1) on conflict do nothing");
    let other = text.replace("where g.", "where h.");
    assert!(read(&other).expect_err("another alias").starts_with(NO_FORM));
}

#[test]
fn an_update_needs_no_table_of_rows_on_sqlite() {
    let (sqlite, postgres) = texts(
        "update t set a = r.a from {rows r: a text, no bigint}
        where t.no = r.no and t.group_no = $group_no",
    );
    assert_eq!(sqlite, "update t set a = ?1 where t.no = ?2 and t.group_no = ?3");
    assert_eq!(
        postgres,
        "update t set a = r.a from unnest($1::text[], $2::bigint[]) as r(a, no) \
         where t.no = r.no and t.group_no = $3"
    );
}

#[test]
fn a_delete_needs_no_table_of_rows_on_sqlite() {
    let (sqlite, postgres) = texts(
        "delete from t using {rows r: no bigint} where t.no = r.no and t.group_no = $group_no",
    );
    assert_eq!(sqlite, "delete from t where t.no = ?1 and t.group_no = ?2");
    assert_eq!(
        postgres,
        "delete from t using unnest($1::bigint[]) as r(no) where t.no = r.no and t.group_no = $2"
    );
}

#[test]
fn types_are_in_the_order_of_the_columns() {
    let text = "select $group_no from {rows r: a text, b bigint, c boolean} cross join t";
    let types = read(text).expect(text).bulk_types;
    assert_eq!(types, ["text", "bigint", "boolean"]);
}

const NOT_FIRST: &str = "{rows …} is not the first table of its clause";
const NOT_TYPED: &str = " is not a name and one of the types ";
const NO_FORM: &str = "no form of a bulk statement: ";

#[test]
fn anything_unknown_is_refused_with_the_reason() {
    for (text, reason) in [
        ("select a from {row r: a text} cross join t", NOT_ROWS),
        ("select a from {rows: a text} cross join t", NOT_ROWS),
        ("select a from {rows r a text} cross join t", NOT_ROWS),
        ("select a from {rows r: a text", NOT_ROWS),
        ("select a from {rows r:} cross join t", NOT_ROWS),
        ("select a from {rows r: a} cross join t", NOT_TYPED),
        ("select a from {rows r: a text not null} cross join t", NOT_TYPED),
        ("select a from {rows r: a integer} cross join t", NOT_TYPED),
        ("select a from {rows r: a text} cross join {rows s: a text}", "a second {"),
        ("select a from t cross join {rows r: a text} where true", NOT_FIRST),
        ("select (select a from {rows r: a text} cross join t)", "{rows …} is in parentheses"),
        ("select a from {rows r: a text} join t", NO_FORM),
        ("select a from {rows r: a text}", NO_FORM),
        ("select a from {rows r: a text}, t", NO_FORM),
        ("update t set a = r.a from {each r: a text} where t.a = r.a", NO_FORM),
        ("update t set a = r.a from {rows r: a text} join s", NO_FORM),
        ("insert into t (a) select r.a from {rows r: a text} where r.a > ''", NO_FORM),
        ("insert into t (a) select r.a from {rows r: a text} where true limit 1", NO_FORM),
        ("insert into t (a) values (r.a) from {rows r: a text} where true", NO_FORM),
        ("delete from t using {rows r: a text} cross join s where t.a = r.a", NO_FORM),
        ("delete from t from {rows r: a text} where t.a = r.a", NOT_FIRST),
        ("merge into t from {rows r: a text} where t.a = r.a", NO_FORM),
    ] {
        let found = translate(text, &[]).expect_err(text);
        assert!(found.contains(reason), "{text}: {found}");
    }
}
