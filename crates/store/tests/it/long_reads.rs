//! Long reads end at a deadline, and rows of a group are read for its own accounts alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{Claim, GroupId, PresentedToken, Refusal, UnixMs};
use kiosque_store::{
    DashboardQuery, Device, DevicePart, Error, OnlineSince, OpenOptions, Refused, Store,
};
use kiosque_testkit::entries::{account, aisle, device, order, sale, sold};
use kiosque_testkit::{NOW, TestData, TestStore, WAIT_MAX, is_citus, open_options};

fn all(group: Option<&str>) -> DashboardQuery {
    let group = group.map(GroupId::parse);
    DashboardQuery { group, devices: Vec::new(), start: UnixMs(0), end: NOW }
}

fn claim(token: &PresentedToken) -> Claim {
    Claim { token: token.clone(), now: NOW }
}

fn part() -> DevicePart {
    DevicePart { after: String::new(), size: 10, most_bytes: 1_000 }
}

/// Opens a store with a short wait. On a busy machine, opening alone may take longer.
async fn open_patiently(options: &OpenOptions<'_>) -> Store {
    loop {
        match Store::open(options).await {
            Err(Error::Busy(_) | Error::Unreachable(_)) => {}
            opened => return opened.unwrap(),
        }
    }
}

/// A database in which every read of aisles takes a minute.
async fn slow_aisles(wait: Duration) -> (TestStore, Store) {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    fixture.data.execute(
        "alter table aisle_texts rename to stored_texts;
        create view aisle_texts as select t.* from (select pg_sleep(60)) s
            left join stored_texts t on true",
    );
    let options = OpenOptions { wait, ..open_options(&fixture.data) };
    let store = open_patiently(&options).await;
    (fixture, store)
}

/// Waits until a number of statements sleep.
async fn until_sleeping(fixture: &TestStore, wanted: usize) {
    // On a cluster a worker runs the statement, which names the table behind the view.
    let (activity, table) = match is_citus() {
        true => ("citus_stat_activity", "stored_texts"),
        false => ("pg_stat_activity", "aisle_texts"),
    };
    let statements = format!(
        "select query from {activity} where wait_event = 'PgSleep' and query like '%{table}%'"
    );
    let waited = async {
        while fixture.query(&statements).len() != wanted {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(WAIT_MAX, waited).await.expect("as many statements as expected");
}

/// ENV-13: PostgreSQL works no longer for a request than the request waits.
#[tokio::test]
async fn a_long_read_of_a_database_is_cancelled_at_its_deadline() {
    let (fixture, store) = slow_aisles(Duration::from_secs(2)).await;
    let token = fixture.log_in("ops").await.unwrap();
    let ended = store.reports().device_aisles(claim(&token), all(None), part()).await;
    assert!(matches!(ended, Err(Refused::Store(Error::TooMuchWork(_)))), "{ended:?}");
    until_sleeping(&fixture, 0).await;
    store
        .reports()
        .device_profile(claim(&token), all(None), part(), OnlineSince(NOW))
        .await
        .expect("a short read");
}

/// A read of the operator whose statements take too long together requested too much: the database
/// answers, and can be relied on.
#[tokio::test]
async fn statements_that_take_too_long_together_are_too_much_work() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let aisles = Some(vec![aisle("1", "p", 1)]);
    let devices = vec![DeviceEntry { aisles, ..device("d1", "a") }];
    fixture.apply_devices(devices).await;
    let at = NOW.0 - 86_400_000;
    let sale = sale(at, "EUR", &[("q", 1, 1)]);
    fixture.receive_new(vec![sold(order("o", "d1", at), sale)]).await;
    // A row of each takes so long.
    for table in ["sales_by_device", "aisles"] {
        fixture.data.execute(&format!(
            "alter table {table} rename to stored_{table};
            create view {table} as select t.* from (select pg_sleep(1.5)) s
                left join stored_{table} t on true"
        ));
    }
    let options = OpenOptions { wait: Duration::from_secs(2), ..open_options(&fixture.data) };
    let store = open_patiently(&options).await;
    let ended = store.inventory().refill(GroupId::parse("a").ok(), None, 9, NOW).await;
    assert!(matches!(ended, Err(Error::TooMuchWork(_))), "{ended:?}");
    store.inventory().group_ids().await.expect("a short read");
}

/// A caller that hangs up frees its account's share.
#[tokio::test]
async fn a_long_read_of_a_database_is_cancelled_when_its_caller_is_gone() {
    let (fixture, store) = slow_aisles(Duration::from_secs(60)).await;
    let token = fixture.log_in("ops").await.unwrap();
    let reading = {
        let (store, claim) = (store.clone(), claim(&token));
        tokio::spawn(async move { store.reports().device_aisles(claim, all(None), part()).await })
    };
    until_sleeping(&fixture, 1).await;
    reading.abort();
    until_sleeping(&fixture, 0).await;
    store
        .reports()
        .device_profile(claim(&token), all(None), part(), OnlineSince(NOW))
        .await
        .expect("a short read");
}

/// Counts the devices that are read for a request with a filter.
async fn devices_read(
    fixture: &TestStore,
    token: &PresentedToken,
    group: &str,
) -> (usize, Result<(), Refused>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let visit = move |(): &mut (), _: Device<'_>| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let (reports, query) = (fixture.store.reports(), all(Some(group)));
    let done = reports.each_device(claim(token), &query, &part(), visit).await;
    (read.load(Ordering::Relaxed), done)
}

/// SCOPE-3: nothing of a group is read before it is known to be the caller's.
#[tokio::test]
async fn a_group_of_another_account_is_not_read() {
    for data in [TestData::sqlite(), TestData::postgres()] {
        let fixture = TestStore::with_fleet_on(data).await;
        let accounts = vec![account("guest", &["b"])];
        fixture.apply(Fleet { accounts, ..Fleet::default() }).await.unwrap();
        let owner = fixture.log_in("ops").await.unwrap();
        let guest = fixture.log_in("guest").await.unwrap();
        // The number of the group is known by now.
        assert!(matches!(devices_read(&fixture, &owner, "a").await, (2, Ok(()))));
        for group in ["a", "absent", "no\0id"] {
            let (read, refused) = devices_read(&fixture, &guest, group).await;
            assert!(matches!(refused, Err(Refused::Refusal(Refusal::OutOfScope))), "{refused:?}");
            assert_eq!(read, 0, "{group}");
        }
        // A group that was taken from the account is read once more at most, and not returned.
        fixture.tamper(
            "delete from account_groups where group_no =
                (select group_no from groups where group_id = 'a')",
        );
        let owner = fixture.log_in("ops").await.unwrap();
        let refused = devices_read(&fixture, &owner, "a").await;
        assert!(matches!(refused.1, Err(Refused::Refusal(Refusal::OutOfScope))), "{refused:?}");
        let refused = devices_read(&fixture, &owner, "a").await;
        assert!(matches!(refused, (0, Err(Refused::Refusal(Refusal::OutOfScope)))), "{refused:?}");
    }
}
