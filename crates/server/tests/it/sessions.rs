//! Sessions and what is stored of them. Sessions under concurrency are in `several_nodes`.

use std::path::Path;

use kiosque_testkit::{DEVICES_PATH, LOGOUT_PATH, SWITCH_PATH, TestServer};

use crate::catalog;

/// Only digests are stored: the data contains no token that could be used.
#[tokio::test]
async fn no_token_is_stored() {
    let mut server = catalog::open().await;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let mut session = server.log_in("ops").await;
        for group in ["station", "harbour"] {
            tokens.push(session.token.clone());
            session = server.switch(&session.token, group).await;
        }
        tokens.push(session.token);
        for token in &tokens {
            assert!(!holds(&server, token).await, "{token} is kept");
        }
        // The search finds text that is there: in the write-ahead log before a restart, in the file
        // after it.
        assert!(holds(&server, "Fish_market").await);
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
    let server = catalog::open().await;
    for path in [DEVICES_PATH, SWITCH_PATH, LOGOUT_PATH] {
        server.set_clock("2026-03-02 10:00:00");
        let token = server.log_in("ops").await.token;
        let call = async |path, body: &str| server.call(path, Some(&token), body).await.code();
        // An invalid request proves its session first.
        assert_eq!(call(DEVICES_PATH, "").await, 500);
        server.set_clock("2026-03-02 12:00:00");
        assert_eq!(call(path, r#"{"groupId":"station"}"#).await, -4, "{path}");
        server.set_clock("2026-03-02 10:00:01");
        assert_eq!(call(DEVICES_PATH, "{}").await, -4, "{path}");
        assert_eq!(call(DEVICES_PATH, "").await, -4, "{path}");
    }
}
