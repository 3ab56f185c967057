//! Compressed answers (ENV-14). `dashboard/large` has those that break off (ENV-15).

use http_body_util::Full;
use kiosque_testkit::{
    AISLE_PATH, DEVICES_PATH, FleetToml, PROFILE_PATH, Reply, Rng, SWITCH_PATH, TOKEN_PATH,
    TestRequest, TestServer,
};

const CODINGS: [&str; 2] = ["gzip", "zstd"];

/// A group of this many kiosks with 30 aisles each, of products, prices and stocks that differ.
fn kiosks(count: usize) -> FleetToml {
    let mut rng = Rng::seeded(14);
    let mut fleet = FleetToml::new().group("g1", "Kiosks").cheap_account("ops", &["g1"]);
    for product in 0..60 {
        let name = format!("Product {} of {product}", rng.below(10_000));
        fleet = fleet.product(&format!("P{}", 1_000 + product), &name, "EUR");
    }
    for number in 0..count {
        let name = format!("Kiosk {} of {number}", rng.below(100_000));
        let aisles: Vec<String> = (0..30)
            .map(|aisle| {
                let (product, price) = (1_000 + rng.below(60), 100 + 5 * rng.below(100));
                format!(
                    r#"{{ code = "{}{:02}", product = "P{product}", price = {price}, capacity = {},
                        stock = {}, layer = {} }}"#,
                    1 + aisle / 10,
                    aisle % 10,
                    8 + rng.below(8),
                    rng.below(8),
                    1 + aisle / 10,
                )
            })
            .collect();
        fleet = fleet
            .device(&format!("K-{number:04}"), &name, "g1")
            .with(&format!("aisle = [{}]", aisles.join(",\n")));
    }
    fleet
}

fn ask(path: &str, token: &str, coding: &str) -> TestRequest {
    TestRequest::to(path).token(token).header("accept-encoding", coding)
}

fn coding(reply: &Reply) -> Option<&str> {
    reply.headers.get("content-encoding").map(String::as_str)
}

fn varies(reply: &Reply) -> bool {
    reply.headers.get("vary").is_some_and(|vary| vary == "accept-encoding")
}

/// ENV-14: a long list takes a tenth of its bytes, and is the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_aisles_arrives_in_a_tenth_of_its_bytes() {
    let (server, token) = TestServer::start_for_ops(kiosks(300)).await;
    let plain = TestRequest::to(AISLE_PATH).token(&token).send(&server).await;
    assert_eq!((coding(&plain), varies(&plain)), (None, true));
    assert_eq!(plain.sent_bytes, plain.text.len());
    assert!(plain.sent_bytes > 1 << 20, "{} bytes are not sent in parts", plain.sent_bytes);
    for accepted in CODINGS {
        let reply = ask(AISLE_PATH, &token, accepted).send(&server).await;
        assert_eq!((coding(&reply), varies(&reply)), (Some(accepted), true));
        assert_eq!(reply.headers.get("content-length"), None);
        assert_eq!(reply.text, plain.text);
        let (sent, all) = (reply.sent_bytes, plain.sent_bytes);
        assert!(sent * 10 <= all, "{accepted}: {sent} bytes of {all}");

        let reply = ask(AISLE_PATH, &token, accepted).send_over_http2(&server).await;
        assert_eq!((coding(&reply), &reply.text), (Some(accepted), &plain.text));
    }
    assert_eq!(server.app.load().large_answers, 0);
}

