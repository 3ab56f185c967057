//! The library of rules that integrators check servers with: this server follows every one, on each
//! engine, and none is met by answers that say nothing.

mod other_servers;
mod plant;
mod plants;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use http::HeaderMap;
use kiosque_conformance::{
    Answer, Checked, Checker, Credentials, Effect, Mark, Outcome, Scope, Transport, all,
};
use kiosque_https_client::{HttpsClient, trust};
use kiosque_testkit::{FleetToml, OrderLine, ServerOptions, TestServer};
use plant::Plant;

const CONTRACT: Scope = Scope { sessions: Effect::ChangesSession, marks: Mark::Contract };
const EVERY_RULE: Scope = Scope { sessions: Effect::ChangesSession, marks: Mark::Kiosque };

/// A server with three groups that have devices and orders, and an empty one. `accounts` is the
/// number of pairs of accounts: `walker0` has two of the groups, with the empty one between them,
/// `other0` the third, and so on.
async fn server(accounts: usize) -> TestServer {
    server_with(accounts, ServerOptions::default()).await
}

async fn server_with(accounts: usize, options: ServerOptions) -> TestServer {
    let mut fleet = FleetToml::new()
        .group("east", "East")
        .group("empty", "Empty")
        .group("west", "West")
        .product("cola", "Cola", "EUR")
        .device("E1", "First", "east")
        .device("E2", "Second", "east")
        .device("W1", "Third", "west")
        .group("north", "North")
        .device("N1", "Fourth", "north");
    for number in 0..accounts {
        fleet = fleet.cheap_account(&format!("walker{number}"), &["east", "empty", "west"]);
        fleet = fleet.cheap_account(&format!("other{number}"), &["north"]);
    }
    let server = TestServer::start_on(fleet, options).await;
    server.set_rates(&[("EUR", "2026-01-01", "1.5")]).await;
    let order = |id: String, device, (goods, price): (&str, i64)| {
        let number = id.replace('o', "t");
        let lines = serde_json::json!([{"goodsId": goods, "salePrice": price}]);
        let order = OrderLine::new(id, device, "2026-03-01 10:00:00").amount("EUR", price);
        let order = order.paid("2026-03-01 10:00:20").with("tradeNo", number);
        order.with("detailVOList", lines).to_string()
    };
    let first = (0..30).map(|number| order(format!("o{number}"), "E1", ("cola", 200)));
    let second = (30..35).map(|number| order(format!("o{number}"), "E2", ("water", 100)));
    let others = [("n1", "N1"), ("w1", "W1")];
    let others = others.map(|(id, device)| order(id.to_owned(), device, ("cola", 200)));
    // The newest orders of E1: one is unpaid and has no trade number, one has a shipment error.
    let unpaid = OrderLine::new("o35", "E1", "2026-03-01 11:00:00").to_string();
    let failed = OrderLine::new("o36", "E1", "2026-03-01 12:00:00").amount("EUR", 300);
    let failed = failed.paid("2026-03-01 12:00:20").with("tradeNo", "t36");
    let lines = serde_json::json!([
        {"goodsId": "cola", "salePrice": 200, "shipmentStatus": 1},
        {"goodsId": "water", "salePrice": 100, "shipmentStatus": 3, "shipmentErrCode": 17,
            "shipmentFailDesc": "jam"},
        {"goodsId": "water", "salePrice": 100, "shipmentErrCode": 17},
    ]);
    let special = [unpaid, failed.with("detailVOList", lines).to_string()];
    let orders = first.chain(second).chain(others).chain(special);
    server.import_valid(orders.collect::<String>()).await;
    server
}

fn client(server: &TestServer) -> HttpsClient {
    let url = format!("https://{}", server.address).parse().unwrap();
    HttpsClient::new(url, trust(Some(server.certificate_file().as_path())).unwrap()).unwrap()
}

/// Returns a pair of accounts.
fn accounts(number: usize) -> [Credentials; 2] {
    let named = |username| Credentials { username, password: "secret".to_owned() };
    [format!("walker{number}"), format!("other{number}")].map(named)
}

fn not_met(checked: &[Checked]) -> Vec<&Checked> {
    checked.iter().filter(|it| it.outcome != Outcome::Met).collect()
}

/// Moves a device from the default group to the other one, as its first. It remains in the scope of
/// the default group (SCOPE-6).
async fn move_a_device(server: &TestServer) {
    for group in ["east", "west"] {
        let moved = format!("[[device]]\ncode = \"M1\"\nname = \"Moved\"\ngroup = \"{group}\"\n");
        server.apply(moved).await.unwrap();
    }
}

/// The rules of `docs/interface.md` from ADDR-2 to DASH-25, in one run. No other test has REQ-2 and
/// REQ-5.
#[tokio::test]
async fn the_server_follows_every_rule() {
    let server = server(1).await;
    move_a_device(&server).await;
    let [first, second] = &accounts(0);
    let mut checker = Checker::new(client(&server), first, server.now()).with_second(second);
    let checked = checker.run(all(), EVERY_RULE).await.unwrap();
    assert_eq!((not_met(&checked).len(), checked.len()), (0, all().count()), "{checked:#?}");
}

