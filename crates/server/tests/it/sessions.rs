//! Sessions under concurrency: one token of an account is valid, however many requests change it at
//! once, and once an answer is sent no request that starts later is accepted with an older one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kiosque_testkit::{
    Client, DEVICES_PATH, FleetToml, LOGOUT_PATH, LoggedIn, Reply, SWITCH_PATH, TOKEN_PATH,
    TestServer, size,
};
use tokio::sync::{Barrier, RwLock};
use tokio::task::JoinSet;

const AT_ONCE: usize = 8;
const ROUNDS: usize = 20;
const LOG_IN: &str = r#"{"username":"ops","password":"secret"}"#;

/// A server with eight groups of one device each, all of them assigned to one account.
async fn server() -> TestServer {
    let groups: Vec<_> = (0..AT_ONCE).map(|group| format!("g{group}")).collect();
    let mut fleet = FleetToml::new().cheap_account("ops", &groups);
    for (number, group) in groups.iter().enumerate() {
        fleet = fleet.group(group, &format!("Group {number}")).device(
            &format!("d{number}"),
            "Kiosk",
            group,
        );
    }
    TestServer::start(fleet).await
}

async fn callers(server: &TestServer, count: usize) -> Vec<Client> {
    let mut callers = Vec::new();
    for _ in 0..count {
        callers.push(server.connect().await);
    }
    callers
}

fn switch_to(group: usize) -> String {
    format!(r#"{{"groupId":"g{group}"}}"#)
}

/// Sends the same call on every connection at the same moment, each with its own body.
async fn all_at_once(
    callers: &mut Vec<Client>,
    path: &'static str,
    token: Option<&str>,
    body: impl Fn(usize) -> String,
) -> Vec<Reply> {
    let barrier = Arc::new(Barrier::new(callers.len()));
    let mut calls = JoinSet::new();
    for (number, mut caller) in callers.drain(..).enumerate() {
        let (barrier, token, body) = (Arc::clone(&barrier), token.map(str::to_owned), body(number));
        calls.spawn(async move {
            barrier.wait().await;
            let reply = caller.call(path, token.as_deref(), &body).await;
            (number, caller, reply)
        });
    }
    let mut done = calls.join_all().await;
    done.sort_by_key(|(number, ..)| *number);
    let mut replies = Vec::new();
    for (_, caller, reply) in done {
        callers.push(caller);
        replies.push(reply);
    }
    replies
}

/// AUTH-20: of several switches with one token exactly one succeeds. AUTH-12: the account has one
/// session.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_eight_simultaneous_switches_of_one_token_exactly_one_wins() {
    let server = server().await;
    let mut callers = callers(&server, AT_ONCE).await;
    let mut token = server.log_in("ops").await.token;
    let mut winners = Vec::new();
    for round in 0..ROUNDS {
        let replies = all_at_once(&mut callers, SWITCH_PATH, Some(&token), switch_to).await;
        let won: Vec<usize> = (0..AT_ONCE).filter(|one| replies[*one].code() == 200).collect();
        let [winner] = won[..] else { panic!("round {round}: {won:?} won") };
        let lost = replies.iter().filter(|reply| reply.code() == -4).count();
        assert_eq!(lost, AT_ONCE - 1, "round {round}");

        let switched = LoggedIn::of(&replies[winner]);
        assert_eq!(switched.group, format!("g{winner}"));
        assert_eq!(server.code_of(&token).await, -4, "round {round}");
        let page = server.call(DEVICES_PATH, Some(&switched.token), "{}").await;
        assert_eq!(page.data()["records"][0]["groupId"], switched.group.as_str());
        token = switched.token;
        winners.push(winner);
    }
    println!("who won: {winners:?}");
}

/// AUTH-20: several logins all succeed, and one of their tokens is valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_eight_simultaneous_logins_exactly_one_token_lives() {
    let server = server().await;
    let mut callers = callers(&server, AT_ONCE).await;
    let mut earlier = Vec::new();
    for round in 0..ROUNDS {
        let replies = all_at_once(&mut callers, TOKEN_PATH, None, |_| LOG_IN.to_owned()).await;
        let mut living = 0;
        for reply in &replies {
            let token = LoggedIn::of(reply).token;
            match callers[0].call(DEVICES_PATH, Some(&token), "{}").await.code() {
                200 => living += 1,
                code => assert_eq!(code, -4),
            }
            earlier.push(token);
        }
        assert_eq!(living, 1, "round {round}");
    }
    let mut living = 0;
    for token in &earlier {
        living += usize::from(callers[0].call(DEVICES_PATH, Some(token), "{}").await.code() == 200);
    }
    assert_eq!(living, 1, "of {} tokens", earlier.len());
}

/// AUTH-20: of a log out and a switch with one token exactly one succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_log_out_and_a_switch_at_once_do_not_both_succeed() {
    let server = server().await;
    let (mut one, mut other) = (server.connect().await, server.connect().await);
    for round in 0..ROUNDS {
        let token = LoggedIn::of(&one.call(TOKEN_PATH, None, LOG_IN).await).token;
        let group = switch_to(round % AT_ONCE);
        let (out, switched) = tokio::join!(
            one.call(LOGOUT_PATH, Some(&token), ""),
            other.call(SWITCH_PATH, Some(&token), &group),
        );
        let mut codes = [out.code(), switched.code()];
        codes.sort_unstable();
        assert_eq!(codes, [-4, 200], "round {round}");
        assert_eq!(server.code_of(&token).await, -4);
        if switched.code() == 200 {
            assert_eq!(server.code_of(&LoggedIn::of(&switched).token).await, 200);
        }
    }
}

