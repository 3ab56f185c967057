//! The operator's calls, and the exact answers to everything else.

use kiosque_testkit::{ORDERS_CALL, Reply, TestServer};

use super::{FLEET_CALL, fleet, whole, with_key};
use crate::abuse::wire::Target;

async fn ask(server: &TestServer, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = http::Request::builder().method(method).uri(path).header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut caller = server.connect_operator().await;
    caller.send(request.body(Default::default()).unwrap()).await
}

#[tokio::test]
async fn failures_are_answered_as_problems() {
    let (server, key) = with_key("fleet").await;
    let bearer = format!("Bearer {key}");
    let failure =
        async |method, path, headers: &[_]| whole(&ask(&server, method, path, headers).await);
    insta::assert_snapshot!("an_unknown_call", failure("GET", "/operator/v1/nothing", &[]).await);
    insta::assert_snapshot!("a_wrong_method", failure("PUT", ORDERS_CALL, &[]).await);
    insta::assert_snapshot!("a_wrong_method_of_livez", failure("POST", "/livez", &[]).await);
    insta::assert_snapshot!("no_key", failure("POST", ORDERS_CALL, &[]).await);
    insta::assert_snapshot!(
        "a_key_without_the_right",
        failure("POST", ORDERS_CALL, &[("authorization", &bearer)]).await
    );
    // The path and the method are checked before the key.
    assert_eq!(ask(&server, "PUT", FLEET_CALL, &[("authorization", &bearer)]).await.status, 405);
}

/// `GET /livez` needs no key. ADDR-4: this listener has no path of the other one, nor does that one
/// have its paths, as `refusals` shows.
#[tokio::test]
async fn each_listener_has_its_own_calls() {
    let server = TestServer::start(fleet()).await;
    insta::assert_snapshot!("livez", whole(&ask(&server, "GET", "/livez", &[]).await));
    assert_eq!(ask(&server, "HEAD", "/livez", &[]).await.status, 200);
    let login = "/v8/platform-auth/auth/third-api/token";
    assert_eq!(ask(&server, "POST", login, &[]).await.status, 404);
}

/// A refused caller that is still sending receives its answer, unless it sends without end.
#[tokio::test]
async fn the_body_of_a_refused_request_is_read() {
    let server = TestServer::start(fleet()).await;
    for size in [1 << 10, 4 << 20] {
        let reply = server.call_operator(ORDERS_CALL, None, vec![b'x'; size]).await;
        assert_eq!(reply.status, 401);
        assert_eq!(reply.headers["www-authenticate"], "Bearer");
    }
}

/// The body of a caller with `Expect: 100-continue` is requested only if its key is valid.
#[tokio::test]
async fn a_refused_caller_that_expects_100_continue_sends_no_body() {
    let (server, key) = with_key("orders").await;
    let body = super::lines("o", 3);
    for (key, answers) in [("kqo_none", &[401][..]), (key.as_str(), &[100, 200])] {
        let mut wire = Target::of_operator(&server).open().await;
        let head = format!(
            "POST {ORDERS_CALL} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
             Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        wire.say(head).await;
        for (at, status) in answers.iter().enumerate() {
            assert_eq!(wire.answer().await.expect("an answer").status, *status, "answer {at}");
            wire.say(&body).await;
        }
    }
}

/// A body that is refused once it has begun is read to its end, or its caller, which is still
/// sending, would lose the answer.
#[tokio::test]
async fn a_caller_that_was_asked_for_its_body_receives_the_refusal() {
    let (server, key) = with_key("orders").await;
    let mut gzipped = vec![0x1f, 0x8b, 8, 0];
    gzipped.resize(4 << 20, b'x');
    let mut wire = Target::of_operator(&server).open().await;
    let head = format!(
        "POST {ORDERS_CALL} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        gzipped.len()
    );
    wire.say(head).await;
    assert_eq!(wire.answer().await.expect("an answer").status, 100);
    wire.say(&gzipped).await;
    assert_eq!(wire.answer().await.expect("an answer").status, 400);
    // The connection continues, since nothing of the body is left in it.
    wire.say("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(wire.answer_to("GET").await.expect("an answer").status, 200);
}
