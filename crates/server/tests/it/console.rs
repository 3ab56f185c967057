//! The console over HTTPS, as browsers use it.

mod accounts;
mod api;
mod attacks;
mod attention;
mod changed_orders;
mod chinese;
pub(crate) mod figures;
mod intake;
mod orders;
mod pages;
mod refused;
mod sales;
mod sign_in;
mod sizes;
mod sorted;
mod sources;

use std::collections::BTreeMap;

use http::{Method, Request};
use http_body_util::Full;
use kiosque_contract::{AuditDetails, AuditEntry, RejectedOrder};
use kiosque_model::audit::AuditEvent;
use kiosque_model::{ActedBy, ConsoleSecret, KeyName, TrustedProxies};
use kiosque_server::{Settings, console_link};
use kiosque_store::{Act, AuditQuery};
use kiosque_testkit::{Client, Reply, TestServer};

pub(crate) const SIGN_IN: &str = "/console/login";
pub(crate) const SESSION: &str = "__Host-kiosque";

/// The origin that the tests use as the server's.
const HOST: &str = "ops.example:8444";

/// A browser with its cookies. It behaves as the standards demand: it stores `__Host-` cookies, and
/// sends none of them, since all are `SameSite=Strict`, with a request that another site causes.
pub(crate) struct Browser {
    client: Client,
    pub(crate) cookies: BTreeMap<String, String>,
    /// Further headers of each request.
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// The cause of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A page of the console.
    Console,
    /// The person typed the address.
    Address,
    /// A page of another site.
    OtherSite,
}

impl Cause {
    fn site(self) -> &'static str {
        match self {
            Cause::Console => "same-origin",
            Cause::Address => "none",
            Cause::OtherSite => "cross-site",
        }
    }
}

impl Browser {
    pub(crate) async fn new(server: &TestServer) -> Browser {
        Browser {
            client: server.connect_operator().await,
            cookies: BTreeMap::new(),
            headers: Vec::new(),
        }
    }

    /// Returns a browser that has signed in with a key.
    pub(crate) async fn signed_in(server: &TestServer, key: &str) -> Browser {
        let mut browser = Browser::new(server).await;
        let reply = browser.post(SIGN_IN, &[("key", key)]).await;
        assert_eq!(reply.status, 303, "{reply:?}");
        browser
    }

    /// Returns a browser that has signed in with a new key `office` of these rights.
    pub(crate) async fn with_rights(server: &TestServer, rights: &str) -> Browser {
        let key = server.create_key_named("office", rights).await;
        Browser::signed_in(server, &key).await
    }

    /// Asks for a page from a page of the console.
    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.ask(Method::GET, path, Cause::Console, "").await
    }

    /// Sends a form of the console.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.post_from(Cause::Console, path, fields).await
    }

    /// Sends a form.
    pub(crate) async fn post_from(
        &mut self,
        cause: Cause,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Reply {
        let encoded =
            |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let fields = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        let form = fields.collect::<Vec<_>>().join("&");
        self.ask(Method::POST, path, cause, &form).await
    }

    /// Opens a page, and follows where it leads. Returns the last path and its response.
    pub(crate) async fn open(&mut self, path: &str, mut cause: Cause) -> (String, Reply) {
        let mut path = path.to_owned();
        for _ in 0..6 {
            let reply = self.ask(Method::GET, &path, cause, "").await;
            if let Some(refresh) = reply.headers.get("refresh") {
                assert_eq!(reply.status, 200);
                // The page itself causes the next request.
                (path, cause) =
                    (refresh.strip_prefix("0; url=").unwrap().to_owned(), Cause::Console);
            } else if reply.status == 303 {
                path = reply.headers["location"].clone();
            } else {
                return (path, reply);
            }
        }
        panic!("{path} leads in a circle");
    }

    /// Sends any request.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        cause: Cause,
        body: &str,
    ) -> Reply {
        let mut headers = vec![("sec-fetch-site", cause.site().to_owned())];
        if cause != Cause::OtherSite && !self.cookies.is_empty() {
            headers.push(("cookie", self.cookie_field()));
        }
        self.send(method, path, &headers, body).await
    }

    /// Returns the cookies as a browser sends them.
    pub(crate) fn cookie_field(&self) -> String {
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        cookies.collect::<Vec<_>>().join("; ")
    }

    /// Sends a request with these headers, and stores the cookies of the response.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&'static str, String)],
        body: &str,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path).header("host", HOST);
        for (name, value) in headers.iter().chain(&self.headers) {
            request = request.header(*name, value);
        }
        let body = Full::from(body.to_owned());
        let reply = self.client.send(request.body(body).unwrap()).await;
        if let Some(field) = reply.headers.get("set-cookie") {
            self.store_cookie(field);
        }
        reply
    }

    fn store_cookie(&mut self, field: &str) {
        let (cookie, attributes) = field.split_once("; ").unwrap();
        let (name, value) = cookie.split_once('=').unwrap();
        let rest = attributes.strip_prefix("Path=/; Secure; HttpOnly; SameSite=Strict");
        let rest = rest.unwrap_or_else(|| panic!("the attributes of {field}"));
        assert!(name.starts_with("__Host-"), "{field}");
        match rest {
            "; Max-Age=0" => self.cookies.remove(name),
            _ => self.cookies.insert(name.to_owned(), value.to_owned()),
        };
    }
}

