//! Tables that are sorted by a column.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use kiosque_testkit::{FleetToml, OrderLine, TestServer, between, card};

use super::{Browser, revoke, signed_in_with};
use crate::operator::fleet;

/// The devices of a page of the list.
const PAGE: usize = 50;

/// `D1` and `D2`, and more devices with 2 to 11 items each.
fn stocked(devices: usize) -> FleetToml {
    let mut fleet = fleet();
    for number in 2..2 + devices {
        let mut aisle = String::new();
        writeln!(
            aisle,
            "[[device.aisle]]\ncode = \"A\"\nproduct = \"cola\"\nprice = 100\nstock = {number}\n\
             capacity = 90"
        )
        .unwrap();
        fleet = fleet.device(&format!("S{number:02}"), "Stocked", "g1").with(&aisle);
    }
    fleet
}

/// Returns the codes of the devices of a list, or of the aisles of one.
fn devices<'p>(page: &'p str, id: &str) -> Vec<&'p str> {
    between(card(page, id), "href=\"/console/devices/", "\"")
}

/// Stock is sorted as a number on the page and in its file, which the page links.
#[tokio::test]
async fn devices_and_aisles_are_sorted_by_numbers_in_the_page_and_its_file() {
    let (_server, mut browser) = signed_in_with(stocked(10), "read").await;
    let free = browser.get("/console/devices?q=S").await.text;
    assert!(
        free.contains("<a href=\"/console/devices?q=S&amp;sort=-stock\">Items in stock</a>"),
        "{free}"
    );
    assert!(!free.contains("aria-sort"), "{free}");
    let page = browser.get("/console/devices?q=S&sort=-stock").await.text;
    assert_eq!(devices(&page, "devices")[..3], ["S11", "S10", "S09"]);
    let heading = "aria-sort=\"descending\"><a href=\"/console/devices?q=S&amp;sort=stock\"";
    assert!(page.contains(heading), "{page}");
    let file = "/console/devices?q=S&sort=-stock&format=csv";
    assert!(page.contains(&format!("href=\"{}\" download", file.replace('&', "&amp;"))), "{page}");
    let csv = browser.get(file).await.text;
    assert!(csv.lines().nth(1).unwrap().starts_with("S11,"), "{csv}");
    let page = browser.get("/console/refill?sort=stock").await.text;
    assert_eq!(devices(&page, "refill")[..3], ["S02", "S03", "S04"]);
    let csv = browser.get("/console/refill?sort=-stock&format=csv").await.text;
    assert!(csv.lines().nth(1).unwrap().starts_with("S11,"), "{csv}");
    for wrong in ["devices?sort=group", "refill?sort=--stock", "keys?sort=x", "?sort=before"] {
        let status = browser.get(&format!("/console/{wrong}")).await.status;
        assert!(matches!(status, 400 | 403), "{wrong}: {status}");
    }
}

/// A part of a list, sorted by another column, would look like the beginning of the sorted list.
#[tokio::test]
async fn a_part_of_a_list_is_not_sorted() {
    let (_server, mut browser) = signed_in_with(stocked(PAGE), "read").await;
    let page = browser.get("/console/devices?sort=-stock").await.text;
    assert_eq!(devices(&page, "devices")[..3], ["D1", "D2", "S02"]);
    assert!(!page.contains("sort=stock\">") && !page.contains("aria-sort"), "{page}");
    let last = browser.get("/console/devices?after=S49&sort=-stock").await.text;
    assert_eq!(devices(&last, "devices"), ["S50", "S51"]);
}

/// The file that a page of a list links to has the rows of that page. It says whether the list goes
/// on, as the page does with its link.
#[tokio::test]
async fn the_file_of_a_page_has_its_rows_and_says_that_the_list_goes_on() {
    const MORE: &str = "The list has more rows than this file.,";
    let names = (0..PAGE).map(|number| format!("a{number:02}"));
    let fleet = names.fold(stocked(PAGE), |fleet, name| fleet.account(&name, &["g1"]));
    let server = TestServer::start(fleet).await;
    let at = |number: usize| format!("2026-03-01 08:00:{number:02}");
    let order = |number: usize| OrderLine::new(format!("o{number}"), "D1", at(number)).to_string();
    server.import_valid((0..=PAGE).map(order).collect::<String>()).await;
    for _ in 0..=PAGE {
        server.log_in("ops").await;
        server.advance(Duration::from_millis(1));
    }
    let mut browser = Browser::with_rights(&server, "read,audit").await;
    for path in [
        "devices?group=g1",
        "integrators",
        "orders",
        "orders?payment=unpaid&group=g1",
        "audit",
        "integrators/account?name=ops",
    ] {
        let (mut next, mut rows) = (Some(format!("/console/{path}")), BTreeSet::new());
        while let Some(address) = next {
            let page = browser.get(&address).await.text;
            let link = |end: &str| {
                let link = page.split_once(end)?.0.rsplit_once("href=\"")?.1;
                Some(link.split('"').next()?.replace("&amp;", "&"))
            };
            let file = browser.get(&link("\" download").unwrap()).await.text;
            let pager = between(&page, "rel=\"next\" href=\"", "\"");
            next = pager.first().map(|link| link.replace("&amp;", "&"));
            let is_noted = file.lines().last().unwrap().starts_with(MORE);
            assert_eq!((is_noted, file.matches(MORE).count()), (next.is_some(), pager.len()));
            for row in file.lines().skip(1).filter(|row| !row.starts_with(MORE)) {
                assert!(rows.insert(row.to_owned()), "{address}: {row} is listed twice");
            }
        }
        assert!(rows.len() > PAGE, "{path}: {}", rows.len());
    }
}

