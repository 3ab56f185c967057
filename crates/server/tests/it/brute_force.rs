//! LIM-8, LIM-9, LIM-10: many sources try passwords of one account for a minute. The integrator,
//! whose source is known to the account, logs in within a second, and its session is not touched.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kiosque_testkit::{LoggedIn, TOKEN_PATH, TestServer, WAIT_MAX, size};

use crate::abuse::fleet;

const LOG_IN: &str = r#"{"username":"ops","password":"secret"}"#;

/// Attempts of all guessers together per second, or fewer while they wait for answers: guessers and
/// server share one machine.
const TRIES_A_SECOND: u32 = 2_000;

/// The answers to the guesses, counted.
#[derive(Default)]
struct Guesses {
    over: AtomicBool,
    looked_at: AtomicUsize,
    limited: AtomicUsize,
    busy: AtomicUsize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn guessers_from_everywhere_neither_keep_the_integrator_out_nor_end_its_session() {
    let (sources, seconds) = (size(100, 1_000), size(2, 60));
    rlimit::increase_nofile_limit(8_000).unwrap();
    // Few enough for a short run to use them up.
    let free = size(20, 100);
    let settled = TestServer::start_with(fleet(), |settings| {
        settings.limits.login_failures_unknown_free = u32::try_from(free).unwrap();
    });
    let server = Arc::new(settled.await);
    let mut token = server.log_in("ops").await.token;
    let guesses = Arc::new(Guesses::default());
    let pause = Duration::from_secs(1) * u32::try_from(sources).unwrap() / TRIES_A_SECOND;
    let guessers: Vec<_> = (0..u32::try_from(sources).unwrap())
        .map(|number| {
            let source = Ipv4Addr::from_bits(0x7F01_0001 + number);
            tokio::spawn(guess(source, pause, Arc::clone(&server), Arc::clone(&guesses)))
        })
        .collect();
    let (begun, mut advanced) = (Instant::now(), Duration::ZERO);
    let mut logins = Vec::new();
    let mut caller = server.connect().await;
    let time = Duration::from_secs(u64::try_from(seconds).unwrap());
    // However slow the machine is, the guessers come to the end of their free guesses.
    while begun.elapsed() < time || guesses.limited.load(Ordering::SeqCst) == 0 {
        assert!(begun.elapsed() < time + WAIT_MAX, "no guess was limited");
        assert_eq!(server.code_of(&token).await, 200, "the session is touched");
        let start = Instant::now();
        let reply = caller.call(TOKEN_PATH, None, LOG_IN).await;
        logins.push(start.elapsed());
        token = LoggedIn::of(&reply).token;
        // The server's clock follows, and the audit trail is written.
        let elapsed = begun.elapsed();
        server.advance(elapsed - advanced);
        advanced = elapsed;
        server.flush_refused_logins().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.code_of(&token).await, 200, "the session is touched");
    guesses.over.store(true, Ordering::SeqCst);
    for guesser in guessers {
        guesser.await.unwrap();
    }
    report((sources, free), begun.elapsed(), logins, &guesses);
}

fn report(
    (sources, free): (usize, usize),
    elapsed: Duration,
    mut logins: Vec<Duration>,
    guesses: &Guesses,
) {
    let [looked_at, limited, busy] = [&guesses.looked_at, &guesses.limited, &guesses.busy]
        .map(|count| count.load(Ordering::SeqCst));
    logins.sort_unstable();
    let (median, worst) = (logins[logins.len() / 2], logins[logins.len() - 1]);
    println!(
        "{sources} sources guessed for {elapsed:.1?}: {looked_at} guesses were looked at, \
         {limited} limited, {busy} busy; the integrator logged in {} times, median {median:.0?}, \
         at most {worst:.0?}",
        logins.len()
    );
    // LIM-8: shared attempts, and the first attempts of sources.
    let seconds = usize::try_from(elapsed.as_secs()).unwrap();
    let allowed = free + seconds / 4 + 1 + sources.min(450 + seconds / 8 + 1);
    assert!(looked_at <= allowed, "{looked_at} guesses were looked at, {allowed} may be");
    assert!(limited > 0, "no guess was limited");
}

async fn guess(source: Ipv4Addr, pause: Duration, server: Arc<TestServer>, guesses: Arc<Guesses>) {
    let mut number = 0;
    while !guesses.over.load(Ordering::SeqCst) {
        let Some(mut caller) = server.connect_from(source).await else { continue };
        while !guesses.over.load(Ordering::SeqCst) {
            number += 1;
            let body = format!(r#"{{"username":"ops","password":"{source} {number}"}}"#);
            let request = kiosque_testkit::post(&format!("/v8/{TOKEN_PATH}")).body(body.into());
            let Some(reply) = caller.try_send(request.unwrap()).await else { break };
            let count = match reply.code() {
                -2 => &guesses.looked_at,
                -1 => &guesses.limited,
                500 => &guesses.busy,
                _ => panic!("{reply:?}"),
            };
            count.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(pause).await;
        }
    }
}
