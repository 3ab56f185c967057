//! The list of imports: each has an id, its origin and its counts.

use kiosque_contract::inventory::{ImportItem, ImportState};
use kiosque_contract::{AuditDetails, ImportedGroup, RejectedOrder};
use kiosque_model::audit::{AuditEvent, CommandRun};
use kiosque_model::{ActedBy, UnixMs};
use kiosque_store::{Act, AuditQuery, ImportRejections, Listed, Listing};
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

fn rejected(import: i64) -> RejectedOrder {
    let (order_id, reason) = (Some(format!("o{import}")), "currency: \"€\" is no code".to_owned());
    RejectedOrder { line: 7, order_id, reason }
}

/// The rejected lines are no part of the list that callers of the operator read.
#[tokio::test]
async fn imports_are_listed_with_their_origin_counts_and_rejected_lines() {
    let fixture = TestStore::with_fleet().await;
    let store = &fixture.store;
    for (at, file) in [(0, "/one"), (1, "/two"), (2, "/three")] {
        let began = NOW.plus_ms(at * 1_000);
        let number = store.intake().begin_import(ActedBy::run(run(file), began)).await.unwrap();
        assert_eq!(number, at + 1);
        // The second one has not ended.
        if at == 1 {
            continue;
        }
        let group = |id: &str, accepted| ImportedGroup {
            group_id: id.to_owned(),
            accepted,
            ..ImportedGroup::default()
        };
        let details = AuditDetails {
            accepted: Some(3),
            updated: Some(0),
            unchanged: Some(4),
            rejected: Some(5),
            groups: vec![group("a", 2), group("b", 1)],
            ..AuditDetails::default()
        };
        let act = Act::new(AuditEvent::OrdersImported, details);
        let by = CommandRun { import: Some(number), ..run(file) };
        let ended = ActedBy::run(by, began.plus_ms(500));
        store.intake().end_import(number, (act, vec![rejected(number)]), ended).await.unwrap();
    }
    let Listed { entries, next } =
        store.intake().imports(Listing { after: None, limit: 2 }, NOW).await.unwrap();
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
    let rejections = store.intake().rejected_by_imports(3).await.unwrap();
    let of = |import| ImportRejections {
        import,
        at: NOW.plus_ms((import - 1) * 1_000 + 500),
        lines: vec![rejected(import)],
    };
    assert_eq!(rejections, [of(3), of(1)]);
    assert_eq!(store.intake().rejected_by_imports(2).await.unwrap(), [of(3)]);
    assert_eq!((second.import_id.as_str(), second.ended_timestamp), ("2", None));
    assert_eq!((second.details.file.as_deref(), second.details.accepted), (Some("/two"), None));
    let Listed { entries, next } =
        store.intake().imports(Listing { after: next, limit: 2 }, NOW).await.unwrap();
    assert_eq!((entries.len(), entries[0].import_id.as_str(), next), (1, "1", None));
    // The trail contains the import.
    let trail = store.trail().entries(AuditQuery::latest(1)).await.unwrap().entries;
    assert_eq!(trail[0].details.clone().unwrap().import_id.as_deref(), Some("3"));
}

/// An import that has not shown for a minute that it runs was interrupted. Its end is recorded
/// once, at the time when it last ran; one that shows that it runs continues.
#[tokio::test]
async fn an_import_whose_process_was_lost_is_interrupted() {
    let fixture = TestStore::with_fleet().await;
    let store = &fixture.store;
    for file in ["/lost", "/slow"] {
        store.intake().begin_import(ActedBy::run(run(file), NOW)).await.unwrap();
    }
    let states = async |now: UnixMs| {
        let all = Listing { after: None, limit: 9 };
        let listed = store.intake().imports(all, now).await.unwrap().entries;
        let state = |one: ImportItem| (one.state, one.ended_timestamp, one.details.reason);
        listed.into_iter().map(state).collect::<Vec<_>>()
    };
    let running = (ImportState::Running, None, None);
    let [minute, later] = [NOW.plus_ms(60_000), NOW.plus_ms(60_001)];
    store.intake().show_import_active(2, NOW.plus_ms(10_000), 7).await.unwrap();
    assert_eq!(states(minute).await, [running.clone(), running.clone()]);
    assert_eq!(states(later).await, [running.clone(), (ImportState::Interrupted, None, None)]);
    assert_eq!(store.intake().end_lost_imports(ActedBy::server(minute)).await.unwrap(), 0);
    assert_eq!(store.intake().end_lost_imports(ActedBy::server(later)).await.unwrap(), 1);
    assert_eq!(store.intake().end_lost_imports(ActedBy::server(later)).await.unwrap(), 0);
    let lost = (ImportState::Interrupted, Some(NOW.0), Some("processLost".to_owned()));
    assert_eq!(states(NOW).await, [running, lost]);
    let trail = store.trail().entries(AuditQuery::latest(1)).await.unwrap().entries;
    let details = trail[0].details.clone().unwrap();
    assert_eq!(trail[0].event, AuditEvent::ImportInterrupted.name());
    assert_eq!(details.import_id.as_deref(), Some("1"));
    assert_eq!(details.reason.as_deref(), Some("processLost"));
    // Its file stays known. An import that was only suspended ends as usual.
    let listed = store.intake().imports(Listing { after: Some(2), limit: 1 }, later).await.unwrap();
    assert_eq!(listed.entries[0].details.file.as_deref(), Some("/lost"));
    let details = AuditDetails { rates: Some(3), ..AuditDetails::default() };
    let act = Act::new(AuditEvent::RatesImported, details);
    store
        .intake()
        .end_import(1, (act, Vec::new()), ActedBy::run(run("/lost"), later))
        .await
        .unwrap();
    assert_eq!(states(later).await[1], (ImportState::Complete, Some(later.0), None));
}