/// Of more than 50 revoked keys the newest are listed: the page and its file say so.
#[tokio::test]
async fn a_part_of_the_keys_says_so_and_is_not_sorted() {
    const CUT: &str =
        "Only the newest revoked keys are listed. “kiosque operator-key list” lists all.";
    let server = TestServer::start(fleet()).await;
    let mut browser = Browser::with_rights(&server, "keys").await;
    for number in 0..=PAGE {
        server.advance(Duration::from_secs(1));
        let name = format!("k{number:02}");
        server.create_key_named(&name, "orders").await;
        revoke(&server, &name).await;
        if number + 1 < PAGE {
            continue;
        }
        let is_cut = number == PAGE;
        let page = browser.get("/console/keys?sort=created").await.text;
        let keys = card(&page, "keys");
        let newest = (0..=number).rev().take(PAGE).map(|number| format!("k{number:02}"));
        let mut names: Vec<String> = std::iter::once("office".to_owned()).chain(newest).collect();
        if !is_cut {
            names[1..].reverse();
        }
        assert_eq!(between(keys, "<tr><td>", "</td>"), names);
        let cut: &[&str] = if is_cut { &[CUT] } else { &[] };
        assert_eq!(between(keys, "<p class=\"note\">", "</p>"), cut);
        assert_eq!(keys.contains("sort="), !is_cut, "{keys}");
        let csv = browser.get("/console/keys?sort=created&format=csv").await.text;
        let rows = csv.lines().skip(1).map(|row| row.split(',').next().unwrap());
        let expected = names.iter().map(String::as_str).chain(cut.iter().copied());
        assert_eq!(rows.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(csv.ends_with(&format!("\r\n{CUT},,,,\r\n")), is_cut, "{csv}");
    }
}

/// Accounts are sorted by the time of their last use, keys by the time of their creation.
#[tokio::test]
async fn accounts_and_keys_are_sorted_by_times() {
    let server = TestServer::start(fleet().account("aide", &["g1"])).await;
    let office = server.create_key_named("office", "read,keys").await;
    server.log_in("aide").await;
    server.advance(Duration::from_secs(60));
    server.create_key_named("a-later-one", "read").await;
    let token = server.log_in("ops").await.token;
    assert_eq!(server.code_of(&token).await, 200);
    let mut browser = Browser::signed_in(&server, &office).await;
    for (sort, accounts) in [("used", ["aide", "ops"]), ("-session", ["ops", "aide"])] {
        let page = browser.get(&format!("/console/integrators?sort={sort}")).await.text;
        let accounts_of =
            between(card(&page, "accounts"), "href=\"/console/integrators/account?name=", "\"");
        assert_eq!(accounts_of, accounts, "{sort}");
    }
    for (sort, names) in
        [("created", ["office", "a-later-one"]), ("name", ["a-later-one", "office"])]
    {
        let page = browser.get(&format!("/console/keys?sort={sort}")).await.text;
        let rows = between(card(&page, "keys"), "<tr><td>", "</td>");
        assert_eq!(rows, names, "{sort}");
        let csv = browser.get(&format!("/console/keys?format=csv&sort={sort}")).await.text;
        assert!(csv.lines().nth(1).unwrap().starts_with(names[0]), "{csv}");
    }
    let page = browser.get("/console/integrators/account?name=ops&sort=-slowest").await.text;
    assert!(card(&page, "functions").contains("aria-sort=\"descending\""), "{page}");
}

/// The figures of the trend and the file are sorted by sales; the chart is not.
#[tokio::test]
async fn the_figures_of_the_overview_are_sorted_and_open() {
    let server = TestServer::start(fleet()).await;
    server.set_rates(&[("EUR", "2026-01-01", "1")]).await;
    let sale = |id: &str, day: &str, total| {
        let at = format!("2026-{day} 09:00:00");
        OrderLine::new(id, "D1", &at).amount("EUR", total).paid(&at).to_string()
    };
    let sales = [sale("a", "02-27", 900), sale("b", "02-28", 10_000), sale("c", "03-01", 50)];
    server.import_valid(sales.concat()).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let days = |page: &str| {
        let rows = between(card(page, "trend"), "<tr><th scope=\"row\">", "<");
        rows.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let page = browser.get("/console/?days=7&sort=-figure").await.text;
    assert_eq!(days(&page)[..3], ["2026-02-28", "2026-02-27", "2026-03-01"]);
    assert!(page.contains("id=\"trend-figures\" open>"), "{page}");
    let free = browser.get("/console/?days=7").await.text;
    assert_eq!(days(&free)[0], "2026-02-24");
    assert!(free.contains("id=\"trend-figures\">"), "{free}");
    let csv = browser.get("/console/?days=7&sort=-figure&format=csv").await.text;
    assert!(csv.lines().nth(1).unwrap().starts_with("2026-02-28,1,"), "{csv}");
}