/// A largest page below the default is found: the rules expect the devices that there are, and
/// report the sizes of PAGE-1 and PAGE-2 alone.
#[tokio::test]
async fn a_server_with_a_small_largest_page_breaks_no_rule_of_its_devices() {
    for page_size_max in [5, 1] {
        let mut options = ServerOptions::default();
        options.settings.limits.page_size_max = page_size_max;
        let server = server_with(1, options).await;
        move_a_device(&server).await;
        let [first, second] = &accounts(0);
        let mut checker = Checker::new(client(&server), first, server.now()).with_second(second);
        let checked = checker.run(all(), EVERY_RULE).await.unwrap();
        let broken = checked.iter().filter(|it| matches!(it.outcome, Outcome::Broken(_)));
        let broken: Vec<_> = broken.map(|it| it.rule.id).collect();
        assert_eq!(broken, ["pages.defaults", "pages.positive"], "{page_size_max}: {checked:#?}");
    }
}

/// Answers that say nothing: a success, and a refusal.
const EMPTY: [&str; 2] =
    [r#"{"code":200,"msg":"x","data":{}}"#, r#"{"code":-1,"msg":"x","data":"x"}"#];

/// Returns a transport that passes this many requests on, and answers all others with this body.
fn transport(client: Arc<HttpsClient>, passed: usize, body: &'static str) -> Transport {
    let sent = AtomicUsize::new(0);
    Box::new(move |request| {
        let is_passed = sent.fetch_add(1, Ordering::Relaxed) < passed;
        let client = Arc::clone(&client);
        Box::pin(async move {
            if !is_passed {
                return Ok(Answer::new(200, HeaderMap::new(), body.as_bytes()));
            }
            let response = client.exchange(request).await.map_err(|it| it.to_string())?;
            let (head, content) = response.into_parts();
            Ok(Answer::new(head.status.as_u16(), head.headers, &content))
        })
    })
}

/// A planted bug for each rule: its calls are answered with nothing, and it is reported.
#[tokio::test]
async fn each_rule_is_broken_by_answers_that_say_nothing() {
    let server = server(1).await;
    let client = Arc::new(client(&server));
    // The requests before the first rule: for each account a login, the devices and their orders,
    // and for the first one the devices of its other group, and the orders of one of them.
    let survey = 8;
    for rule in all() {
        let mut broken = Vec::new();
        for body in EMPTY {
            let transport = transport(Arc::clone(&client), survey, body);
            let [first, second] = &accounts(0);
            let checker = Checker::over(transport, String::new(), first, server.now());
            let mut checker = checker.with_second(second);
            let checked = checker.run([rule].into_iter(), EVERY_RULE).await.unwrap();
            let [Checked { outcome, .. }] = &checked[..] else { panic!("{checked:?}") };
            if let Outcome::Broken(finding) = outcome {
                assert!(!finding.expected.is_empty() && finding.came.contains(body), "{finding:?}");
                broken.push(body);
            }
        }
        assert!(!broken.is_empty(), "{} is met by answers that say nothing", rule.id);
    }
}

/// Each bug between the checker and a real server is reported by exactly the rules that it breaks;
/// each rule is broken by a bug.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planted_bugs_are_reported_by_exactly_the_rules_that_they_break() {
    let plants = plants::all();
    let broken = broken(plants.iter().map(|plant| vec![plant]).collect(), EVERY_RULE).await;
    let ids = |broken: &[Checked]| broken.iter().map(|it| it.rule.id).collect::<Vec<_>>();
    let planted: BTreeSet<&str> = broken.iter().flat_map(|broken| ids(broken)).collect();
    let without: Vec<&str> = all().map(|it| it.id).filter(|id| !planted.contains(id)).collect();
    assert_eq!(without, [""; 0], "rules that no bug breaks");
    for (plant, broken) in plants.iter().zip(&broken) {
        assert!(!broken.is_empty(), "no rule reports {}", plant.bug);
        println!("{}: {broken:#?}", plant.bug);
    }
    let lines = plants.iter().zip(&broken);
    let lines = lines.map(|(plant, broken)| format!("{}: {}\n", plant.bug, ids(broken).join(", ")));
    insta::assert_snapshot!("planted_bugs", lines.collect::<String>());
}

/// Servers that follow the contract in another way, where it leaves a choice, break none of its
/// rules: each choice by itself, and all of them at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_contract_leaves_open_breaks_no_rule_of_it() {
    let others = other_servers::all();
    let each = others.iter().map(|other| vec![other]);
    let broken = broken(each.chain([others.iter().collect()]).collect(), CONTRACT).await;
    for (number, broken) in broken.iter().enumerate() {
        assert!(broken.is_empty(), "{:?}: {broken:#?}", others.get(number).map(|it| it.bug));
    }
}

/// Checks a server through each of these sets of plants, and returns the rules that each breaks.
async fn broken(sets: Vec<Vec<&Plant>>, scope: Scope) -> Vec<Vec<Checked>> {
    let server = server(sets.len()).await;
    let (client, start) = (Arc::new(client(&server)), server.now());
    let checks = sets.into_iter().enumerate().map(|(number, plants)| {
        // Checks with different times try different unknown names, whose failures are limited.
        let now = start.plus_ms(i64::try_from(number).unwrap());
        plant::broken(Arc::clone(&client), plants, accounts(number), now, scope)
    });
    stream::iter(checks).buffered(4).collect().await
}
