//! Refused requests: found by id on every node for a day, within the fair share of their account.

use std::time::Duration;

use kiosque_model::{AccountNo, LoginName, UnixMs};
use kiosque_store::{Error, Exchange, FoundRequest, OpenOptions, REFUSED_AGE_MS, Sender, Store};
use kiosque_testkit::{NOW, TestStore, eventually, open, open_options};

const DAY_MS: i64 = REFUSED_AGE_MS;
/// The most requests that are stored, and those that are left when some are deleted.
const REQUESTS_MAX: i64 = 100_000;
const REQUESTS_KEPT: i64 = 93_000;
/// The most of them that are stored without a proven account.
const UNPROVEN_MAX: i64 = 3_500;
/// The most bytes of the details of such a request.
const DETAILS_MAX: usize = 1_500;

fn exchange(path: &str) -> Exchange {
    Exchange { method: "POST".to_owned(), path: path.to_owned(), ..Exchange::default() }
}

fn add(store: &Store, id: &str, at: UnixMs, sender: Sender, source: &str) {
    let source = source.parse().unwrap();
    store.trail().refused().add(id, at, sender, source, || exchange(&format!("/{id}")));
}

fn login(name: &str) -> Sender {
    Sender::Login(LoginName::parse(name).unwrap())
}

async fn find(store: &Store, id: &str, now: UnixMs) -> Option<FoundRequest> {
    store.trail().refused_request(id.to_owned(), now).await.unwrap()
}

async fn ids_of(store: &Store, account: &str, count: usize) -> Vec<String> {
    let name = LoginName::parse(account).unwrap();
    let found = store.trail().refused_of(&name, count, NOW).await.unwrap();
    found.into_iter().map(|request| request.request_id).collect()
}

/// Returns the number of rows of each share.
fn shares(fixture: &TestStore) -> Vec<String> {
    fixture.query("select share, count(*) from refused_requests group by share order by share")
}

async fn account(fixture: &TestStore) -> AccountNo {
    let name = LoginName::parse("ops").unwrap();
    fixture.store.sessions().credentials(&name).await.unwrap().unwrap().account
}

#[tokio::test]
async fn a_request_is_found_by_its_id_on_other_nodes_for_a_day() {
    let fixture = TestStore::with_fleet().await;
    let ops = account(&fixture).await;
    add(&fixture.store, "r-1", NOW, Sender::Account(ops), "192.0.2.1");
    assert_eq!(find(&fixture.store, "r-1", NOW).await, None, "it waits");
    fixture.store.trail().write_refused().await.unwrap();
    let found = FoundRequest {
        number: 1,
        request_id: "r-1".to_owned(),
        at: NOW,
        account: Some("ops".to_owned()),
        is_proven: true,
        source: "192.0.2.1".to_owned(),
        exchange: exchange("/r-1"),
    };
    let other = open(&fixture.data, None).await.unwrap();
    let last = NOW.plus_ms(DAY_MS - 1);
    for store in [&fixture.store, &other] {
        assert_eq!(find(store, "r-1", last).await, Some(found.clone()));
        assert_eq!(find(store, "r-1", last.plus_ms(1)).await, None);
        assert_eq!(find(store, "r-2", NOW).await, None);
        assert_eq!(find(store, "r\0", NOW).await, None);
    }
    // After a day the row is deleted, even if no request is refused.
    other.trail().purge_refused(last).await.unwrap();
    assert_eq!(shares(&fixture).len(), 1);
    other.trail().purge_refused(last.plus_ms(1)).await.unwrap();
    assert_eq!(shares(&fixture), [""; 0]);
}

/// The rows are deleted in the order in which they were stored.
#[tokio::test]
async fn a_request_of_a_clock_that_was_ahead_keeps_no_later_ones() {
    let fixture = TestStore::with_fleet().await;
    let store = &fixture.store;
    for (id, at) in [("ahead", 400 * DAY_MS), ("old", 0), ("new", 1)] {
        add(store, id, NOW.plus_ms(at), Sender::Unknown, "192.0.2.1");
        store.trail().write_refused().await.unwrap();
    }
    store.trail().purge_refused(NOW.plus_ms(DAY_MS)).await.unwrap();
    assert_eq!(fixture.query("select request_id from refused_requests"), ["new"]);
    store.trail().purge_refused(NOW.plus_ms(DAY_MS + 1)).await.unwrap();
    assert_eq!(shares(&fixture), [""; 0]);
}

