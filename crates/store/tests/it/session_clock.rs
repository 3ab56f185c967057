//! AUTH-25: sessions that have expired stay ended when the clock is set back, also those that no
//! request has used since, and a session that was opened while the clock was ahead ends.

use std::time::Duration;

use kiosque_model::{Claim, LoginName, PresentedToken, Refusal, UnixMs};
use kiosque_store::Refused;
use kiosque_testkit::{TestData, TestStore, open, origin};

/// The validity of a token.
const VALIDITY: Duration = Duration::from_secs(30);

/// A session of `ops` that expires some seconds after a base.
struct Clocked {
    fixture: TestStore,
    base_ms: i64,
}

impl Clocked {
    async fn on(data: TestData) -> Clocked {
        let fixture = TestStore::with_fleet_on(data).await;
        // Near the database's clock, which others may not differ from.
        let base_ms = match &fixture.data {
            TestData::Directory(_) => 1_000_000,
            TestData::Postgres(_) => fixture
                .query("select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms")
                [0]
            .parse()
            .unwrap(),
        };
        Clocked { fixture, base_ms }
    }

    fn at(&self, seconds: i64) -> UnixMs {
        UnixMs(self.base_ms + seconds * 1_000)
    }

    async fn log_in(&self, at: i64, until: i64) -> PresentedToken {
        let origin = origin("127.0.0.1", self.at(at));
        self.fixture.log_in_until("ops", 7, self.at(until), origin).await.unwrap()
    }

    async fn observe(&self, seconds: i64) -> u64 {
        self.fixture.store.sessions().observe_time(self.at(seconds), VALIDITY).await.unwrap()
    }

    /// Returns whether a token is valid.
    async fn is_valid(&self, token: &PresentedToken, at: i64) -> bool {
        match self
            .fixture
            .store
            .sessions()
            .prove(Claim { token: token.clone(), now: self.at(at) })
            .await
        {
            Ok(()) => true,
            Err(Refused::Refusal(Refusal::TokenInvalid)) => false,
            Err(refused) => panic!("{refused:?}"),
        }
    }

    async fn restart(&mut self) {
        self.fixture = self.fixture.again().await;
    }
}

#[tokio::test]
async fn an_expired_session_stays_ended_when_the_clock_is_set_back() {
    let clocked = Clocked::on(TestData::new()).await;
    assert_eq!(clocked.observe(0).await, 0);
    let token = clocked.log_in(0, 10).await;
    assert_eq!(clocked.observe(9).await, 0);
    // It has not expired yet.
    assert_eq!(clocked.observe(1).await, 0);
    assert!(clocked.is_valid(&token, 1).await);
    assert_eq!(clocked.observe(20).await, 0);
    assert_eq!(clocked.observe(2).await, 1);
    assert!(!clocked.is_valid(&token, 2).await);
    // A session that was opened after that lasts, although the clock has shown later times.
    let token = clocked.log_in(2, 12).await;
    assert_eq!(clocked.observe(3).await, 0);
    assert!(clocked.is_valid(&token, 3).await);
}

#[tokio::test]
async fn a_restart_does_not_forget_the_time() {
    let mut clocked = Clocked::on(TestData::new()).await;
    let token = clocked.log_in(0, 10).await;
    clocked.observe(20).await;
    clocked.observe(40).await;
    clocked.fixture.store.sessions().store_time().await.unwrap();
    clocked.restart().await;
    assert_eq!(clocked.observe(2).await, 1);
    assert!(!clocked.is_valid(&token, 2).await);
    // A server that is killed has stored the time at most a minute before.
    let token = clocked.log_in(2, 10).await;
    clocked.observe(70).await;
    clocked.restart().await;
    assert_eq!(clocked.observe(3).await, 1);
    assert!(!clocked.is_valid(&token, 3).await);
}

/// A session lasts for the validity of a token at most, by the clock that was set right.
#[tokio::test]
async fn a_session_of_a_clock_that_was_ahead_ends_when_it_is_set_back() {
    let mut clocked = Clocked::on(TestData::new()).await;
    let ahead = clocked.log_in(40, 70).await;
    clocked.observe(40).await;
    assert!(clocked.is_valid(&ahead, 40).await);
    assert_eq!(clocked.observe(39).await, 1, "70 is later than 39 + 30");
    assert!(!clocked.is_valid(&ahead, 39).await);
    // The same after a restart.
    let ahead = clocked.log_in(41, 71).await;
    clocked.observe(41).await;
    clocked.fixture.store.sessions().store_time().await.unwrap();
    clocked.restart().await;
    assert_eq!(clocked.observe(1).await, 1);
    assert!(!clocked.is_valid(&ahead, 1).await);
    // One that ends in time is not touched.
    clocked.observe(50).await;
    let shorter = clocked.log_in(50, 55).await;
    assert_eq!(clocked.observe(25).await, 0);
    assert!(clocked.is_valid(&shorter, 25).await);
}

/// A use by a clock that was ahead counts, stored or not, as of the moment at which it was set
/// back, and later uses count again.
#[tokio::test]
async fn no_use_of_an_account_is_later_than_a_clock_that_was_set_back() {
    let clocked = Clocked::on(TestData::new()).await;
    let store = &clocked.fixture.store;
    let other = open(&clocked.fixture.data, None).await.unwrap();
    let ops = LoginName::parse("ops").unwrap();
    let ops = store.sessions().credentials(&ops).await.unwrap().unwrap().account;
    for (used, set_back, last) in [(200, Some(20), 20), (200, Some(19), 19), (90, None, 90)] {
        clocked.observe(used).await;
        store.trail().usage().count(Some(ops), "none", 200, Duration::ZERO, clocked.at(used));
        store.trail().write_uses(clocked.at(used)).await.unwrap();
        if let Some(now) = set_back {
            clocked.observe(now).await;
        }
        for store in [store, &other] {
            let uses = store.trail().uses_of(vec!["ops".to_owned()]).await.unwrap();
            assert_eq!(uses["ops"].last, Some(clocked.at(last)), "{used}");
        }
    }
}

/// A time that cannot be stored, as on a full disk, is remembered until the process ends.
#[tokio::test]
async fn a_session_that_has_expired_while_nothing_can_be_written_stays_ended() {
    let clocked = Clocked::on(TestData::sqlite()).await;
    clocked.observe(0).await;
    let token = clocked.log_in(0, 10).await;
    clocked.fixture.data.execute(
        "create trigger full before update on counters begin select raise(abort, 'full'); end",
    );
    clocked.fixture.store.sessions().observe_time(clocked.at(60), VALIDITY).await.unwrap_err();
    clocked.fixture.data.execute("drop trigger full");
    assert_eq!(clocked.observe(2).await, 1);
    assert!(!clocked.is_valid(&token, 2).await);
}

/// All nodes share the sessions: a clock that differs too much from the database's ends none.
#[tokio::test]
async fn the_times_of_a_wrong_clock_do_not_count() {
    let clocked = Clocked::on(TestData::postgres()).await;
    let token = clocked.log_in(0, 1_000).await;
    for wrong in [100_000, -100_000] {
        assert_eq!(clocked.observe(wrong).await, 0);
        assert_eq!(clocked.observe(1).await, 0);
        assert!(clocked.is_valid(&token, 1).await);
    }
}
