//! Clocks of nodes are compared with the database's: a node whose clock is off answers for no
//! session.

use std::time::Duration;

use kiosque_model::UnixMs;
use kiosque_store::{Error, OpenOptions, Refused, SessionLease, Store};
use kiosque_testkit::{NOW, TestData, TestStore, open_options};

/// Returns the time of the database's clock.
fn right_time(fixture: &TestStore) -> i64 {
    let sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms";
    fixture.query(sql)[0].parse().unwrap()
}

#[tokio::test]
async fn a_node_whose_clock_is_off_answers_for_no_session_until_it_is_right() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let session = fixture.log_in("ops").await.unwrap();
    let long = Duration::from_secs(300);
    let lease = SessionLease { length: long, clock_skew: Duration::from_secs(60) };
    let store = Store::open(&OpenOptions { lease, ..open_options(&fixture.data) }).await.unwrap();
    for off_ms in [-600_000, 600_000] {
        let held = store.check_clock(UnixMs(right_time(&fixture) + off_ms)).unwrap();
        assert!(held.is_off && (held.ahead_ms - off_ms).abs() < 60_000, "{held:?}");
        let refused = store.session(fixture.claim(&session)).await;
        let Err(Refused::Store(Error::Unreachable(why))) = refused else { panic!("{refused:?}") };
        assert!(why.contains("clock is") && why.contains("off the database's"), "{why}");
        let held = store.check_clock(UnixMs(right_time(&fixture))).unwrap();
        assert!(!held.is_off, "{held:?}");
        store.session(fixture.claim(&session)).await.unwrap();
    }
    // A file has no clock to compare with.
    assert_eq!(TestStore::on(TestData::sqlite()).await.store.check_clock(NOW), None);
}
