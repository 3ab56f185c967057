//! The reference of the calls, and the forms that try one.

use kiosque_contract::operator_call::CallMethod;
use kiosque_contract::{ENDPOINTS, Endpoint, OPERATOR_CALLS, TOKEN_HEADER, endpoint};
use kiosque_testkit::{DEVICES_PATH, Reply, TestRequest, TestServer, between, card};
use serde_json::Value;

use super::{Browser, behind_proxy, signed_in_with, trail};
use crate::operator::{fleet, line};

const API: &str = "/console/api";
/// The most bytes of a page.
const PAGE_MAX_BYTES: usize = 60 << 10;

/// Returns the path of the page of a call, by the name of its type.
fn page_of(document: &str, name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{API}/{document}/{}{rest}", first.to_lowercase())
}

fn text_of(html: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    entities.iter().fold(html.to_owned(), |text, (entity, c)| text.replace(entity, c))
}

/// Returns the text of the element with an id.
fn element(page: &Reply, id: &str) -> String {
    let (_, rest) = page.text.split_once(&format!("<pre id=\"{id}\" tabindex=\"0\">")).expect(id);
    text_of(rest.split_once("</pre>").unwrap().0)
}

fn body(page: &Reply) -> Value {
    assert_eq!(page.status, 200, "{page:?}");
    serde_json::from_str(&element(page, "body")).unwrap()
}

/// Addresses are the listener's, and break after slashes. The calls of the operator begin
/// with those that need a key. The summaries are in the language of the page.
#[tokio::test]
async fn the_list_has_whole_addresses_and_summaries_in_both_languages() {
    let (_server, mut browser) = signed_in_with(fleet(), "read").await;
    let list = browser.get(API).await.text;
    let address = "<code class=\"path\">POST <span>/</span><wbr><span>v8/</span><wbr>\
                   <span>third-center-web/</span><wbr>";
    assert!(list.contains(address), "{list}");
    assert!(browser.get(&page_of("integrator", "DevicePage")).await.text.contains(address));
    let operator = between(card(&list, "operator"), "<th scope=\"row\"><a href=\"", "</a>");
    let ids: Vec<&str> = operator.iter().map(|link| link.split('>').nth(1).unwrap()).collect();
    assert_eq!(ids[0], "listAccounts");
    assert_eq!(ids[ids.len() - 4..], ["livez", "metrics", "readyz", "readyzOrders"]);
    assert!(list.contains("<td class=\"long\">Logs out.</td>"), "{list}");
    browser.headers.push(("accept-language", "zh-CN".to_owned()));
    for path in [API.to_owned(), page_of("integrator", "LogOut")] {
        let page = browser.get(&path).await.text;
        assert!(page.contains(">退出登录。</"), "{page}");
    }
}

/// The snippets use the paths of the tables, and the address of the listener.
#[tokio::test]
async fn every_call_of_both_documents_has_a_page_with_its_path() {
    let (server, mut browser) = signed_in_with(fleet(), "read").await;
    let list = browser.get(API).await.text;
    let gateway = format!("https://{}", server.address);
    let operator = "https://ops.example:8444";
    let integrators = ENDPOINTS
        .iter()
        .map(|one| ("integrator", one.name, one.summary, gateway.as_str(), one.route));
    let operators =
        OPERATOR_CALLS.iter().map(|one| ("operator", one.name, one.summary, operator, one.path));
    for (document, name, summary, server, route) in integrators.chain(operators) {
        let path = page_of(document, name);
        assert!(list.contains(&format!("href=\"{path}\"")), "no link to {path}");
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text.len() <= PAGE_MAX_BYTES, "{path}: {} bytes", page.text.len());
        let words = summary.split(['`', '\'']).next().unwrap();
        assert!(page.text.contains(words), "{path} lacks {words}");
        let url = format!("{server}{route}");
        for id in ["curl", "python"] {
            let snippet = element(&page, id);
            let rest = snippet.split_once(&url).expect(&snippet).1;
            assert!(rest.starts_with(['\'', '"', '?']), "{snippet}");
        }
    }
    for absent in ["integrator/none", "operator/logIn", "none/logIn", "integrator", "none.json"] {
        assert_eq!(browser.get(&format!("{API}/{absent}")).await.status, 404, "{absent}");
    }
    let file = browser.get(&format!("{API}/openapi.json")).await;
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"openapi.json\"");
    assert_eq!(file.json["servers"][0]["url"], format!("{gateway}/v8"));
    assert_eq!(file.json["paths"].as_object().unwrap().len(), ENDPOINTS.len());
}

