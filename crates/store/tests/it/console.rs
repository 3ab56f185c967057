//! Sessions of the console and links that sign in once: bound to a live key, on any node.

use std::time::Duration;

use kiosque_model::console::{IDLE_MAX_MS, SESSION_MAX_MS};
use kiosque_model::{
    ActedBy, ConsoleDigest, ConsoleSecret, KeyDigest, KeyName, OperatorKey, Right, UnixMs,
};
use kiosque_store::{CreatedKey, KeyHolder, SessionUse, SignInProof, Store};
use kiosque_testkit::{TestData, TestStore, open, origin};

const NOW: i64 = 1_772_445_600_000;
/// The validity of an integrator's token.
const TOKEN_VALIDITY: Duration = Duration::from_secs(7_200);

fn secret(number: u8) -> ConsoleDigest {
    ConsoleSecret::mint([number; 32]).digest()
}

fn holder(name: &str, may: &str) -> KeyHolder {
    KeyHolder { name: KeyName::parse(name).unwrap(), rights: may.parse().unwrap() }
}

fn by(at: i64) -> ActedBy {
    ActedBy::command(UnixMs(at))
}

struct Console {
    fixture: TestStore,
    key: KeyDigest,
}

impl Console {
    /// Opens data with a key `office`, which has the right `read`.
    async fn new() -> Console {
        Console::on(TestData::new()).await
    }

    async fn on(data: TestData) -> Console {
        let fixture = TestStore::on(data).await;
        let key = OperatorKey::mint([9; 32]).digest();
        let created =
            fixture.store.operators().create_key(holder("office", "read"), key.clone(), by(NOW));
        assert_eq!(created.await.unwrap(), CreatedKey::Created);
        Console { fixture, key }
    }

    async fn sign_in(&self, number: u8, at: i64) -> Option<KeyHolder> {
        let proof = SignInProof::Key(self.key.clone());
        sign_in(&self.fixture.store, proof, number, at).await
    }

    /// Returns the name of the key of a session, if it is live.
    async fn live(&self, number: u8, at: i64) -> Option<String> {
        self.live_after(SessionUse::Act, number, at).await
    }

    /// Returns the name of the key of a session, if it is live for a request.
    async fn live_after(&self, cause: SessionUse, number: u8, at: i64) -> Option<String> {
        let store = &self.fixture.store;
        let session =
            store.operators().console_session(secret(number), cause, UnixMs(at)).await.unwrap();
        session.map(|session| session.holder().name.to_string())
    }

    async fn link(&self, number: u8, at: i64) -> bool {
        let name = KeyName::parse("office").unwrap();
        self.fixture.store.operators().create_link(name, secret(number), by(at)).await.unwrap()
    }
}

async fn sign_in(store: &Store, proof: SignInProof, number: u8, at: i64) -> Option<KeyHolder> {
    let origin = origin("192.0.2.1", UnixMs(at));
    store.operators().sign_in(proof, secret(number), None, origin).await.unwrap()
}

/// The uses within a minute are one write.
#[tokio::test]
async fn the_use_of_a_session_is_stored_once_a_minute() {
    let console = Console::new().await;
    console.sign_in(1, NOW).await.unwrap();
    let stored = || console.fixture.query("select used_at_ms, expires_at_ms from console_sessions");
    for (at, used) in [(59_999, 0), (60_000, 60_000), (100_000, 60_000), (-40_000, -40_000)] {
        console.live(1, NOW + at).await.unwrap();
        let (used, end) = (NOW + used, NOW + used + IDLE_MAX_MS);
        assert_eq!(stored(), [format!("{used}|{end}")], "used at {at}");
    }
}

/// Both engines, two open stores: one of two uses at the same time succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_signs_in_exactly_once() {
    let console = Console::new().await;
    let other = open(&console.fixture.data, None).await.unwrap();
    for round in 0..10 {
        assert!(console.link(100 + round, NOW).await);
        let proof = || SignInProof::Link(secret(100 + round));
        let (one, two) = tokio::join!(
            sign_in(&console.fixture.store, proof(), 2 * round, NOW),
            sign_in(&other, proof(), 2 * round + 1, NOW),
        );
        assert!(one.is_some() != two.is_some(), "round {round}: {one:?}, {two:?}");
        let (live, none) = if one.is_some() { (0, 1) } else { (1, 0) };
        let session = other
            .operators()
            .console_session(secret(2 * round + live), SessionUse::Act, UnixMs(NOW))
            .await
            .unwrap();
        assert!(session.is_some());
        assert_eq!(console.live(2 * round + none, NOW).await, None);
    }
}

