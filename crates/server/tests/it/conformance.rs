//! The library of rules that integrators check servers with: this server follows every one, on each
//! engine, and none is met by answers that say nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::HeaderMap;
use http_body_util::{BodyExt, Full};
use kiosque_conformance::{
    Answer, Checked, Checker, Credentials, Effect, Mark, Outcome, Scope, Transport, all,
};
use kiosque_https_client::{HttpsClient, trust};
use kiosque_testkit::{FleetToml, OrderLine, TestServer};

const EVERY_RULE: Scope = Scope { sessions: Effect::ChangesSession, marks: Mark::Kiosque };

/// A server with two groups, devices in both, and orders.
async fn server() -> TestServer {
    let fleet = FleetToml::new()
        .group("east", "East")
        .group("west", "West")
        .cheap_account("walker", &["east", "west"])
        .product("cola", "Cola", "EUR")
        .device("E1", "First", "east")
        .device("E2", "Second", "east")
        .device("W1", "Third", "west");
    let server = TestServer::start(fleet).await;
    let line = |number| {
        let order = OrderLine::new(format!("o{number}"), "E1", "2026-01-02 03:04:05");
        order.with("tradeNo", format!("t{number}")).to_string()
    };
    server.import_valid((0..30).map(line).collect::<String>()).await;
    server
}

fn client(server: &TestServer) -> HttpsClient {
    let url = format!("https://{}", server.address).parse().unwrap();
    HttpsClient::new(url, trust(Some(server.certificate_file().as_path())).unwrap()).unwrap()
}

fn account() -> Credentials {
    Credentials { username: "walker".to_owned(), password: "secret".to_owned() }
}

fn not_met(checked: &[Checked]) -> Vec<&Checked> {
    checked.iter().filter(|it| it.outcome != Outcome::Met).collect()
}

/// The rules of `docs/interface.md` from ADDR-2 to DASH-25, in one run.
#[tokio::test]
async fn the_server_follows_every_rule() {
    let server = server().await;
    let mut checker = Checker::new(client(&server), &account(), server.now());
    let checked = checker.run(all(), EVERY_RULE).await.unwrap();
    assert_eq!((not_met(&checked).len(), checked.len()), (0, all().count()), "{checked:#?}");
}

/// Answers that say nothing: a success, and a refusal.
const EMPTY: [&str; 2] =
    [r#"{"code":200,"msg":"x","data":{}}"#, r#"{"code":-1,"msg":"x","data":"x"}"#];

/// Returns a transport that passes so many requests on, and answers all others with this body.
fn transport(client: Arc<HttpsClient>, passed: usize, body: &'static str) -> Transport {
    let sent = AtomicUsize::new(0);
    Box::new(move |request| {
        let is_passed = sent.fetch_add(1, Ordering::Relaxed) < passed;
        let client = Arc::clone(&client);
        Box::pin(async move {
            if !is_passed {
                return Ok(Answer::new(200, HeaderMap::new(), body.as_bytes()));
            }
            let response =
                client.send(request.map(Full::new)).await.map_err(|it| it.to_string())?;
            let (head, content) = response.into_parts();
            let content = content.collect().await.map_err(|it| it.to_string())?.to_bytes();
            Ok(Answer::new(head.status.as_u16(), head.headers, &content))
        })
    })
}

/// A planted bug for each rule: its calls are answered with nothing, and it is reported.
#[tokio::test]
async fn each_rule_is_broken_by_answers_that_say_nothing() {
    let server = server().await;
    let client = Arc::new(client(&server));
    // The requests before the first rule: a login, the devices, their orders, the other group.
    let survey = 4;
    for rule in all() {
        let mut broken = Vec::new();
        for body in EMPTY {
            let transport = transport(Arc::clone(&client), survey, body);
            let mut checker = Checker::over(transport, String::new(), &account(), server.now());
            let checked = checker.run([rule].into_iter(), EVERY_RULE).await.unwrap();
            let [Checked { outcome, .. }] = &checked[..] else { panic!("{checked:?}") };
            assert_ne!(*outcome, Outcome::NotShown, "{}", rule.id);
            if let Outcome::Broken(finding) = outcome {
                assert!(!finding.expected.is_empty() && finding.came.contains(body), "{finding:?}");
                broken.push(body);
            }
        }
        assert!(!broken.is_empty(), "{} is met by answers that say nothing", rule.id);
    }
}