/// ENV-14: whole answers, by the weights of the caller, if they are long enough.
#[tokio::test]
async fn pages_are_compressed_as_the_caller_prefers() {
    let (server, token) = TestServer::start_for_ops(kiosks(40)).await;
    let plain = TestRequest::to(DEVICES_PATH).token(&token).send(&server).await;
    for (accepted, want) in [
        (&["gzip"][..], Some("gzip")),
        (&["zstd"], Some("zstd")),
        (&["gzip, deflate, br, zstd"], Some("zstd")),
        (&["gzip", "zstd"], Some("zstd")),
        (&["zstd;q=0.5, gzip"], Some("gzip")),
        (&["GZIP;Q=0.4,zstd; q=0.5"], Some("zstd")),
        (&["x-gzip"], Some("gzip")),
        (&["*"], Some("gzip")),
        (&["*, gzip;q=0"], None),
        (&["gzip;q=0, *;q=0"], None),
        (&["zstd;q=0, *;q=0.1"], Some("gzip")),
        (&["identity, gzip;q=0.5"], None),
        (&["identity;q=0.5, gzip"], Some("gzip")),
        (&["identity, gzip"], Some("gzip")),
        (&["gzip;q=0"], None),
        (&["gzip;q=nan"], None),
        (&["gzip;q=1.5"], None),
        (&["gzip;level=1"], None),
        (&["deflate, br"], None),
        (&["", ",;,"], None),
        (&[""], None),
    ] {
        let request = TestRequest::to(DEVICES_PATH).token(&token);
        let add = |request: TestRequest, value| request.header("accept-encoding", value);
        let reply = accepted.iter().fold(request, add).send(&server).await;
        assert_eq!((coding(&reply), varies(&reply)), (want, true), "{accepted:?}");
        assert_eq!(reply.text, plain.text, "{accepted:?}");
        assert_eq!(reply.headers["content-length"], reply.sent_bytes.to_string(), "{accepted:?}");
        assert_eq!(reply.sent_bytes < plain.sent_bytes, want.is_some(), "{accepted:?}");
    }
    let short = ask(DEVICES_PATH, &token, "gzip").query("size=1").send(&server).await;
    assert_eq!((coding(&short), varies(&short)), (None, false), "{short:?}");
    let long = r#"{"deviceCodes":["K-0000"],"x":1}"#;
    let short = ask(PROFILE_PATH, &token, "zstd").body(long).send(&server).await;
    assert_eq!((coding(&short), varies(&short)), (None, false), "{short:?}");
    assert_eq!(server.app.load().unread_bytes, 0);
}

/// ENV-14: an answer with a token is never compressed, however long it is.
#[tokio::test]
async fn answers_with_a_token_are_not_compressed() {
    let groups: Vec<String> = (0..100).map(|number| format!("group-{number}")).collect();
    let mut fleet = FleetToml::new();
    for group in &groups {
        fleet = fleet.group(group, "Group");
    }
    let server = TestServer::start(fleet.cheap_account("ops", &groups)).await;
    let login = r#"{"username":"ops","password":"secret"}"#;
    let login = TestRequest::to(TOKEN_PATH).header("accept-encoding", "gzip").body(login);
    let login = login.send(&server).await;
    let token = login.data()["accessToken"].as_str().unwrap().to_owned();
    let switch = ask(SWITCH_PATH, &token, "gzip").body(r#"{"groupId":"group-7"}"#);
    for reply in [login, switch.send(&server).await] {
        assert!(reply.success()["switchableGroups"].as_array().unwrap().len() == 100);
        assert!(reply.sent_bytes > 4 << 10);
        assert_eq!((coding(&reply), varies(&reply)), (None, false));
    }
}

/// The operator's listener compresses as well.
#[tokio::test]
async fn answers_to_the_operator_are_compressed() {
    let server = TestServer::start(kiosks(40)).await;
    let key = server.create_key("read").await;
    for call in ["/operator/v1/devices", "/operator/v1/fleet", "/metrics"] {
        let get = |accepted: &'static str| {
            let request = http::Request::get(call).header("host", "localhost");
            let request = request.header("authorization", format!("Bearer {key}"));
            request.header("accept-encoding", accepted).body(Full::default()).unwrap()
        };
        let mut client = server.connect_operator().await;
        let (plain, gzip) = (client.send(get("identity")).await, client.send(get("gzip")).await);
        assert_eq!((coding(&plain), coding(&gzip)), (None, Some("gzip")), "{call}");
        assert!(gzip.sent_bytes * 2 < plain.sent_bytes, "{call}");
        assert!(call == "/metrics" || plain.text == gzip.text, "{call}");
    }
}
