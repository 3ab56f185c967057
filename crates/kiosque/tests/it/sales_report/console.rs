//! The overview of the console shows the sums of the rows of the report.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use kiosque_testkit::{Ran, Rng, Sandbox, Served, between, card, grouped, seed};

use super::{Row, Sum, cents, midnight};

/// Ranges of days that are compared, after the whole year.
const RANGES: usize = 5;
/// The rows of a list of the overview.
const LISTED: usize = 8;

/// A session of the console.
struct Session {
    cookies: PathBuf,
    certificate: PathBuf,
    base: String,
}

impl Session {
    fn open(sandbox: &Sandbox, served: &Served) -> Session {
        let key = sandbox.create_key(&["report"]);
        let session = Session {
            cookies: sandbox.path("cookies"),
            certificate: sandbox.certificate(),
            base: format!("https://{}/console/", served.operator()),
        };
        let form = format!("key={key}");
        session.ask("login", &["--header", "Sec-Fetch-Site: same-origin", "--data", &form]);
        session
    }

    fn ask(&self, page: &str, arguments: &[&str]) -> String {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--cacert"]).arg(&self.certificate);
        curl.arg("--cookie").arg(&self.cookies).arg("--cookie-jar").arg(&self.cookies);
        curl.args(arguments).arg(format!("{}{page}", self.base));
        Ran::of(&mut curl).success().stdout
    }
}

/// Returns a date as the console writes it.
fn date(row: &Row) -> String {
    midnight(&row["TransDate"])[..10].to_owned()
}

/// The sums of the rows of some days.
#[derive(Default)]
struct Sums<'r> {
    total: Sum,
    days: BTreeMap<String, Sum>,
    devices: BTreeMap<&'r str, i64>,
    goods: BTreeMap<&'r str, Sum>,
}

impl<'r> Sums<'r> {
    fn of(rows: &'r [Row], first: &str, last: &str) -> Sums<'r> {
        let mut sums = Sums::default();
        let mut orders = BTreeMap::<&str, &Row>::new();
        for row in rows.iter().filter(|row| (first..=last).contains(&date(row).as_str())) {
            orders.insert(&row["Transaction"], row);
            let name = if row["Product"].trim().is_empty() { "unnamed" } else { &row["Product"] };
            let sum = sums.goods.entry(name).or_default();
            sum.0 += row["RQty"].parse::<i64>().unwrap();
            sum.1 += cents(&row["LineTotal"]);
        }
        for row in orders.into_values() {
            let total = cents(&row["TransTotal"]);
            for sum in [&mut sums.total, sums.days.entry(date(row)).or_default()] {
                *sum = (sum.0 + 1, sum.1 + total);
            }
            *sums.devices.entry(&row["Device ID"]).or_default() += total;
        }
        sums
    }
}

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
    let sums = Sums::of(rows, first, last);
    let query = format!("?from={first}&to={last}");
    let page = session.ask(&query, &[]);
    let figures = between(&page, "<dd class=\"figure\">", "</dd>");
    let (orders, amount) = sums.total;
    let dollars = format!("${}.{:02}", grouped(amount / 100), amount % 100);
    let number = figures[1].rsplit_once("\">").and_then(|(_, link)| link.strip_suffix("</a>"));
    assert_eq!((figures[0], number), (dollars.as_str(), Some(&*grouped(orders))), "{query}");

    let file = session.ask(&format!("{query}&format=csv"), &[]);
    let shown = file.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].to_owned(), (fields[1].parse().unwrap(), cents(fields[3])))
    });
    let sold: BTreeMap<String, Sum> = shown.filter(|(_, (orders, _))| *orders > 0).collect();
    assert_eq!(sold, sums.days, "{query}");

    let mut devices: Vec<(&str, i64)> = sums.devices.into_iter().collect();
    devices.sort_by_key(|(code, amount)| (Reverse(*amount), *code));
    let codes: Vec<&str> = devices.iter().map(|(code, _)| *code).take(LISTED).collect();
    let shown = between(card(&page, "by-device"), "href=\"/console/devices/", "\"");
    assert_eq!(shown, codes, "{query}");

    let mut goods: Vec<Sum> = sums.goods.into_values().collect();
    goods.sort_unstable_by(|one, other| other.cmp(one));
    let items: Vec<String> = goods.iter().take(LISTED).map(|(items, _)| grouped(*items)).collect();
    let shown = between(card(&page, "products"), "<span class=\"bar-value\">", "<");
    assert_eq!(shown, items, "{query}");
}
