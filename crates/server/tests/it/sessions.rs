//! Sessions and the clock. Sessions under concurrency are in `several_nodes`.

use kiosque_testkit::{DEVICES_PATH, LOGOUT_PATH, SWITCH_PATH};

use crate::catalog;

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
