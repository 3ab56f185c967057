//! The list of imports: each has an id, its origin and its counts.

use kiosque_model::ActedBy;
use kiosque_model::audit::{Act, CommandRun, ImportedGroup};
use kiosque_store::{AuditQuery, Listed, Listing};
use kiosque_testkit::{NOW, TestStore};

fn run(file: &str) -> CommandRun {
    CommandRun {
        user: Some("ada".to_owned()),
        uid: Some(1_000),
        command: "import orders".to_owned(),
        file: Some(file.to_owned()),
        ..CommandRun::default()
    }
}

#[tokio::test]
async fn imports_are_listed_with_their_origin_and_counts() {
    let fixture = TestStore::with_fleet().await;
    let store = &fixture.store;
    for (at, file) in [(0, "/one"), (1, "/two"), (2, "/three")] {
        let began = NOW.plus_ms(at * 1_000);
        let number = store.begin_import(ActedBy::run(run(file), began)).await.unwrap();
        assert_eq!(number, at + 1);
        // The second one is interrupted.
        if at == 1 {
            continue;
        }
        let group = |id: &str, accepted| ImportedGroup {
            group_id: id.to_owned(),
            accepted,
            ..ImportedGroup::default()
        };
        let groups = vec![group("a", 2), group("b", 1)];
        let act =
            Act::OrdersImported { accepted: 3, updated: 0, unchanged: 4, rejected: 5, groups };
        let by = CommandRun { import: Some(number), ..run(file) };
        store.end_import(number, act, ActedBy::run(by, began.plus_ms(500))).await.unwrap();
    }
    let Listed { entries, next } =
        store.list_imports(Listing { after: None, limit: 2 }).await.unwrap();
    assert_eq!(next, Some(2));
    let [third, second] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((third.import_id.as_str(), third.started_timestamp), ("3", NOW.0 + 2_000));
    assert_eq!(third.ended_timestamp, Some(NOW.0 + 2_500));
    let details = &third.details;
    assert_eq!((details.user.as_deref(), details.uid), (Some("ada"), Some(1_000)));
    assert_eq!(details.file.as_deref(), Some("/three"));
    assert_eq!(
        (details.accepted, details.unchanged, details.rejected),
        (Some(3), Some(4), Some(5))
    );
    assert_eq!((details.groups[1].group_id.as_str(), details.groups[1].accepted), ("b", 1));
    assert_eq!((second.import_id.as_str(), second.ended_timestamp), ("2", None));
    assert_eq!((second.details.file.as_deref(), second.details.accepted), (Some("/two"), None));
    let Listed { entries, next } =
        store.list_imports(Listing { after: next, limit: 2 }).await.unwrap();
    assert_eq!((entries.len(), entries[0].import_id.as_str(), next), (1, "1", None));
    // The trail names the import.
    let trail = store.audit(AuditQuery::latest(1)).await.unwrap().entries;
    assert_eq!(trail[0].details.clone().unwrap().import_id.as_deref(), Some("3"));
}
