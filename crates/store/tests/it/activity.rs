//! DEV-7: the last activity of devices, visible to the next request on the same node, and written
//! to the ledger now and then.

use std::time::Duration;

use kiosque_contract::DeviceRecord;
use kiosque_model::{PageRequest, UnixMs};
use kiosque_store::{
    DeviceQuery, Error, Heartbeat, OnlineSince, OpenOptions, RefusedHeartbeat, Store,
};
use kiosque_testkit::entries::{self, device, first_devices, moved, order};
use kiosque_testkit::{TestData, TestStore, open_options};

const ONLINE_SINCE: OnlineSince = OnlineSince(UnixMs(500_000));

fn beat(code: &str, at: i64) -> Heartbeat {
    entries::beat(code, UnixMs(at))
}

async fn record(fixture: &TestStore, beats: &[Heartbeat]) {
    assert_eq!(fixture.store.intake().record_heartbeats(beats.to_vec()).await.unwrap(), []);
}

/// The total, and each device of a page with its last activity: `d1@5`, `d2@-`.
async fn page(
    fixture: &TestStore,
    group: &str,
    is_online: Option<i64>,
    page: PageRequest,
) -> (i64, String) {
    let session = fixture.log_in("ops").await.unwrap();
    let session = fixture.switch(session, group).await;
    let ask = DeviceQuery { is_online, page, ..first_devices(1) };
    let claim = fixture.claim(&session);
    let (total, records) =
        fixture.store.reports().device_page(claim, ONLINE_SINCE, ask).await.unwrap();
    let seen = records.iter().map(|json| {
        let device: DeviceRecord<'_> = serde_json::from_slice(json).unwrap();
        let last = device.last_active_timestamp.map_or("-".to_owned(), |last| last.to_string());
        format!("{}@{last}", device.device_code)
    });
    (total, seen.collect::<Vec<_>>().join(" "))
}

async fn devices(fixture: &TestStore, group: &str) -> String {
    page(fixture, group, None, PageRequest::new(1, 100).unwrap()).await.1
}

fn rows(fixture: &TestStore) -> Vec<String> {
    let sql = "select device_code, last_active_ms from ledger
        where last_active_ms is not null order by group_no, device_code";
    fixture.query(sql)
}

/// A heartbeat shows at once, in pages and in the `isOnline` filter and its total, and no row is
/// touched until it is written.
#[tokio::test]
async fn a_heartbeat_is_seen_by_the_next_read() {
    let fixture = TestStore::with_fleet().await;
    assert_eq!(devices(&fixture, "a").await, "d1@- d2@-");
    record(&fixture, &[beat("d2", 600_000), beat("e1", 700_000)]).await;
    let small = |current| PageRequest::new(current, 1).unwrap();
    assert_eq!(devices(&fixture, "a").await, "d1@- d2@600000");
    assert_eq!(devices(&fixture, "b").await, "e1@700000");
    assert_eq!(page(&fixture, "a", Some(1), small(1)).await, (1, "d2@600000".to_owned()));
    assert_eq!(page(&fixture, "a", Some(1), small(2)).await, (1, String::new()));
    assert_eq!(page(&fixture, "a", Some(0), small(1)).await, (1, "d1@-".to_owned()));
    assert_eq!(rows(&fixture), [""; 0]);
    record(&fixture, &[beat("d1", 499_999)]).await;
    assert_eq!(page(&fixture, "a", Some(0), small(1)).await, (1, "d1@499999".to_owned()));
    record(&fixture, &[beat("d1", 500_000)]).await;
    assert_eq!(page(&fixture, "a", Some(0), small(1)).await, (0, String::new()));
    assert_eq!(page(&fixture, "a", Some(1), small(2)).await, (2, "d2@600000".to_owned()));
}

