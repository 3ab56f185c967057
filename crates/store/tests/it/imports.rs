//! The list of imports: each has an id, its origin and its counts.

use kiosque_contract::AuditDetails;
use kiosque_contract::inventory::{ImportItem, ImportState};
use kiosque_model::audit::{AuditEvent, CommandRun};
use kiosque_model::{ActedBy, UnixMs};
use kiosque_store::{Act, AuditQuery, Listing};
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
    store.intake().end_import(1, act, Vec::new(), ActedBy::run(run("/lost"), later)).await.unwrap();
    assert_eq!(states(later).await[1], (ImportState::Complete, Some(later.0), None));
}
