//! "Node clocks checked against the database's": a node whose clock is off answers for no session.

use std::time::Duration;

use kiosque_model::UnixMs;
use kiosque_store::{Error, Opening, Refused, SessionLease, Store};

use crate::desk::{Desk, Ground, NOW, opening};

/// What the database's clock says.
fn right_time(desk: &Desk) -> i64 {
    let sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms";
    desk.ask(sql)[0].parse().unwrap()
}

#[tokio::test]
async fn a_node_whose_clock_is_off_answers_for_no_session_until_it_is_right() {
    let desk = Desk::furnished_on(Ground::postgres()).await;
    let session = desk.log_in("ops").await.unwrap();
    let long = Duration::from_secs(30);
    let lease = SessionLease { length: long, clock_skew: Duration::from_secs(5) };
    let store = Store::open(&Opening { lease, ..opening(&desk.ground) }).await.unwrap();
    for off_ms in [-60_000, 60_000] {
        let held = store.hold_clock(UnixMs(right_time(&desk) + off_ms)).unwrap();
        assert!(held.is_off && (held.ahead_ms - off_ms).abs() < 5_000, "{held:?}");
        let refused = store.session(&session, NOW).await;
        let Err(Refused::Store(Error::Unreachable(why))) = refused else { panic!("{refused:?}") };
        assert!(why.contains("clock is") && why.contains("off the database's"), "{why}");
        let held = store.hold_clock(UnixMs(right_time(&desk))).unwrap();
        assert!(!held.is_off, "{held:?}");
        store.session(&session, NOW).await.unwrap();
    }
    // A file has no clock to be held against.
    assert_eq!(Desk::on(Ground::folder()).await.store.hold_clock(NOW), None);
}
