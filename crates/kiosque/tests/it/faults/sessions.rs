//! Faults of sessions and of the clock.

use kiosque_testkit::{
    DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, SWITCH_PATH, Served, TOKEN_PATH, assert_common_headers,
    wait_until,
};

use super::{ONE_DEVICE, Server, faults_of};

const LOGIN: &str = r#"{"username":"walker","password":"secret"}"#;
const REFUSED: &str = "{\"code\":-4,\"msg\":\"Token is incorrect or invalid,please login again\",\
     \"enMsg\":\"Token is incorrect or invalid,please login again\",\
     \"data\":\"Token is incorrect or invalid,please login again\"}";

/// AUTH-16: the token of an evicted session is refused by every call from then on; a login makes
/// another.
#[test]
fn an_evicted_session_ends_for_every_call() {
    let server = Server::start();
    let proxy = server.proxy(&["nth(2, evict(orders))"]);
    let (mut caller, token) = proxy.log_in("walker");
    assert_eq!(caller.call(ORDERS_PATH, Some(&token), ONE_DEVICE).code(), 200);
    assert_eq!(caller.call(DEVICES_PATH, Some(&token), "{}").code(), 200);
    let south = r#"{"groupId":"south"}"#;
    for (path, body) in
        [(ORDERS_PATH, ONE_DEVICE), (DEVICES_PATH, "{}"), (SWITCH_PATH, south), (LOGOUT_PATH, "")]
    {
        let reply = caller.call(path, Some(&token), body);
        assert_common_headers_but_id(&reply);
        assert_eq!((reply.status, reply.text.as_str()), (200, REFUSED), "{path}");
        assert_eq!(faults_of(&reply), Some("evict"));
    }
    let token = caller.log_in("walker", "secret");
    assert_eq!(caller.call(ORDERS_PATH, Some(&token), ONE_DEVICE).code(), 200);
    // The texts of ENV-3 are in the language of the request.
    let proxy = server.proxy(&["evict"]);
    let reply = proxy.connect().call_with(
        &format!("x-locale: zh-CN\r\nthird-api-token: {token}\r\n"),
        DEVICES_PATH,
        "{}",
    );
    assert_eq!(reply.json["msg"], "token 错误或已失效，请重新登录");
}

fn assert_common_headers_but_id(reply: &kiosque_testkit::Reply) {
    assert_eq!(reply.headers["content-type"], "application/json; charset=UTF-8");
    assert_eq!(reply.headers["cache-control"], "no-store");
    assert!(reply.headers["x-request-id"].starts_with("fault-"), "{reply:?}");
}

/// AUTH-6: a session that expires early says so in `expiresIn`, is accepted before, and is refused
/// from then on.
#[test]
fn a_session_expires_when_it_says_so() {
    let server = Server::start();
    let log_in = |proxy: &Served| {
        let mut caller = proxy.connect();
        let login = caller.call(TOKEN_PATH, None, LOGIN);
        let token = login.success()["accessToken"].as_str().unwrap().to_owned();
        (caller, login, token)
    };
    let proxy = server.proxy(&["nth(1, expire(after=1h))"]);
    let (mut caller, hour, token) = log_in(&proxy);
    assert_eq!(faults_of(&hour), Some("expire"));
    let accepted = caller.call(DEVICES_PATH, Some(&token), "{}");
    assert_eq!((accepted.code(), faults_of(&accepted)), (200, None));
    let long = caller.call(TOKEN_PATH, None, LOGIN);
    assert_common_headers(&long);
    let end = |reply: &kiosque_testkit::Reply| reply.success()["expiresIn"].as_i64().unwrap();
    // 7,200 s by default; the logins are later than each other.
    assert!(end(&long) - end(&hour) >= 3_600_000, "{} {}", end(&hour), end(&long));

    let proxy = server.proxy(&["nth(1, expire(after=2s))"]);
    let (mut caller, short, token) = log_in(&proxy);
    assert_eq!(faults_of(&short), Some("expire"));
    let mut last = caller.call(DEVICES_PATH, Some(&token), "{}");
    wait_until("the session has expired", || {
        last = caller.call(DEVICES_PATH, Some(&token), "{}");
        last.code() == -4
    });
    assert_eq!((last.text.as_str(), faults_of(&last)), (REFUSED, Some("expire")));
}

/// A wrong clock shows in `expiresIn` and in the header `Date`.
#[test]
fn a_wrong_clock_shows_in_the_end_of_sessions_and_in_the_date() {
    let server = Server::start();
    let mut ends = Vec::new();
    for fault in ["clock(-30m)", "nth(99, clock(-30m))", "clock(offset=+2h)"] {
        let reply = server.proxy(&[fault]).connect().call(TOKEN_PATH, None, LOGIN);
        let is_wrong = !fault.starts_with("nth");
        assert_eq!(faults_of(&reply), is_wrong.then_some("clock"));
        ends.push((reply.success()["expiresIn"].as_i64().unwrap(), reply.headers["date"].clone()));
    }
    let [(late, late_date), (right, right_date), (early, early_date)] = &ends[..] else {
        panic!("{ends:?}");
    };
    // The logins are later than each other, by an unknown time.
    assert!(right - late >= 1_800_000 && early - right >= 7_200_000, "{ends:?}");
    let seconds = |date: &String| httpdate_seconds(date);
    assert!(seconds(right_date) - seconds(late_date) >= 1_800, "{ends:?}");
    assert!(seconds(early_date) - seconds(right_date) >= 7_200, "{ends:?}");
}

/// Returns a date such as `Mon, 23 Nov 2026 06:00:00 GMT` in seconds.
fn httpdate_seconds(date: &str) -> i64 {
    jiff::fmt::rfc2822::parse(date).unwrap().timestamp().as_second()
}