/// Starts a server with a fleet, and signs a browser in with a key `office` of these rights.
pub(crate) async fn signed_in_with(fleet: impl AsRef<str>, rights: &str) -> (TestServer, Browser) {
    let server = TestServer::start(fleet).await;
    let browser = Browser::with_rights(&server, rights).await;
    (server, browser)
}

/// Returns the settings of a server behind a proxy on this machine.
pub(crate) fn behind_proxy(settings: &mut Settings) {
    settings.trusted_proxies = TrustedProxies::parse(["127.0.0.1"]).unwrap();
}

/// Creates a link of a key like `kiosque console-link`. Returns its path and query, and its token.
pub(crate) async fn link(server: &TestServer, key_name: &str) -> (String, String) {
    let token = ConsoleSecret::mint(kiosque_clock::Entropy::system().bytes().unwrap());
    let name = KeyName::parse(key_name).unwrap();
    let by = ActedBy::command(server.now());
    assert!(server.store.operators().create_link(name, token.digest(), by).await.unwrap());
    let link = console_link("https://ops.example:8444", &token);
    let path = link.strip_prefix("https://ops.example:8444").unwrap().to_owned();
    (path, token.reveal().to_owned())
}

pub(crate) async fn revoke(server: &TestServer, key_name: &str) {
    let (name, by) = (KeyName::parse(key_name).unwrap(), ActedBy::command(server.now()));
    assert!(server.store.operators().revoke_key(name, by).await.unwrap());
}

/// Records an import that rejected these lines.
async fn record_import(server: &TestServer, rejected: Vec<RejectedOrder>) {
    let by = || ActedBy::command(server.now());
    let number = server.store.intake().begin_import(by()).await.unwrap();
    let count = Some(rejected.len() as u64);
    let details = AuditDetails { rejected: count, ..AuditDetails::default() };
    let act = Act::new(AuditEvent::OrdersImported, details);
    server.store.intake().end_import(number, act, rejected, by()).await.unwrap();
}

/// Returns the entries of the audit trail whose events begin with a text, the oldest first: event,
/// actor, source, detail and count.
pub(crate) async fn trail(server: &TestServer, events: &str) -> Vec<String> {
    server.flush_refused_logins().await;
    let page = server.store.trail().entries(AuditQuery::latest(1_000)).await.unwrap();
    let entries = page.entries.into_iter().rev().filter(|entry| entry.event.starts_with(events));
    let text = |AuditEntry { event, actor, source, detail, count, .. }: AuditEntry| {
        let [actor, source, detail] = [actor, source, detail].map(Option::unwrap_or_default);
        format!("{event}|{actor}|{source}|{detail}|{count}")
    };
    entries.map(text).collect()
}

/// Returns the number of stored sessions, and of links that are not spent.
pub(crate) fn sessions(server: &TestServer) -> usize {
    server.data.rows().iter().filter(|row| row.starts_with("console_sessions")).count()
}
