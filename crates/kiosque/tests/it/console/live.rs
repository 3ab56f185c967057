//! The parts of pages that change while they are open.

use kiosque_testkit::{ORDERS_CALL, OrderLine, TOKEN_PATH, wait_until};
use serde_json::json;

use super::{COLOURS, Console, WIDTHS};

/// The text of each figure of the overview, by its name.
const FIGURES: &str = "return Object.fromEntries([...document.querySelectorAll('.tile')].map(
    (tile) => [tile.querySelector('dt').textContent, tile.querySelector('.figure').textContent]))";

impl Console {
    /// Sends a paid order of now.
    pub(super) fn sell(&mut self, id: &str, cents: i64) {
        let now = self.browser.run("return new Date().toISOString().slice(0, 19) + 'Z'");
        let now = now.as_str().unwrap();
        let order = OrderLine::new(id, "D1", now).amount("USD", cents).paid(now).to_string();
        let mut till = self.served.connect_operator();
        let reply = till.call_operator(ORDERS_CALL, &self.key, &order).unwrap();
        assert_eq!((reply.status, &reply.json["accepted"]), (200, &1.into()), "{reply:?}");
    }

    /// Logs an account in from an address, as a trusted proxy reports it.
    fn log_in_from(&self, source: &str) {
        let login = r#"{"username":"guest","password":"secret"}"#;
        let forwarded = format!("x-forwarded-for: {source}\r\n");
        let reply = self.served.connect().call_with(&forwarded, TOKEN_PATH, login);
        assert_eq!(reply.code(), 200, "{reply:?}");
    }

    /// Waits until the overview shows this many orders.
    fn wait_for_orders(&mut self, orders: &str) {
        wait_until(orders, || self.browser.run(FIGURES)["Orders"] == orders);
    }
}

/// An order that arrives while the overview is open moves its figures and its chart. The page is
/// not loaded again.
#[test]
fn an_order_moves_the_figures_of_an_open_overview() {
    let mut console = Console::of_fleet();
    console.show_as(WIDTHS[1], COLOURS[0]);
    console.sell("o1", 250);
    console.sign_in_at("/console/?days=7");
    console.wait_for_orders("1");
    let bars = "return document.querySelector('#trend svg').outerHTML";
    let before = console.browser.run(bars);
    console.browser.run("window.wasLoaded = true");
    console.sell("o2", 125);
    console.wait_for_orders("2");
    let figures = console.browser.run(FIGURES);
    assert_eq!((&figures["Sales"], &figures["Average order"]), (&"$3.75".into(), &"$1.88".into()));
    wait_until("the chart shows the order", || console.browser.run(bars) != before);
    assert_eq!(console.browser.run("return window.wasLoaded"), true, "it was loaded again");
}

/// A login that replaces a session appears on the open page of its account, with the addresses of
/// both. The page asks for itself every 2 s, and is not loaded again.
#[test]
fn a_replaced_session_appears_on_the_open_page_of_its_account() {
    let mut console = Console::of_fleet_with(&["--trusted-proxies", "127.0.0.1"]);
    console.show_as(WIDTHS[1], COLOURS[0]);
    console.log_in_from("192.0.2.1");
    console.sign_in_at("/console/integrators/account?name=guest");
    let rows = "return [...document.querySelectorAll('#timeline tbody tr')].map((row) =>
        [1, 4, 5].map((at) => row.cells[at].textContent.replace(/\\d{4}-[-\\d]+ [:\\d]+/, 'T')))";
    let opened = json!(["Login", "192.0.2.1", "group north"]);
    assert_eq!(console.browser.run(rows), json!([opened]));
    assert_eq!(console.browser.run("return document.querySelector('main').dataset.refresh"), "2");
    console.browser.run("window.wasLoaded = true");
    console.log_in_from("192.0.2.2");
    wait_until("the replaced session is shown", || {
        console.browser.run(rows).as_array().unwrap().len() > 1
    });
    let shown = console.browser.run(rows);
    let replaced = "replaced the session opened T from 192.0.2.1, group north";
    assert!(
        shown.as_array().unwrap().contains(&json!([
            "Login, replaced a session",
            "192.0.2.2",
            replaced
        ])),
        "{shown}"
    );
    assert_eq!(console.browser.run("return window.wasLoaded"), true, "it was loaded again");
}

/// The part of a page that a person points at stays as it is, and shows the figures of the point.
#[test]
fn a_bar_shows_its_figures_under_the_pointer() {
    let mut console = Console::of_fleet();
    console.show_as(WIDTHS[1], COLOURS[0]);
    console.sell("o1", 250);
    console.sign_in_at("/console/?days=7");
    let place = console.browser.run(
        "const box = [...document.querySelectorAll('.points path')].pop().getBoundingClientRect();
         return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]",
    );
    console.browser.point_at(place[0].as_i64().unwrap(), place[1].as_i64().unwrap());
    let shown = "return [...document.querySelectorAll('.points text')]
        .filter((text) => getComputedStyle(text).display !== 'none')
        .map((text) => text.textContent)";
    let mut texts = console.browser.run(shown);
    wait_until("one figure is shown", || {
        texts = console.browser.run(shown);
        texts.as_array().unwrap().len() == 1
    });
    assert!(texts[0].as_str().unwrap().contains("$2.50 · Orders: 1"), "{texts}");
    console.browser.run("document.querySelector('#trend').wasPointedAt = true");
    console.sell("o2", 125);
    console.wait_for_orders("2");
    let stays = "return document.querySelector('#trend').wasPointedAt";
    assert_eq!(console.browser.run(stays), true, "the chart was replaced under the pointer");
}

/// The live orders of a demo are streams of its key: they are counted on Intake, which renews
/// itself, and name the key as their source.
#[test]
fn the_orders_of_a_demo_appear_on_intake() {
    let mut console = Console::of_demo();
    console.show_as(WIDTHS[1], COLOURS[0]);
    console.sign_in_at("/console/intake");
    let row = "const row = document.querySelector('#streams tbody tr');
        return row ? [row.querySelector('th').textContent,
            Number(row.querySelectorAll('td.number')[1].textContent)] : ['', 0]";
    wait_until("two orders of the key are counted", || {
        let row = console.browser.run(row);
        row[0] == "demo" && row[1].as_i64().unwrap() >= 2
    });
    console.open("/console/orders");
    let latest = "return document.querySelector('tbody a[href^=\"/console/orders/\"]').href";
    let order = console.browser.run(latest);
    console.browser.open(order.as_str().unwrap());
    let source = console.browser.run("return document.getElementById('source').textContent");
    assert!(source.as_str().unwrap().contains("demo"), "{source}");
}
