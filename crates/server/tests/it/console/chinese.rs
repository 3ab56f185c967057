//! Pages in Chinese.

use std::collections::BTreeSet;

use kiosque_testkit::{ORDERS_CALL, ORDERS_PATH, OrderLine, TestServer};

use super::Browser;
use crate::operator::fleet;

/// The elements that name something: their names are texts of the console, not of the data.
const NAMING: [&str; 8] =
    ["h2", "dt", "legend", "summary", "button", "option", "th scope=\"col\"", "label"];
/// Names that are the same in both languages: of a language, of groups and of parameters.
const SHARED: [&str; 5] = ["English", "One", "Two", "current", "size"];

/// Returns the texts of elements, as far as they have letters of English.
fn texts(page: &str, elements: &[&str]) -> BTreeSet<String> {
    let texts = elements.iter().flat_map(|element| {
        let tag = element.split(' ').next().unwrap();
        let (start, end) = (format!("<{element}"), format!("</{tag}>"));
        let elements = page.split(&start).skip(1).filter(|rest| rest.starts_with([' ', '>']));
        let contents = elements.map(|rest| rest.split(&end).next().unwrap());
        contents.map(|content| words(content.split_once('>').unwrap().1)).collect::<Vec<_>>()
    });
    texts.filter(|text| text.contains(|c: char| c.is_ascii_alphabetic())).collect()
}

/// Returns the text of HTML without its elements.
fn words(html: &str) -> String {
    let texts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    texts.map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// No page in Chinese has a heading, a label or a button in English.
#[tokio::test]
async fn what_pages_name_is_in_chinese() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "orders,read,audit,keys").await;
    let start = "2026-03-01 09:00:00";
    let order = OrderLine::new("o1", "D1", start).amount("EUR", 250).paid(start).to_string();
    server.call_operator(ORDERS_CALL, Some(&key), order + "x\n").await;
    let token = server.log_in("ops").await.token;
    server.call(ORDERS_PATH, Some(&token), "{}").await;
    server.store.trail().write_refused().await.unwrap();
    let mut failures = String::new();
    let mut english = Browser::signed_in(&server, &key).await;
    let mut chinese = Browser::signed_in(&server, &key).await;
    chinese.headers.push(("accept-language", "zh-CN".to_owned()));
    for path in [
        "/console/?days=7",
        "/console/devices",
        "/console/devices/D1",
        "/console/orders",
        "/console/orders?device=D1",
        "/console/orders/g1/o1",
        "/console/integrators",
        "/console/integrators?request=absent",
        "/console/integrators/account?name=ops",
        "/console/intake",
        "/console/audit",
        "/console/keys",
        "/console/service",
        "/console/api",
        "/console/api/integrator/queryOrderList",
        "/console/nothing",
    ] {
        let (page, same) = (chinese.get(path).await.text, english.get(path).await.text);
        assert!(page.contains("<html lang=\"zh-CN\""), "{path}");
        let (names, in_english) = (texts(&page, &NAMING), texts(&same, &NAMING));
        let untranslated: Vec<&String> = names
            .intersection(&in_english)
            .filter(|name| !SHARED.contains(&name.as_str()))
            .collect();
        assert!(in_english.len() > 5 || path.ends_with("nothing"), "{path}: {in_english:?}");
        if !untranslated.is_empty() {
            failures.push_str(&format!("{path}: {untranslated:?}\n"));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