#[tokio::test]
async fn sessions_and_links_that_the_clock_has_passed_stay_ended() {
    // A database's clock is not set by a test.
    let console = Console::on(TestData::sqlite()).await;
    let store = &console.fixture.store;
    store.sessions().observe_time(UnixMs(NOW), TOKEN_VALIDITY).await.unwrap();
    console.sign_in(1, NOW).await.unwrap();
    assert!(console.link(2, NOW).await);
    store.sessions().observe_time(UnixMs(NOW + IDLE_MAX_MS), TOKEN_VALIDITY).await.unwrap();
    // The clock is set back before anything is used.
    let observe =
        async |at| store.sessions().observe_time(UnixMs(at), TOKEN_VALIDITY).await.unwrap();
    assert_eq!(observe(NOW + 1_000).await, 1);
    assert_eq!(console.live(1, NOW + 1_000).await, None);
    assert_eq!(sign_in(store, SignInProof::Link(secret(2)), 3, NOW + 1_000).await, None);
    // A session that was opened while the clock was ahead ends when it is set right.
    observe(NOW + 10 * SESSION_MAX_MS).await;
    console.sign_in(4, NOW + 10 * SESSION_MAX_MS).await.unwrap();
    assert_eq!(observe(NOW + 2_000).await, 1);
    assert_eq!(console.live(4, NOW + 2_000).await, None);
}

#[tokio::test]
async fn a_sign_in_ends_the_session_before_it_and_the_oldest_of_many() {
    let console = Console::new().await;
    console.sign_in(0, NOW).await.unwrap();
    let proof = SignInProof::Key(console.key.clone());
    let origin = origin("192.0.2.1", UnixMs(NOW));
    let store = &console.fixture.store;
    store.operators().sign_in(proof, secret(1), Some(secret(0)), origin).await.unwrap().unwrap();
    assert_eq!(console.live(0, NOW).await, None);
    assert_eq!(console.live(1, NOW).await.as_deref(), Some("office"));
    for number in 2..=101 {
        console.sign_in(number, NOW + i64::from(number)).await.unwrap();
    }
    assert_eq!(console.live(1, NOW + 200).await, None);
    assert_eq!(console.live(2, NOW + 200).await.as_deref(), Some("office"));
    let count = || console.fixture.query("select count(*) from console_sessions");
    assert_eq!(count(), ["100"]);
    // Those that have expired are removed by the next sign-in.
    console.sign_in(200, NOW + 2 * IDLE_MAX_MS).await.unwrap();
    assert_eq!(count(), ["1"]);
}

#[tokio::test]
async fn a_key_grants_rights_that_it_has_itself() {
    let fixture = TestStore::new().await;
    let store = &fixture.store;
    let granter = OperatorKey::mint([9; 32]).digest();
    store
        .operators()
        .create_key(holder("lead", "read,audit,keys"), granter.clone(), by(NOW))
        .await
        .unwrap();
    sign_in(store, SignInProof::Key(granter), 1, NOW).await.unwrap();
    let session = store
        .operators()
        .console_session(secret(1), SessionUse::Act, UnixMs(NOW))
        .await
        .unwrap()
        .unwrap();
    assert!(session.oversight(Right::Fleet).is_none());
    let oversight = session.oversight(Right::Keys).unwrap();
    let grant = async |name: &str, may: &str, number: u8| {
        let digest = OperatorKey::mint([number; 32]).digest();
        store.operators().grant_key(oversight, holder(name, may), digest, by(NOW)).await.unwrap()
    };
    assert_eq!(grant("reader", "read,audit", 20).await, Some(CreatedKey::Created));
    assert_eq!(grant("reader", "read", 21).await, Some(CreatedKey::NameTaken(UnixMs(NOW))));
    assert_eq!(grant("all", "read,fleet", 22).await, None);
    assert_eq!(store.operators().keys().await.unwrap().len(), 2);
    // The session was read before its key was revoked.
    store.operators().revoke_key(KeyName::parse("lead").unwrap(), by(NOW)).await.unwrap();
    assert_eq!(grant("late", "read", 23).await, None);
}
