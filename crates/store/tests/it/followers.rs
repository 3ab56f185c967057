//! Followers of changes: the events that wake them, and the look-ups.

use std::time::{Duration, Instant};

use kiosque_model::{GroupNo, PresentedToken};
use kiosque_store::{ChangeQuery, Error, Follower, GroupTotals, Store};
use kiosque_testkit::entries::order;
use kiosque_testkit::{NOW, TestStore, WAIT_MAX, origin, sql};
use tokio::time::timeout;

const SECOND: Duration = Duration::from_secs(1);
/// Time in which a follower that is woken without reason would usually notice.
const A_WHILE: Duration = Duration::from_millis(1_500);

async fn fixture() -> (TestStore, PresentedToken) {
    let fixture = TestStore::with_fleet().await;
    let token = fixture.log_in("ops").await.unwrap();
    (fixture, token)
}

/// Logs in with its own token for each `random`.
async fn log_in(fixture: &TestStore, random: u8) -> PresentedToken {
    let origin = origin("127.0.0.1", NOW);
    fixture.log_in_until("ops", random, NOW.plus_ms(1), origin).await.unwrap()
}

/// Returns a follower that has read all changes, and the number of the last one.
async fn follower(store: &Store, token: &PresentedToken) -> (Follower, i64) {
    let mut follower = store.orders().follow(token.group_hint(), Some(token));
    let claim = kiosque_model::Claim { token: token.clone(), now: NOW };
    let read =
        store.orders().changes(claim, ChangeQuery { after: None, size: 1_000 }, GroupTotals::Left);
    let read = follower.read(read).await.unwrap();
    (follower, read.next().change_no)
}

/// Waits until a follower is woken by something.
async fn woken(follower: &mut Follower, last_change_no: i64, by: &str) {
    let woken = timeout(WAIT_MAX, follower.woken(last_change_no)).await;
    assert!(woken.is_ok(), "not woken by {by}");
}

async fn is_left_alone(follower: &mut Follower, last_change_no: i64) -> bool {
    timeout(A_WHILE, follower.woken(last_change_no)).await.is_err()
}

#[tokio::test]
async fn commits_of_the_process_wake_it_at_once_and_those_of_others_by_a_look_up() {
    let (fixture, token) = fixture().await;
    let (mut mine, mut last) = follower(&fixture.store, &token).await;
    let mut by_commits = 0;
    for at in 0..20 {
        let before = fixture.store.orders().look_ups();
        fixture.receive_new(vec![order(&format!("o{at}"), "d1", 1)]).await;
        woken(&mut mine, last, "a commit").await;
        by_commits += usize::from(fixture.store.orders().look_ups() == before);
        last += 1;
    }
    assert!(by_commits > 0, "woken by look-ups alone");
    // Neither a change that it knows wakes it, nor an order of another group.
    fixture.receive_new(vec![order("other", "e1", 1)]).await;
    assert!(is_left_alone(&mut mine, last).await);

    fixture.again().await.receive_new(vec![order("foreign", "d2", 1)]).await;
    woken(&mut mine, last, "a commit of another process").await;
    assert!(is_left_alone(&mut mine, last + 1).await);
}

/// A change that is committed while a follower reads may be missing from what it reads.
#[tokio::test]
async fn events_during_a_read_wake_it() {
    let (fixture, token) = fixture().await;
    let (mut mine, last) = follower(&fixture.store, &token).await;
    mine.read(fixture.receive_new(vec![order("a", "d1", 1)])).await;
    woken(&mut mine, last, "a commit during the read").await;
    let claim = kiosque_model::Claim { token: token.clone(), now: NOW };
    let changes = fixture.store.orders().changes(
        claim,
        ChangeQuery { after: None, size: 1 },
        GroupTotals::Left,
    );
    assert_eq!(mine.read(changes).await.unwrap().next().change_no, last + 1);
    assert!(is_left_alone(&mut mine, last + 1).await, "woken by what it has read");
    mine.read(log_in(&fixture, 1)).await;
    woken(&mut mine, last + 1, "a login during the read").await;
}

/// ORD-28: the group has fewer changes than a follower knows of, so that its next read is refused.
#[tokio::test]
async fn a_loss_of_changes_wakes_it() {
    let (fixture, token) = fixture().await;
    fixture.receive_new(vec![order("a", "d1", 1), order("b", "d1", 2)]).await;
    let (mut mine, last) = follower(&fixture.store, &token).await;
    assert!(is_left_alone(&mut mine, last).await);
    fixture.data.execute(&sql("lose_change"));
    woken(&mut mine, last, "a loss of changes").await;
}

#[tokio::test]
async fn the_end_of_its_session_wakes_it() {
    let (fixture, token) = fixture().await;
    let other = fixture.again().await;
    let (mut token, mut at_once) = (token, 0);
    for random in 1..20 {
        let (mut mine, last) = follower(&fixture.store, &token).await;
        let before = fixture.store.orders().look_ups();
        token = log_in(&fixture, random).await;
        woken(&mut mine, last, "a login").await;
        at_once += usize::from(fixture.store.orders().look_ups() == before);
    }
    assert!(at_once > 0, "woken by look-ups alone");
    let (mut mine, last) = follower(&fixture.store, &token).await;
    assert!(is_left_alone(&mut mine, last).await, "its session goes on");
    let token = log_in(&other, 20).await;
    woken(&mut mine, last, "a login by another process").await;
    let (mut mine, last) = follower(&fixture.store, &token).await;
    other.tamper("delete from sessions");
    woken(&mut mine, last, "the end of all sessions").await;
}

/// One look-up a second, however many follow, and none without followers.
#[tokio::test]
async fn look_ups_are_one_a_second_for_all_followers() {
    let (fixture, token) = fixture().await;
    let store = &fixture.store;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(store.orders().look_ups(), 0);
    let begun = Instant::now();
    let mut followers = Vec::new();
    for at in 0..500 {
        let group = GroupNo(i64::from(at % 2) + 1);
        followers.push(store.orders().follow(group, (at % 5 > 0).then_some(&token)));
    }
    while store.orders().look_ups() < 2 {
        assert!(begun.elapsed() < WAIT_MAX, "no look-ups");
        tokio::time::sleep(SECOND / 8).await;
    }
    // Followers come and go meanwhile.
    for _ in 0..12 {
        followers.truncate(followers.len() / 2);
        followers.push(store.orders().follow(GroupNo(1), None));
        tokio::time::sleep(SECOND / 8).await;
        followers.clear();
    }
    let look_ups = store.orders().look_ups();
    assert!(look_ups <= begun.elapsed().as_secs(), "{look_ups} in {:?}", begun.elapsed());
    tokio::time::sleep(2 * A_WHILE).await;
    assert!(store.orders().look_ups() <= look_ups, "looked up without followers");
}

#[tokio::test]
async fn an_account_may_wait_as_often_as_its_share() {
    let (fixture, token) = fixture().await;
    let one = fixture.store.orders().follow(GroupNo(1), Some(&token));
    let two = fixture.store.orders().follow(GroupNo(2), Some(&token));
    let operator = fixture.store.orders().follow(GroupNo(1), None);
    let (first, second) = (one.begin_wait(2).unwrap(), two.begin_wait(2).unwrap());
    assert!(matches!(one.begin_wait(2), Err(Error::TooMuchWork(_))));
    let of_operator = operator.begin_wait(2).unwrap();
    assert_eq!(fixture.store.orders().waiting_followers(), 3);
    drop(first);
    let again = two.begin_wait(2).unwrap();
    drop((second, again, of_operator));
    assert_eq!(fixture.store.orders().waiting_followers(), 0);
}