/// A login counts for its account, apart from its other requests, and no name that does not exist
/// is stored. Every other request counts for its source.
#[tokio::test]
async fn requests_count_for_the_account_that_is_proven_or_for_their_source() {
    let fixture = TestStore::with_fleet().await;
    let (store, ops) = (&fixture.store, account(&fixture).await);
    add(store, "proven", NOW, Sender::Account(ops), "192.0.2.1");
    add(store, "login", NOW, login("ops"), "192.0.2.2");
    add(store, "secret", NOW, login("hunter2"), "192.0.2.3");
    add(store, "claimed", NOW, Sender::Claimed(ops), "192.0.2.3");
    add(store, "unknown", NOW, Sender::Unknown, "192.0.2.3");
    store.trail().write_refused().await.unwrap();
    let shares = shares(&fixture);
    assert_eq!(shares.len(), 3, "{shares:?}");
    assert_eq!(shares[0], format!("account {}|1", ops.0));
    assert_eq!(shares[1], format!("logins {}|1", ops.0));
    assert!(shares[2].starts_with("source ") && shares[2].ends_with("|3"), "{shares:?}");
    let mut named = Vec::new();
    for id in ["proven", "login", "secret", "claimed", "unknown"] {
        let found = find(store, id, NOW).await.unwrap();
        named.push((found.account, found.is_proven));
    }
    let ops = || Some("ops".to_owned());
    let expected = [(ops(), true), (ops(), false), (None, false), (ops(), false), (None, false)];
    assert_eq!(named, expected);
    assert!(!fixture.rows().join("\n").contains("hunter2"));
    // The list of an account has those that are certainly about it, the last one first.
    assert_eq!(ids_of(store, "ops", 3).await, ["login", "proven"]);
    assert_eq!(ids_of(store, "ops", 1).await, ["login"]);
    assert_eq!(ids_of(store, "absent", 1).await, [""; 0]);
}

/// Clients without an account can send as much as they like: their requests are not stored at full
/// length. Requests of accounts are.
#[tokio::test]
async fn long_requests_without_an_account_lose_their_body_and_answer() {
    let fixture = TestStore::with_fleet().await;
    let (store, ops) = (&fixture.store, account(&fixture).await);
    let send = |id: &str, sender, body: &str| {
        let exchange = || Exchange {
            body: Some(body.to_owned()),
            answer: "refused".to_owned(),
            status: 200,
            refusal: Some("tokenInvalid".to_owned()),
            ..exchange(&"/\"".repeat(100))
        };
        store.trail().refused().add(id, NOW, sender, "192.0.2.7".parse().unwrap(), exchange);
    };
    // Each of these characters is six in JSON.
    let long = "\u{1}".repeat(700);
    send("of-account", Sender::Account(ops), &long);
    for (id, sender) in [("unknown", Sender::Unknown), ("claimed", Sender::Claimed(ops))] {
        send(id, sender, &long);
    }
    send("short", Sender::Unknown, "{}");
    store.trail().write_refused().await.unwrap();
    let mut sizes = fixture.query("select length(details) from refused_requests order by number");
    let of_account: usize = sizes.remove(0).parse().unwrap();
    assert!(of_account > 4_200, "{of_account}");
    assert!(sizes.iter().all(|size| size.parse::<usize>().unwrap() <= DETAILS_MAX), "{sizes:?}");
    for id in ["unknown", "claimed"] {
        let found = find(store, id, NOW).await.unwrap().exchange;
        let expected = Exchange {
            status: 200,
            refusal: Some("tokenInvalid".to_owned()),
            ..exchange(&"/\"".repeat(100))
        };
        assert_eq!(found, expected);
    }
    assert_eq!(find(store, "short", NOW).await.unwrap().exchange.body.as_deref(), Some("{}"));
    assert_eq!(find(store, "of-account", NOW).await.unwrap().exchange.body, Some(long));
}

/// The oldest ones beyond a number are deleted, which costs no account any of its own.
#[tokio::test]
async fn requests_without_an_account_have_a_limit_of_their_own() {
    let fixture = TestStore::with_fleet().await;
    let (store, ops) = (&fixture.store, account(&fixture).await);
    fixture.data.execute(&format!(
        "insert into refused_requests (number, share, request_id, at_ms, source, details)
            with recursive n(i) as (select 1 union all select i + 1 from n
                where i < {UNPROVEN_MAX})
            select i, case when i % 2 = 0 then 'source flood' else 'logins 77' end, 'flood-' || i,
                {}, '', '{{}}' from n;
        update counters set last = {UNPROVEN_MAX} where name = 'refused_requests'",
        NOW.0
    ));
    add(store, "of-account", NOW, Sender::Account(ops), "192.0.2.7");
    add(store, "last", NOW, Sender::Unknown, "192.0.2.7");
    store.trail().write_refused().await.unwrap();
    let count = "select count(*) from refused_requests where share";
    let unproven = fixture.query(&format!("{count} not like 'account %'"));
    assert_eq!(unproven, [UNPROVEN_MAX.to_string()]);
    assert_eq!(fixture.query(&format!("{count} like 'account %'")), ["1"]);
    assert!(find(store, "last", NOW).await.is_some());
    // Old ones are deleted together, however many there are.
    store.trail().purge_refused(NOW.plus_ms(DAY_MS)).await.unwrap();
    assert_eq!(shares(&fixture), [""; 0]);
}

