//! What comes in: streams by key, rejected lines and imports; and the parameters of pages.

use std::time::Duration;

use kiosque_contract::RejectedOrder;
use kiosque_model::{ActedBy, UnixMs};
use kiosque_testkit::{
    DEVICES_PATH, ORDERS_CALL, OrderLine, TOKEN_PATH, TestServer, between, card, eventually,
};

use super::{Browser, record_import, signed_in_with};
use crate::operator::{Stream, fleet};

/// A line of a stream.
fn line(device: &str, id: &str) -> String {
    OrderLine::new(id, device, "2026-03-01 09:00:00").amount("EUR", 250).to_string()
}

#[tokio::test]
async fn streams_are_counted_by_key_and_rejected_lines_are_shown_and_downloaded() {
    let server = TestServer::start(fleet()).await;
    let till = server.create_key_named("till", "orders").await;
    let lab = server.create_key_named("<lab>", "orders").await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let none = browser.get("/console/intake").await.text;
    assert!(none.contains("No stream has sent orders"), "{none}");

    let lines = [line("D1", "o1"), line("D1", "o2"), line("absent", "=o3"), "x\n".to_owned()];
    let received = server.call_operator(ORDERS_CALL, Some(&till), lines.concat()).await;
    assert_eq!((received.status, received.json["accepted"].as_i64()), (200, Some(2)));
    server.call_operator(ORDERS_CALL, Some(&lab), line("D1", "o1")).await;

    let page = browser.get("/console/intake").await.text;
    let numbers = between(card(&page, "streams"), "<td class=\"number\">", "</td>");
    // Orders a second; new, updated, unchanged and rejected lines.
    assert_eq!(numbers, ["0.0", "0", "0", "1", "0", "0.0", "2", "0", "0", "2"]);
    assert!(page.contains("&lt;lab&gt;") && !page.contains("<lab>"), "{page}");
    // The trades started 25 hours before their orders were stored.
    assert_eq!(card(&page, "streams").matches("<td>25 h</td>").count(), 2, "{page}");
    assert_eq!(card(&page, "streams").matches(">25 h ago<").count(), 2, "{page}");
    let rejected = card(&page, "rejected");
    assert!(rejected.contains("=o3") && rejected.contains("deviceCode"), "{rejected}");
    let csv = browser.get("/console/intake?format=csv").await;
    assert_eq!(csv.headers["content-disposition"], "attachment; filename=\"rejected.csv\"");
    let rows: Vec<&str> = csv.text.lines().collect();
    assert_eq!(rows[0], "time,key,import,line,order_id,reason");
    assert_eq!(rows.len(), 3, "{}", csv.text);
    assert!(rows[2].starts_with("2026-03-02T10:00:00.000Z,till,,3,'=o3,"), "{}", csv.text);
    server.advance(Duration::from_secs(16 * 60));
    let later = browser.get("/console/intake").await.text;
    assert!(card(&later, "streams").contains("No stream has sent orders"), "{later}");
    assert!(card(&later, "rejected").contains("=o3"));
}

/// The lines of a stream are counted when they are stored or rejected, also while its caller waits
/// for the next ones. The newest order is the one whose trade started last.
#[tokio::test(flavor = "multi_thread")]
async fn the_lines_of_a_stream_that_pauses_are_counted() {
    let server = TestServer::start(fleet()).await;
    let till = server.create_key_named("till", "orders").await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let sold = |id: &str, time: &str| {
        let start = format!("2026-03-02 {time}");
        OrderLine::new(id, "D1", &start).amount("EUR", 250).to_string()
    };
    let mut stream = Stream::open(&server, &till).await;
    stream.say(sold("o1", "09:59:30") + &sold("o2", "09:00:00") + "x\n").await;
    let mut streams = String::new();
    eventually("three lines are counted", async || {
        let page = browser.get("/console/intake").await.text;
        streams = card(&page, "streams").to_owned();
        between(&streams, "<td class=\"number\">", "</td>") == ["0.0", "2", "0", "0", "1"]
    })
    .await;
    assert!(streams.contains(">just now<") && streams.contains("<td>30 s</td>"), "{streams}");
    server.advance(Duration::from_secs(120));
    let page = browser.get("/console/intake").await.text;
    assert!(page.contains("Open streams</dt><dd>1<"), "{page}");
    let streams = card(&page, "streams");
    assert!(streams.contains(">2 min ago<") && streams.contains("<td>30 s</td>"), "{streams}");
    drop(stream);
}

#[tokio::test]
async fn an_import_is_shown_with_its_progress() {
    let server = TestServer::start(fleet()).await;
    let number = server.store.intake().begin_import(ActedBy::command(server.now())).await.unwrap();
    server.store.intake().show_import_active(number, server.now(), 1_234).await.unwrap();
    let mut browser = Browser::with_rights(&server, "read").await;
    let page = browser.get("/console/intake").await.text;
    let imports = card(&page, "imports");
    assert!(imports.contains("running") && imports.contains("1,234 orders stored"), "{imports}");
    server.advance(Duration::from_secs(120));
    let lost = browser.get("/console/intake").await.text;
    assert!(card(&lost, "imports").contains("interrupted"), "{lost}");
}

