//! The overview of the console shows the sums of the rows of the report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use kiosque_testkit::{Rng, Sandbox, between, card, grouped, seed};

use super::{Row, Sum, Sums, cents, date};
use crate::console_link::Session;

/// Ranges of days that are compared, after the whole year.
const RANGES: usize = 5;
/// The rows of a list of the overview.
const LISTED: usize = 8;

/// Compares the overview with the rows: of the whole year, and of random days in it.
pub(super) fn compare(sandbox: &Sandbox, rows: &[Row]) {
    let served = sandbox.serve();
    let session = Session::open(sandbox, &served);
    let days: BTreeMap<String, ()> = rows.iter().map(|row| (date(row), ())).collect();
    let days: Vec<&String> = days.keys().collect();
    let seed = seed();
    println!("days of the console by seed {seed}");
    let mut rng = Rng::seeded(seed);
    compare_days(&session, rows, days[0], days[days.len() - 1]);
    for _ in 0..RANGES {
        let (one, other) = (rng.choose(&days), rng.choose(&days));
        compare_days(&session, rows, one.min(other), one.max(other));
    }
}

fn compare_days(session: &Session, rows: &[Row], first: &str, last: &str) {
    let sums = Sums::of(rows.iter().filter(|row| (first..=last).contains(&date(row).as_str())));
    let query = format!("?from={first}&to={last}");
    let page = session.ask(&query);
    let figures = between(&page, "<dd class=\"figure\">", "</dd>");
    let (orders, amount) = sums.total;
    let dollars = format!("${}.{:02}", grouped(amount / 100), amount % 100);
    let number = figures[1].rsplit_once("\">").and_then(|(_, link)| link.strip_suffix("</a>"));
    assert_eq!((figures[0], number), (dollars.as_str(), Some(&*grouped(orders))), "{query}");

    let file = session.ask(&format!("{query}&format=csv"));
    let shown = file.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].to_owned(), (fields[1].parse().unwrap(), cents(fields[3])))
    });
    let sold: BTreeMap<String, Sum> = shown.filter(|(_, (orders, _))| *orders > 0).collect();
    assert_eq!(sold, sums.days, "{query}");

    let mut devices: Vec<(&str, Sum)> = sums.devices.into_iter().collect();
    devices.sort_by_key(|(code, (_, amount))| (Reverse(*amount), *code));
    let codes: Vec<&str> = devices.iter().map(|(code, _)| *code).take(LISTED).collect();
    let shown = between(card(&page, "by-device"), "href=\"/console/devices/", "\"");
    assert_eq!(shown, codes, "{query}");

    let mut goods: Vec<Sum> = sums.goods.into_values().collect();
    goods.sort_unstable_by(|one, other| other.cmp(one));
    let items: Vec<String> = goods.iter().take(LISTED).map(|(items, _)| grouped(*items)).collect();
    let shown = between(card(&page, "products"), "<span class=\"bar-value\">", "<");
    assert_eq!(shown, items, "{query}");
}
