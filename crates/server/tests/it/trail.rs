//! The audit trail over HTTP: `GET /operator/v1/audit` answers with
//! `{"entries":[…],"next":cursor}`, newest first, and takes the filters `account`, `sinceTimestamp`
//! and `limit`. Entries record logins, switches, log outs, refused logins and replaced sessions,
//! with address, time and request id, and every change of the fleet.

use std::time::Duration;

use kiosque_model::TrustedProxies;
use kiosque_store::Error;
use kiosque_testkit::{
    FleetToml, LOGOUT_PATH, LoggedIn, Reply, SWITCH_PATH, TOKEN_PATH, TestRequest, TestServer,
};
use serde_json::Value;

fn fleet() -> FleetToml {
    FleetToml::new()
        .group("harbour", "Harbour")
        .group("station", "Station")
        .account("ops", &["harbour", "station"])
        .no_api_account("no-api", &["harbour"])
}

const NEAR: &str = "198.51.100.1";
const FAR: &str = "2001:db8::7";
const GUESSER: &str = "203.0.113.9";

/// A server behind a trusted proxy, with a key for the operator's listener.
struct Watched {
    server: TestServer,
    key: String,
    requests: Vec<(String, &'static str)>,
}

impl Watched {
    async fn open() -> Watched {
        let server = TestServer::start_with(fleet(), |settings| {
            settings.trusted_proxies = TrustedProxies::parse(["127.0.0.0/8"]).unwrap();
        })
        .await;
        let key = server.create_key_named("auditor", "audit").await;
        Watched { server, key, requests: Vec::new() }
    }

    /// Sends a call of an integrator from an address, and records its request id under a name.
    async fn call(&mut self, named: &'static str, source: &str, ask: TestRequest) -> Reply {
        let chain = format!("192.0.2.99, {source}, 127.0.0.2");
        let reply = ask.header("x-forwarded-for", chain).send(&self.server).await;
        self.requests.push((reply.headers["x-request-id"].clone(), named));
        self.server.advance(Duration::from_millis(1));
        reply
    }

    async fn log_in(
        &mut self,
        named: &'static str,
        source: &str,
        (name, password): (&str, &str),
    ) -> Reply {
        let body = format!(r#"{{"username":"{name}","password":"{password}"}}"#);
        self.call(named, source, TestRequest::to(TOKEN_PATH).body(body)).await
    }

    async fn get(&self, query: &str) -> Reply {
        self.server.get_operator(&format!("/operator/v1/audit?{query}"), Some(&self.key)).await
    }

    /// Returns the trail with the names of requests instead of their ids, which checks the ids.
    async fn trail(&self, query: &str) -> Value {
        let reply = self.get(query).await;
        assert_eq!(
            (reply.status, reply.headers["content-type"].as_str()),
            (200, "application/json")
        );
        assert_eq!(reply.headers["cache-control"], "no-store");
        let mut text = reply.text;
        for (id, named) in &self.requests {
            text = text.replace(&format!("\"{id}\""), &format!("\"[{named}]\""));
        }
        serde_json::from_str(&text).unwrap()
    }
}

/// The entries of an account's day, all of them.
#[tokio::test]
async fn the_audit_trail_has_actor_event_and_source() {
    let mut watched = Watched::open().await;
    let first = LoggedIn::of(&watched.log_in("login", NEAR, ("ops", "secret")).await).token;
    for (named, password) in
        [("guess 1", "a"), ("guess 2", "b"), ("guess 3", "c"), ("guess 4", "d"), ("guess 5", "e")]
    {
        watched.log_in(named, GUESSER, ("ops", password)).await;
    }
    for named in ["typed 1", "typed 2"] {
        assert_eq!(watched.log_in(named, GUESSER, ("S3cret-as-a-name", "x")).await.code(), -2);
    }
    assert_eq!(watched.log_in("no api", NEAR, ("no-api", "secret")).await.code(), -1);
    watched.server.flush_refused_logins().await;
    let switch = TestRequest::to(SWITCH_PATH).token(&first).body(r#"{"groupId":"station"}"#);
    let second = LoggedIn::of(&watched.call("switch", NEAR, switch).await).token;
    let third = LoggedIn::of(&watched.log_in("login again", FAR, ("ops", "secret")).await).token;
    let stale = TestRequest::to(LOGOUT_PATH).token(&second);
    assert_eq!(watched.call("stale", NEAR, stale).await.code(), -4);
    assert_eq!(
        watched.call("log out", FAR, TestRequest::to(LOGOUT_PATH).token(&third)).await.code(),
        200
    );
    watched.log_in("last login", NEAR, ("ops", "secret")).await;
    watched.server.advance(Duration::from_secs(60));
    watched.server.flush_refused_logins().await;
    let changed = "[[account]]\nlogin_name = \"ops\"\npassword = \"other\"";
    assert_eq!(watched.server.apply(changed).await.unwrap().counts.sessions_ended, 1);

    // The same over the operator's listener, which has no proxy in front of it.
    let key = watched.server.create_key_named("filler", "fleet").await;
    let fleet = r#"{"group":[{"id":"harbour","name":"New harbour"}]}"#;
    let reply = watched.server.call_operator("/operator/v1/fleet", Some(&key), fleet).await;
    watched.requests.push((reply.headers["x-request-id"].clone(), "fleet"));

    insta::assert_json_snapshot!("a_trail", watched.trail("").await);
    insta::assert_json_snapshot!(
        "a_page_of_an_account",
        watched.trail("account=ops&limit=2&sinceTimestamp=1772445600000").await
    );
}

/// A refused login whose entry could not be written, or perhaps was, is in the trail once, before
/// later ones.
#[tokio::test]
async fn an_entry_that_fails_is_written_later() {
    let mut watched = Watched::open().await;
    let mut expected = Vec::new();
    for round in 0.. {
        let sources = [2 * round, 2 * round + 1].map(|number| format!("203.0.113.{number}"));
        watched.log_in("first", &sources[0], ("ops", "wrong")).await;
        watched.server.store.engine().faults().arm(Some((round, || Error::Gone)));
        watched.server.app.refused_logins().flush_all(&watched.server.store).await;
        let is_over = watched.server.store.engine().faults().arm(None);
        watched.log_in("second", &sources[1], ("ops", "wrong")).await;
        watched.server.app.refused_logins().flush_all(&watched.server.store).await;
        expected.extend(sources);
        let trail = watched.trail("account=ops").await;
        let entries = trail["entries"].as_array().unwrap().iter().rev();
        let written: Vec<&str> = entries.map(|entry| entry["source"].as_str().unwrap()).collect();
        assert_eq!(written, expected, "after {round} statements");
        if is_over {
            break;
        }
    }
}

/// LIM-7: unless the operator trusts a proxy, its header is ignored, and the peer of the connection
/// is the source.
#[tokio::test]
async fn only_configured_proxies_are_trusted() {
    let server = TestServer::start(fleet()).await;
    let body = r#"{"username":"ops","password":"secret"}"#;
    TestRequest::to(TOKEN_PATH).body(body).header("x-forwarded-for", FAR).send(&server).await;
    let ask = kiosque_store::AuditQuery::latest(1);
    let last = server.store.trail().entries(ask).await.unwrap().entries.remove(0);
    assert_eq!(last.source.as_deref(), Some("127.0.0.1"));
}
