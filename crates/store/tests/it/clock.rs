//! Clocks of nodes are compared with the database's: a node whose clock is off answers for no
//! session, no key and no session of the console.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use kiosque_model::{ActedBy, ConsoleSecret, KeyName, OperatorKey, Rights, UnixMs};
use kiosque_store::{
    Error, KeyHolder, OpenOptions, Refused, SessionLease, SessionUse, SignInProof, Store,
    StoreLocation,
};
use kiosque_testkit::{NOW, TestData, TestStore, open_options, origin};

/// Returns the time of the database's clock.
fn right_time(fixture: &TestStore) -> i64 {
    let sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms";
    fixture.query(sql)[0].parse().unwrap()
}

/// Such a node could read a session, or a key, that has ended.
#[tokio::test]
async fn a_node_whose_clock_is_off_answers_for_no_session_and_no_key_until_it_is_right() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let session = fixture.log_in("ops").await.unwrap();
    let key = OperatorKey::mint([1; 32]).digest();
    let holder = KeyHolder { name: KeyName::parse("office").unwrap(), rights: Rights::all() };
    fixture.store.operators().create_key(holder, key.clone(), ActedBy::command(NOW)).await.unwrap();
    let cookie = ConsoleSecret::mint([2; 32]).digest();
    let proof = SignInProof::Key(key.clone());
    let origin = origin("192.0.2.1", NOW);
    fixture.store.operators().sign_in(proof, cookie.clone(), None, origin).await.unwrap().unwrap();
    let long = Duration::from_secs(300);
    let lease = SessionLease { length: long, clock_skew: Duration::from_secs(60) };
    let store = Store::open(&OpenOptions { lease, ..open_options(&fixture.data) }).await.unwrap();
    for off_ms in [-600_000, 600_000] {
        let held = store.engine().check_clock(UnixMs(right_time(&fixture) + off_ms)).unwrap();
        assert!(held.is_off && (held.ahead_ms - off_ms).abs() < 60_000, "{held:?}");
        let refused = store.sessions().prove(fixture.claim(&session)).await;
        let Err(Refused::Store(of_session)) = refused else { panic!("{refused:?}") };
        let of_key = store.operators().key_in_use(&key, NOW).await.unwrap_err();
        let of_console =
            store.operators().console_session(cookie.clone(), SessionUse::Act, NOW).await;
        for refused in [of_session, of_key, of_console.unwrap_err()] {
            let Error::Unreachable(why) = refused else { panic!("{refused:?}") };
            assert!(why.contains("clock differs from the database's by"), "{why}");
        }
        let held = store.engine().check_clock(UnixMs(right_time(&fixture))).unwrap();
        assert!(!held.is_off, "{held:?}");
        store.sessions().prove(fixture.claim(&session)).await.unwrap();
        assert!(store.operators().key_in_use(&key, NOW).await.unwrap().is_some());
        let of_console =
            store.operators().console_session(cookie.clone(), SessionUse::Act, NOW).await;
        assert!(of_console.unwrap().is_some());
    }
    // A file has no clock to compare with.
    assert_eq!(TestStore::on(TestData::sqlite()).await.store.engine().check_clock(NOW), None);
}

/// How long a connection through [`slow_to_open`] takes to open.
const OPENING: Duration = Duration::from_secs(2);

/// Returns the address of a proxy before `server`, which opens connections slowly.
fn slow_to_open(server: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let forward = |from: &TcpStream, to: &TcpStream| {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut from, &mut to));
    };
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::sleep(OPENING);
            let server = TcpStream::connect(&server).unwrap();
            forward(&client, &server);
            forward(&server, &client);
        }
    });
    address
}

/// The time that a connection takes to open is not taken for a difference between the clocks, and
/// hides none.
#[tokio::test]
async fn a_slow_connection_makes_no_clock_wrong_and_none_right() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let StoreLocation::Postgres(url) = fixture.data.location() else { panic!("no database") };
    let (user, rest) = url.split_once('@').unwrap();
    let (server, database) = rest.split_once('/').unwrap();
    let slow = format!("{user}@{}/{database}", slow_to_open(server.to_owned()));
    let lease = SessionLease { length: Duration::from_secs(300), clock_skew: OPENING / 2 };
    let place = StoreLocation::Postgres(&slow);
    let options = OpenOptions { place, lease, ..open_options(&fixture.data) };
    let store = Store::open(&options).await.unwrap();
    let is_off =
        |off_ms| store.engine().check_clock(UnixMs(right_time(&fixture) + off_ms)).unwrap().is_off;
    assert!(!is_off(0));
    assert!(is_off(2_500));
}