/// Neither an account nor a network of sources evicts the requests of others.
#[tokio::test]
async fn the_largest_share_loses_its_oldest_requests() {
    let fixture = TestStore::with_fleet().await;
    let (store, ops) = (&fixture.store, account(&fixture).await);
    add(store, "quiet", NOW, Sender::Account(ops), "192.0.2.1");
    store.trail().write_refused().await.unwrap();
    fixture.data.execute(&format!(
        "insert into refused_requests (number, share, request_id, at_ms, source, details)
            with recursive n(i) as (select 2 union all select i + 1 from n
                where i < {REQUESTS_MAX} - 1)
            select i, 'account 77', 'noisy-' || i, {}, '', '{{}}' from n;
        update counters set last = {REQUESTS_MAX} - 1 where name = 'refused_requests'",
        NOW.0
    ));
    let other = Sender::Account(AccountNo(78));
    for at in 0..3 {
        add(store, &format!("other-{at}"), NOW, other.clone(), "192.0.2.9");
    }
    store.trail().write_refused().await.unwrap();
    assert_eq!(
        shares(&fixture),
        [
            format!("account {}|1", ops.0),
            format!("account 77|{}", REQUESTS_KEPT - 4),
            "account 78|3".to_owned(),
        ]
    );
    let last_deleted = REQUESTS_MAX - 1 - (REQUESTS_KEPT - 4);
    for (id, is_found) in [
        ("quiet".to_owned(), true),
        ("noisy-2".to_owned(), false),
        (format!("noisy-{last_deleted}"), false),
        (format!("noisy-{}", last_deleted + 1), true),
        ("other-0".to_owned(), true),
    ] {
        assert_eq!(find(store, &id, NOW).await.is_some(), is_found, "{id}");
    }
}

/// While nothing can be written the requests wait in bounded room, and none is stored twice.
#[tokio::test]
async fn requests_wait_while_the_store_is_busy_and_are_stored_once() {
    let fixture = TestStore::with_fleet().await;
    let wait = Duration::from_millis(100);
    let options = OpenOptions { wait, ..open_options(&fixture.data) };
    let mut opened = None;
    eventually("the store opens within its wait", async || {
        opened = Store::open(&options).await.ok();
        opened.is_some()
    })
    .await;
    let busy = opened.unwrap();
    let lock = fixture.data.block_writes().await;
    for at in 0..2_000 {
        add(&busy, &format!("r-{at}"), NOW, Sender::Unknown, &format!("192.0.2.{}", at % 7));
    }
    assert_eq!(busy.trail().refused().dropped(), 1_500);
    busy.trail().write_refused().await.unwrap_err();
    // Guesses leave room for an account.
    add(&busy, "late", NOW, Sender::Account(account(&fixture).await), "192.0.2.1");
    busy.trail().write_refused().await.unwrap_err();
    lock.release().await;
    eventually("all requests are stored", async || {
        let _ = busy.trail().write_refused().await;
        find(&fixture.store, "late", NOW).await.is_some()
    })
    .await;
    assert_eq!(fixture.query("select count(*) from refused_requests"), ["501"]);
}

/// Whatever statement fails, and also when a commit was not reported, a request is stored once.
#[tokio::test]
async fn a_request_whose_storage_failed_is_stored_once() {
    let fixture = TestStore::with_fleet().await;
    let store = &fixture.store;
    let mut failed = 0;
    for statements in 0..6 {
        add(store, &format!("r-{statements}"), NOW, Sender::Unknown, "192.0.2.1");
        store.engine().faults().arm(Some((statements, || Error::Gone)));
        failed += i32::from(store.trail().write_refused().await.is_err());
        let _ = store.engine().faults().arm(None);
        store.trail().write_refused().await.unwrap();
        let stored = fixture.query("select count(*) from refused_requests");
        assert_eq!(stored, [(statements + 1).to_string()]);
    }
    assert!(failed >= 4, "{failed}");
}