/// Written once, in a few transactions, and visible to every process that opens the data later.
#[tokio::test]
async fn a_heartbeat_is_written_once() {
    let fixture = TestStore::with_fleet().await;
    let codes: Vec<String> = (0..1_201).map(|number| format!("k{number:04}")).collect();
    let entries = codes.iter().map(|code| device(code, "a")).collect();
    fixture.apply_devices(entries).await;
    let beats: Vec<_> = codes.iter().zip(1..).map(|(code, at)| beat(code, at)).collect();
    record(&fixture, &beats).await;
    assert_eq!(fixture.store.intake().unwritten_activity(), 1_201);
    assert_eq!(fixture.store.intake().write_activity().await.unwrap(), 1_201);
    let want: Vec<String> =
        codes.iter().zip(1..).map(|(code, at)| format!("{code}|{at}")).collect();
    assert_eq!(rows(&fixture), want);
    // The same heartbeats again change nothing.
    record(&fixture, &beats).await;
    assert_eq!(fixture.store.intake().unwritten_activity(), 0);
    assert_eq!(fixture.store.intake().write_activity().await.unwrap(), 0);
    let seen = devices(&fixture.again().await, "a").await;
    assert!(seen.starts_with("d1@- d2@- k0000@1 k0001@2 "), "{seen}");
}

/// Activity only moves forwards, whether a heartbeat or a write is late. An order is activity at
/// the start of its trade.
#[tokio::test]
async fn activity_only_moves_forwards() {
    let fixture = TestStore::with_fleet().await;
    record(&fixture, &[beat("d1", 300), beat("d1", 200), beat("d2", 400)]).await;
    assert_eq!(devices(&fixture, "a").await, "d1@300 d2@400");
    fixture.receive_new(vec![order("o", "d1", 350), order("p", "d2", 350)]).await;
    assert_eq!(devices(&fixture, "a").await, "d1@350 d2@400");
    assert_eq!(rows(&fixture), ["d1|350", "d2|350"]);
    fixture.store.intake().write_activity().await.unwrap();
    assert_eq!(rows(&fixture), ["d1|350", "d2|400"]);
    record(&fixture, &[beat("d2", 399)]).await;
    fixture.store.intake().write_activity().await.unwrap();
    assert_eq!(rows(&fixture), ["d1|350", "d2|400"]);
    assert_eq!(devices(&fixture, "a").await, "d1@350 d2@400");
}

/// DEV-7: activity by a clock that was ahead counts, written or not, as of the moment at which the
/// clock was set back, and later activity counts again.
#[tokio::test]
async fn activity_is_not_later_than_a_clock_that_was_set_back() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let observe = async |ms| {
        let validity = Duration::from_secs(7_200);
        fixture.store.sessions().observe_time(UnixMs(ms), validity).await.unwrap();
    };
    observe(900_000).await;
    record(&fixture, &[beat("d1", 900_000), beat("d2", 800_000)]).await;
    fixture.store.intake().write_activity().await.unwrap();
    record(&fixture, &[beat("e1", 900_000)]).await;
    observe(850_000).await;
    assert_eq!(rows(&fixture), ["d1|850000", "d2|800000"]);
    assert_eq!(devices(&fixture, "a").await, "d1@850000 d2@800000");
    assert_eq!(devices(&fixture, "b").await, "e1@850000");
    record(&fixture, &[beat("d1", 850_001)]).await;
    fixture.store.intake().write_activity().await.unwrap();
    assert_eq!(rows(&fixture), ["d1|850001", "d2|800000", "e1|850000"]);
}

/// A heartbeat belongs to the group that owned the device at its timestamp; a change of the fleet
/// counts from the next batch.
#[tokio::test]
async fn a_heartbeat_belongs_to_the_owner_at_its_time() {
    let fixture = TestStore::with_fleet().await;
    record(&fixture, &[beat("d1", 900)]).await;
    fixture.apply_devices(vec![moved("d1", "b", Some(1_000))]).await;
    // Not even the time of the earlier owner shows to the next one.
    assert_eq!(devices(&fixture, "b").await, "d1@- e1@-");
    record(&fixture, &[beat("d1", 1_000), beat("d1", 999)]).await;
    assert_eq!(devices(&fixture, "b").await, "d1@1000 e1@-");
    fixture.store.intake().write_activity().await.unwrap();
    assert_eq!(rows(&fixture), ["d1|999", "d1|1000"]);
}

