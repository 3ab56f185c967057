use std::panic::catch_unwind;

use kiosque_testdb::Schema;

#[test]
fn two_schemas_see_nothing_of_each_other() {
    let (one, other) = (Schema::new(), Schema::new());
    assert_ne!(one.url(), other.url());
    for schema in [&one, &other] {
        assert_eq!(
            schema.sql("select count(*) from pg_tables where schemaname = current_schema"),
            "0"
        );
        schema.sql("create table device (code text)");
    }
    one.sql("insert into device values ('HBR-001'), ('HBR-002')");
    assert_eq!(one.sql("select code from device order by code"), "HBR-001\nHBR-002");
    assert_eq!(other.sql("select code from device"), "");
}

#[test]
fn a_failed_statement_returns_its_error() {
    let schema = Schema::new();
    let said = catch_unwind(|| schema.sql("select code from vehicle")).unwrap_err();
    let said = said.downcast_ref::<String>().unwrap();
    assert!(said.contains("relation \"vehicle\" does not exist"), "{said}");
    assert!(said.ends_with("in: select code from vehicle"), "{said}");
}

#[test]
fn each_schema_has_an_address_of_its_own() {
    let mut urls: Vec<String> = (0..100).map(|_| Schema::new().url().to_owned()).collect();
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), 100);
}