/// The page has the 20 latest imports, and says if there are others.
#[tokio::test]
async fn a_list_of_imports_says_that_there_are_earlier_ones() {
    const NOTE: &str = "Imports write all rejected lines to a file, whose name the command prints.";
    const CUT: &str = "Earlier imports are not listed. “kiosque import list” lists all.";
    let (server, mut browser) = signed_in_with(fleet(), "read").await;
    for number in 1..=21 {
        let by = ActedBy::command(server.now());
        assert_eq!(server.store.intake().begin_import(by).await.unwrap(), number);
        let page = browser.get("/console/intake").await.text;
        let imports = card(&page, "imports");
        let listed: Vec<String> =
            (1..=number).rev().take(20).map(|number| number.to_string()).collect();
        assert_eq!(between(imports, "<th scope=\"row\">", "</th>"), listed);
        let notes: &[&str] = if number > 20 { &[CUT, NOTE] } else { &[NOTE] };
        assert_eq!(between(imports, "<p class=\"note\">", "</p>"), notes, "{number}");
    }
}

/// The lines that imports and streams rejected are shown together, the latest one first.
#[tokio::test]
async fn rejected_lines_of_imports_are_shown_and_downloaded() {
    let server = TestServer::start(fleet()).await;
    let till = server.create_key_named("till", "orders").await;
    let rejected = |line: u64| RejectedOrder {
        line,
        order_id: Some(format!("i{line}")),
        reason: "orderId: <i> is no id".to_owned(),
    };
    for lines in [2, 3] {
        record_import(&server, (1..=lines).map(rejected).collect()).await;
        server.advance(Duration::from_secs(1));
    }
    server.call_operator(ORDERS_CALL, Some(&till), line("absent", "s1")).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let page = browser.get("/console/intake").await.text;
    let ids = between(card(&page, "rejected"), "<code>", "</code>");
    assert_eq!(ids, ["s1", "i3", "i2", "i1", "i2", "i1"]);
    assert!(card(&page, "rejected").contains("<td>import 2</td>"), "{page}");
    assert!(page.contains("&lt;i&gt;") && !page.contains("<i>"), "{page}");
    let csv = browser.get("/console/intake?format=csv").await.text;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 7, "{csv}");
    assert_eq!(rows[2], "2026-03-02T10:00:01.000Z,,2,3,i3,orderId: <i> is no id");
}

/// A parameter that a page does not have is named, and nothing is shown for it.
#[tokio::test]
async fn an_unknown_parameter_is_refused_by_its_name() {
    let (_server, mut browser) = signed_in_with(fleet(), "read,audit,keys").await;
    for path in [
        "/console/",
        "/console/devices",
        "/console/devices/D1",
        "/console/orders",
        "/console/integrators",
        "/console/integrators/account",
        "/console/intake",
        "/console/audit",
        "/console/keys",
        "/console/service",
    ] {
        let page = browser.get(&format!("{path}?%72ange=7d")).await;
        assert_eq!(page.status, 400, "{path}");
        assert!(page.text.contains("no parameter range"), "{path}: {}", page.text);
    }
    for bad in ["after=%00", "state=x"] {
        assert_eq!(browser.get(&format!("/console/devices?{bad}")).await.status, 400, "{bad}");
    }
    for path in ["", "devices", "orders", "integrators", "intake", "audit"] {
        let page = browser.get(&format!("/console/{path}?format=xml")).await;
        assert_eq!(page.status, 400, "{path}");
        assert!(page.text.contains("The parameter format"), "{path}: {}", page.text);
    }
}

/// The last use of a session is seen at once on its node, and on others when it is stored.
#[tokio::test]
async fn requests_are_counted_by_account_function_code_and_source() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let office = server.create_key_named("office", "read").await;
    server.advance(Duration::from_secs(60));
    for body in ["{}", r#"{"groupId":"foreign"}"#] {
        server.call(DEVICES_PATH, Some(&token), body).await;
    }
    for password in ["a", "b"] {
        let login = format!(r#"{{"username":"ops","password":"{password}"}}"#);
        server.call(TOKEN_PATH, None, &login).await;
    }
    server.store.trail().write_uses(server.now()).await.unwrap();
    server.advance(Duration::from_secs(300));
    let mut browser = Browser::signed_in(&server, &office).await;
    let page = browser.get("/console/integrators").await.text;
    assert!(card(&page, "accounts").contains("5 min ago"), "{page}");
    let codes = between(card(&page, "codes"), "<th scope=\"row\">", "</td>");
    let codes: Vec<String> =
        codes.iter().map(|row| row.replace("</th><td class=\"number\">", " ")).collect();
    let expected = [
        "200 <span class=\"note\">success</span> 2",
        "-1 <span class=\"note\">refused by a business rule</span> 1",
        "-2 <span class=\"note\">wrong login name or password</span> 2",
    ];
    assert_eq!(codes, expected);
    let guesses = card(&page, "guesses");
    assert!(guesses.contains("127.0.0.1") && guesses.contains(">2<"), "{guesses}");
    let account = browser.get("/console/integrators/account?name=ops").await.text;
    let functions = between(card(&account, "functions"), "<td class=\"number\">", "</td>");
    assert_eq!(functions[..3], ["2", "1", "0"], "{account}");

    let other = server.another_node().await;
    let mut browser = Browser::signed_in(&other, &office).await;
    let page = browser.get("/console/integrators").await.text;
    assert!(card(&page, "accounts").contains("5 min ago"), "{page}");
    let uses = other.store.trail().uses_of(vec!["ops".to_owned()]).await.unwrap();
    assert_eq!(uses["ops"].last, Some(UnixMs(server.now().0 - 300_000)));
}