#[tokio::test]
async fn a_read_that_is_tried_has_the_body_of_the_call() {
    let server = TestServer::start(fleet()).await;
    server.import_valid(line("o1", 100)).await;
    let key = server.create_key_named("office", "read,audit").await;
    let mut browser = Browser::signed_in(&server, &key).await;
    let fields = [("deviceCode", "D1"), ("group", "g1"), ("limit", "1")];
    for call in OPERATOR_CALLS.iter().filter(|call| call.method == CallMethod::Get) {
        let tried = browser.post(&page_of("operator", call.name), &fields).await;
        assert_eq!(tried.status, 200, "{}: {tried:?}", call.path);
        assert!(tried.text.contains("<b>200 OK</b>"), "{}: {}", call.path, tried.text);
        assert!(tried.text.len() <= PAGE_MAX_BYTES, "{}", tried.text.len());
        // A form has the parameters of its call, and a call refuses others.
        let takes: &[&str] = match call.path {
            "/operator/v1/status" => &[],
            "/operator/v1/device" => &["deviceCode"],
            "/operator/v1/changes" => &["group"],
            "/operator/v1/orders" => &["deviceCode", "limit"],
            _ => &["limit"],
        };
        let query = fields.iter().filter(|(name, _)| takes.contains(name));
        let query: Vec<String> = query.map(|(name, value)| format!("{name}={value}")).collect();
        let path = format!("{}?{}", call.path, query.join("&"));
        let called = server.get_operator(&path, Some(&key)).await;
        match call.path {
            // It counts these requests.
            "/metrics" => assert!(element(&tried, "body").starts_with("# HELP ")),
            // Other tests write to the same database meanwhile.
            "/operator/v1/status" => {
                let of_status = |mut status: Value| {
                    status.as_object_mut().unwrap().remove("databaseBytes").unwrap();
                    status
                };
                assert_eq!(of_status(body(&tried)), of_status(called.json));
            }
            _ if call.right.is_none() => assert_eq!(element(&tried, "body"), called.text),
            _ => assert_eq!(body(&tried), called.json, "{}", call.path),
        }
    }
    // What was typed is there again.
    let tried = browser.post(&page_of("operator", "ListDevices"), &fields).await;
    assert!(tried.text.contains("name=\"limit\" value=\"1\""), "{}", tried.text);
    // An error in a parameter is answered as by the call.
    let tried = browser.post(&page_of("operator", "ListDevices"), &[("limit", "0")]).await;
    assert!(tried.text.contains("<b>400 Bad Request</b>"), "{}", tried.text);
    assert_eq!(body(&tried)["faults"][0], "limit must be from 1 to 1000");
}

#[tokio::test]
async fn a_call_that_is_tried_has_the_rights_of_the_signed_in_key() {
    let server = TestServer::start(fleet()).await;
    let mut browser = Browser::with_rights(&server, "read,orders,fleet").await;
    let tried = browser.post(&page_of("operator", "ListAudit"), &[]).await;
    assert!(tried.text.contains("<b>403 Forbidden</b>"), "{}", tried.text);
    assert_eq!(body(&tried)["detail"], "the key office does not have the right audit");
    // Calls that change orders or the fleet are not run, even with the right.
    for name in ["ReceiveOrders", "ReceiveActivity", "ApplyFleet"] {
        let refused = browser.post(&page_of("operator", name), &[("body", "{}")]).await;
        assert_eq!((refused.status, refused.headers["allow"].as_str()), (405, "GET, HEAD"));
        let page = browser.get(&page_of("operator", name)).await.text;
        assert!(!page.contains("class=\"try\""), "{page}");
    }
    let other = server.create_key_named("other", "audit").await;
    let mut browser = Browser::signed_in(&server, &other).await;
    for path in [API, "/console/api/operator/listAudit", "/console/api/openapi.json"] {
        assert_eq!(browser.get(path).await.status, 403, "{path}");
    }
    assert_eq!(browser.post(&page_of("operator", "ListAudit"), &[]).await.status, 403);
}

#[tokio::test]
async fn a_call_of_integrators_that_is_tried_has_the_body_of_the_call() {
    let server = TestServer::start(fleet().device("D3", "<b>x</b>", "g1")).await;
    server.import_valid(line("o1", 100)).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let token = server.log_in("ops").await.token;
    for one in ENDPOINTS.iter().filter(|one| one.token == endpoint::DevicePage::TOKEN) {
        let sent = match one.name {
            "OrderDetail" => r#"{"tradeNoIn":"oid:o1"}"#,
            _ => r#"{"deviceCode":"D1"}"#,
        };
        let called = TestRequest::to(one.path).token(&token).body(sent).send(&server).await;
        let fields = [("token", token.as_str()), ("body", sent)];
        let tried = browser.post(&page_of("integrator", one.name), &fields).await;
        assert_eq!(body(&tried), called.json, "{}", one.name);
        assert_eq!(called.code(), 200, "{}: {called:?}", one.name);
        assert!(!tried.text.contains(&token), "{}: the token is sent back", one.name);
    }
    // Markup in an answer is text.
    let fields = [("token", token.as_str()), ("body", "{}"), ("size", "1"), ("current", "2")];
    let page = browser.post(&page_of("integrator", "DevicePage"), &fields).await;
    assert!(page.text.contains("&lt;b&gt;x") && !page.text.contains("<b>x"), "{}", page.text);
    assert_eq!(body(&page)["data"]["records"][0]["deviceName"], "<b>x</b>");
    // Without a token, and with one that no header can have.
    let refused = browser.post(&page_of("integrator", "Summary"), &[("body", "{}")]).await;
    assert_eq!(body(&refused)["code"], -4);
    let bad = [("token", "a\nb"), ("body", "{}")];
    assert_eq!(browser.post(&page_of("integrator", "Summary"), &bad).await.status, 400);
}