/// AUTH-22: other callers keep sending tokens that have ended. A call that starts after the answer
/// that ended its token is refused with -4, without exception.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_request_that_starts_after_an_answer_is_accepted_with_an_older_token() {
    let server = server().await;
    let ended = Arc::new(RwLock::new(Vec::<String>::new()));
    let over = Arc::new(AtomicBool::new(false));
    let mut others = JoinSet::new();
    for caller in callers(&server, 4).await {
        others.spawn(try_ended_tokens(caller, Arc::clone(&ended), Arc::clone(&over)));
    }
    let mut caller = server.connect().await;
    let mut token = LoggedIn::of(&caller.call(TOKEN_PATH, None, LOG_IN).await).token;
    let rounds = size(150, 1_500);
    for round in 0..rounds {
        let successor = match round % 5 {
            0 => {
                let reply = caller.call(LOGOUT_PATH, Some(&token), "").await;
                assert_eq!((reply.code(), reply.data().is_null()), (200, true));
                ended.write().await.push(token);
                LoggedIn::of(&caller.call(TOKEN_PATH, None, LOG_IN).await).token
            }
            1 => {
                let reply = caller.call(TOKEN_PATH, None, LOG_IN).await;
                ended.write().await.push(token);
                LoggedIn::of(&reply).token
            }
            group => {
                let reply = caller.call(SWITCH_PATH, Some(&token), &switch_to(group)).await;
                ended.write().await.push(token);
                LoggedIn::of(&reply).token
            }
        };
        token = successor;
        assert_eq!(caller.call(DEVICES_PATH, Some(&token), "{}").await.code(), 200);
    }
    over.store(true, Ordering::SeqCst);
    let tried: usize = others.join_all().await.into_iter().sum();
    println!("{rounds} tokens ended while others made {tried} calls with those that had");
    assert!(tried > rounds);
}

/// Calls with the token that ended last, most often immediately after its end.
async fn try_ended_tokens(
    mut caller: Client,
    ended: Arc<RwLock<Vec<String>>>,
    over: Arc<AtomicBool>,
) -> usize {
    let (mut tried, mut path) = (0, [DEVICES_PATH, SWITCH_PATH, LOGOUT_PATH].into_iter().cycle());
    while !over.load(Ordering::SeqCst) {
        let last = ended.read().await.last().cloned();
        let Some(token) = last else {
            tokio::task::yield_now().await;
            continue;
        };
        let reply = caller.call(path.next().unwrap(), Some(&token), &switch_to(0)).await;
        assert_eq!(reply.code(), -4, "call {tried}: {reply:?}");
        tried += 1;
    }
    tried
}

/// AUTH-23: a restart changes neither the session nor its end. AUTH-6: it ends at `expiresIn`.
#[tokio::test]
async fn a_session_survives_a_restart_and_keeps_its_expiry() {
    let mut server = server().await;
    let first = server.log_in("ops").await;
    server.advance(Duration::from_secs(60));
    let session = server.switch(&first.token, "g5").await;
    assert_eq!(session.expires_in, server.now().0 + 7_200_000);

    server.restart().await;
    assert_eq!(server.code_of(&first.token).await, -4);
    let page = server.call(DEVICES_PATH, Some(&session.token), "{}").await;
    assert_eq!(page.data()["records"][0]["groupId"], "g5");

    server.advance(Duration::from_millis(7_199_999));
    assert_eq!(server.code_of(&session.token).await, 200);
    server.restart().await;
    assert_eq!(server.code_of(&session.token).await, 200);
    server.advance(Duration::from_millis(1));
    assert_eq!(server.code_of(&session.token).await, -4);
    server.restart().await;
    assert_eq!(server.code_of(&session.token).await, -4);
}

/// Only digests are stored: the data contains no token that could be used.
#[tokio::test]
async fn no_token_is_stored() {
    let mut server = server().await;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let mut session = server.log_in("ops").await;
        for group in ["g3", "g4"] {
            tokens.push(session.token.clone());
            session = server.switch(&session.token, group).await;
        }
        tokens.push(session.token);
        for token in &tokens {
            assert!(!holds(&server, token).await, "{token} is kept");
        }
        // The search finds text that is there: in the write-ahead log before a restart, in the file
        // after it.
        assert!(holds(&server, "Group 7").await);
        server.restart().await;
    }
    assert_eq!(tokens.len(), 9);
}

async fn holds(server: &TestServer, text: &str) -> bool {
    let is_in = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let mut kept = server.data.bytes().await;
    kept.extend(files(server.directory.path()));
    kept.iter().any(|bytes| is_in(bytes))
}

fn files(directory: &Path) -> Vec<Vec<u8>> {
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let all = paths.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![std::fs::read(&path).unwrap()],
    });
    all.collect()
}

/// AUTH-25: an expired session stays ended when the clock is set back, whichever call was refused.
#[tokio::test]
async fn a_session_that_was_refused_as_expired_stays_ended_when_the_clock_is_set_back() {
    let server = server().await;
    for path in [DEVICES_PATH, SWITCH_PATH, LOGOUT_PATH] {
        server.set_clock("2026-03-02 10:00:00");
        let token = server.log_in("ops").await.token;
        let call = async |path, body: &str| server.call(path, Some(&token), body).await.code();
        // An invalid request proves its session first.
        assert_eq!(call(DEVICES_PATH, "").await, 500);
        server.set_clock("2026-03-02 12:00:00");
        assert_eq!(call(path, &switch_to(1)).await, -4, "{path}");
        server.set_clock("2026-03-02 10:00:01");
        assert_eq!(call(DEVICES_PATH, "{}").await, -4, "{path}");
        assert_eq!(call(DEVICES_PATH, "").await, -4, "{path}");
    }
}