/// Unknown devices are rejected by name; the rest of the batch is stored, and a device that is
/// applied afterwards is known.
#[tokio::test]
async fn unknown_devices_are_reported() {
    let fixture = TestStore::with_fleet().await;
    let beats = [beat("d1", 1), beat("x9", 2), beat("x9", 3), beat("d2", 4)];
    let refused = fixture.store.intake().record_heartbeats(beats.to_vec()).await.unwrap();
    let reason = || "deviceCode: no device x9 is known".to_owned();
    let want = [1, 2].map(|index| RefusedHeartbeat { index, reason: reason() });
    assert_eq!(refused, want);
    assert_eq!(devices(&fixture, "a").await, "d1@1 d2@4");
    fixture.apply_devices(vec![device("x9", "a")]).await;
    record(&fixture, &beats).await;
    assert_eq!(devices(&fixture, "a").await, "d1@1 d2@4 x9@3");
}

/// Heartbeats that could not be written are still visible, and written by the next attempt.
#[tokio::test]
async fn a_busy_store_loses_no_heartbeat() {
    let fixture = TestStore::with_fleet().await;
    let wait = Duration::from_secs(3);
    let store = Store::open(&OpenOptions { wait, ..open_options(&fixture.data) }).await.unwrap();
    let fixture = TestStore { store, ..fixture };
    record(&fixture, &[beat("d1", 5)]).await;
    let holder = fixture.data.block_writes().await;
    let begun = std::time::Instant::now();
    let failed = fixture.store.intake().write_activity().await;
    // PostgreSQL does not distinguish a lock that others hold from a server that does not answer.
    assert!(matches!(failed, Err(Error::Busy(_) | Error::Unreachable(_))), "{failed:?}");
    assert!(begun.elapsed() >= Duration::from_millis(2_900), "it waits for its turn");
    holder.release().await;
    assert_eq!(devices(&fixture, "a").await, "d1@5 d2@-");
    assert_eq!(fixture.store.intake().write_activity().await.unwrap(), 1);
    assert_eq!(rows(&fixture), ["d1|5"]);
}

/// A heartbeat that the database rejects delays only itself, and stays visible until it is written.
#[tokio::test]
async fn a_heartbeat_that_cannot_be_written_does_not_delay_others() {
    let fixture = TestStore::with_fleet().await;
    let codes: Vec<String> = (0..600).map(|number| format!("k{number:04}")).collect();
    fixture.apply_devices(codes.iter().map(|code| device(code, "a")).collect()).await;
    record(&fixture, &[beat("k0007", 7)]).await;
    fixture.store.intake().write_activity().await.unwrap();
    // Another device of the group cannot have the same time.
    let sql = "create unique index no_equal_times on ledger (group_no, last_active_ms)";
    fixture.data.execute(sql);
    let beats: Vec<_> = codes.iter().zip(1_000..).map(|(code, at)| beat(code, at)).collect();
    record(&fixture, &beats[8..]).await;
    record(&fixture, &[beat("d1", 7), beat("e1", 7)]).await;
    for _ in 0..2 {
        let failed = fixture.store.intake().write_activity().await.unwrap_err().to_string();
        assert!(failed.to_lowercase().contains("unique constraint"), "{failed}");
        assert_eq!(fixture.store.intake().unwritten_activity(), 1);
    }
    assert_eq!(rows(&fixture).len(), 2 + beats[8..].len());
    assert!(devices(&fixture, "a").await.starts_with("d1@7 d2@- k0000@- "));
    record(&fixture, &[beat("d1", 8)]).await;
    assert_eq!(fixture.store.intake().write_activity().await.unwrap(), 1);
    assert_eq!(rows(&fixture)[0], "d1|8");
}