/// A login, and the calls that end a session, need a confirmation. The answer has a token, so that
/// it is not compressed.
#[tokio::test]
async fn a_session_ends_only_after_a_confirmation() {
    let (server, mut browser) = signed_in_with(fleet(), "read").await;
    browser.headers.push(("accept-encoding", "gzip".to_owned()));
    let token = server.log_in("ops").await.token;
    let login = [("username", "ops"), ("password", "secret")];
    let page = page_of("integrator", "LogIn");
    let form = browser.get(&page).await;
    assert!(form.text.contains("ends the other session"), "{}", form.text);
    let refused = browser.post(&page, &login).await;
    assert!(refused.text.contains("role=\"alert\""), "{}", refused.text);
    for name in ["SwitchGroup", "LogOut"] {
        let fields = [("token", token.as_str()), ("body", r#"{"groupId":"g2"}"#)];
        let refused = browser.post(&page_of("integrator", name), &fields).await;
        assert!(refused.text.contains("role=\"alert\""), "{}", refused.text);
    }
    assert_eq!(server.code_of(&token).await, 200, "nothing was sent");

    let confirmed = browser.post(&page, &[&login[..], &[("confirm", "yes")]].concat()).await;
    let new = body(&confirmed)["data"]["accessToken"].as_str().unwrap().to_owned();
    assert!(!confirmed.headers.contains_key("content-encoding"), "{confirmed:?}");
    assert!(!confirmed.text.contains("secret"), "the password is sent back");
    assert_eq!(server.code_of(&token).await, -4, "the other session has ended");
    assert_eq!(server.code_of(&new).await, 200);
    let wrong = [("username", "ops"), ("password", " secret"), ("confirm", "yes")];
    assert_eq!(body(&browser.post(&page, &wrong).await)["code"], -2);
    // The trail has the source of the person, and no secret.
    let entries = trail(&server, "log").await;
    assert!(entries.iter().all(|entry| entry.contains("|127.0.0.1|")), "{entries:?}");
    assert!(!entries.concat().contains("secret"), "{entries:?}");

    let group = [("token", new.as_str()), ("body", r#"{"groupId":"g2"}"#), ("confirm", "yes")];
    let switched = browser.post(&page_of("integrator", "SwitchGroup"), &group).await;
    let token = body(&switched)["data"]["accessToken"].as_str().unwrap().to_owned();
    let end = [("token", token.as_str()), ("confirm", "yes")];
    assert_eq!(body(&browser.post(&page_of("integrator", "LogOut"), &end).await)["code"], 200);
    assert_eq!(server.code_of(&token).await, -4);
}

/// A proxy's report of the person's address counts for the call as for the page.
#[tokio::test]
async fn a_call_that_is_tried_has_the_source_of_the_person() {
    let server = TestServer::start_with(fleet(), behind_proxy).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    browser.headers.push(("x-forwarded-for", "192.0.2.7".to_owned()));
    let login = [("username", "ops"), ("password", "secret"), ("confirm", "yes")];
    browser.post(&page_of("integrator", "LogIn"), &login).await;
    let entries = trail(&server, "login").await;
    assert!(entries.len() == 1 && entries[0].contains("|192.0.2.7|"), "{entries:?}");
}

/// A page shows the beginning of a long answer, and says so.
#[tokio::test]
async fn a_long_answer_is_cut() {
    let devices = (0..200).map(|at| (format!("L{at:03}"), "\"quoted\" & long ".repeat(4)));
    let fleet = devices.fold(fleet(), |fleet, (code, name)| fleet.device(&code, &name, "g1"));
    let (server, mut browser) = signed_in_with(fleet, "read").await;
    let token = server.log_in("ops").await.token;
    for (name, path) in
        [("DeviceProfile", endpoint::DeviceProfile::PATH), ("DevicePage", DEVICES_PATH)]
    {
        let request = http::Request::post(format!("/v8/{path}?size=200")).header("host", "x");
        let request = request.header(TOKEN_HEADER, &token).body("{}".into()).unwrap();
        let called = server.connect().await.send(request).await.text;
        let fields = [("token", token.as_str()), ("body", "{}"), ("size", "200")];
        let tried = browser.post(&page_of("integrator", name), &fields).await;
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        let shown = plain(&element(&tried, "body"));
        assert!(plain(&called).starts_with(&shown), "{name}: {shown}");
        assert!(shown.len() > 10_000 && shown.len() < called.len(), "{name}");
        assert!(tried.text.contains("its first 16,384 bytes are shown"), "{}", tried.text);
        assert!(tried.text.len() <= PAGE_MAX_BYTES, "{name}: {}", tried.text.len());
    }
}
