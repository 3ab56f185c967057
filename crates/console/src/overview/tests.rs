use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::need::Attention;
use kiosque_model::sales::{DeviceSales, ProductRank, Rate, Totals, Usd};
use kiosque_model::{Currency, Rights, UnixMs, Zone};
use proptest::prelude::*;

use super::*;
use crate::frame::Theme;
use kiosque_locale::Locale;

const TODAY: Day = Day(20_000);

fn turnover(orders: i64, cents: i64, failed: i64) -> Turnover {
    let mut turnover = Turnover::default();
    let (amount, shipped) = (cents, orders - failed);
    let totals = Totals { orders, items: orders, amount, refund: 0, shipped, failed };
    turnover.add((Currency::USD, Some(Rate::ONE)), totals);
    turnover
}

fn product(name: &str, items: i64) -> ProductRank {
    let (goods_id, goods_name) = ("p".to_owned(), Some(name.to_owned()));
    ProductRank { goods_id, goods_name, items, amount: Usd::default() }
}

fn view(days: Vec<(Day, Turnover)>) -> Overview {
    let query = [Some("7"), None, None];
    let device = |code: &str, cents, failed| DeviceSales {
        code: code.to_owned(),
        name: format!("<{code}>"),
        turnover: turnover(10, cents, failed),
    };
    Overview {
        period: Period::of(query, TODAY).expect("a period"),
        groups: Groups {
            names: vec![("n&1".to_owned(), "North <b>".to_owned())],
            chosen: Some("n&1".to_owned()),
        },
        sales: FleetSales {
            last_before: None,
            days,
            products: vec![product("Cola", 1_234)],
            devices: vec![device("K-1", 100, 0), device("K-2", 90_000, 3)],
            attention: Attention {
                device_count: 3,
                needs: BTreeMap::from([(Need::Silent, BTreeSet::from(["K/3".to_owned()]))]),
                refunding: 2,
            },
            without_rate: vec![("ISK".to_owned(), 4)],
        },
        sort: Sort::Free,
    }
}

fn rendered(view: &Overview, language: Locale) -> String {
    let (rights, zone) = (Rights::all(), Zone::utc());
    let frame = Frame {
        failed_checks: 9,
        language,
        theme: Theme::Dark,
        rights: &rights,
        key_name: "<office>",
        zone: &zone,
        now: zone.start_of(TODAY),
        address: "/console/?days=7&group=n%261",
    };
    page(&frame, view)
}

/// Today is in the figures, and neither it nor its previous weekday is in their changes.
#[test]
fn changes_compare_days_that_have_ended() {
    let day = |back: i64, orders, cents| (Day(TODAY.0 - back), turnover(orders, cents, 0));
    let view = view(vec![
        day(14, 1_000, 999_999),
        day(8, 10, 10_000),
        day(7, 500, 999_999),
        day(1, 11, 12_000),
        day(0, 100, 1_000),
    ]);
    let (now, before) = view.compared().expect("days that have ended");
    assert_eq!((now.orders, before.orders), (11, 10));
    let text = rendered(&view, Locale::En);
    for part in ["$130.00", "+20%", "+10%", "vs 7 d before", ">111<"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_page_has_one_heading_no_inline_code_and_escapes_texts() {
    for language in Locale::ALL {
        let text = rendered(&view(vec![(TODAY, turnover(5, 500, 1))]), *language);
        assert_eq!(text.matches("<h1").count(), 1);
        assert!(text.starts_with("<!DOCTYPE html>"), "{text}");
        assert!(text.contains(&format!("<html lang=\"{}\" data-theme=\"dark\"", language.tag())));
        for forbidden in ["style=", "<script>", "onclick", "<b>North", "<office>", "<K-1>"] {
            assert!(!text.contains(forbidden), "{forbidden}: {text}");
        }
        assert!(text.contains("North &lt;b&gt;"), "{text}");
        assert!(text.contains("/console/devices?needs=silent&amp;group=n%261"), "{text}");
        assert!(text.len() <= 73_728, "{} bytes", text.len());
    }
}

/// DASH-21: a day that the zone skipped is neither in the chart nor in the file.
#[test]
fn a_day_that_did_not_exist_is_not_listed() {
    let (rights, apia) = (Rights::all(), Zone::named("Pacific/Apia").expect("a zone"));
    let query = [None, Some("2011-12-29"), Some("2011-12-31")];
    let period = Period::of(query, TODAY).expect("a period");
    let view = Overview { period, ..view(vec![]) };
    let points = points(&Frame::sample(&rights, &apia, "/console/"), &view);
    let names: Vec<String> = points.into_iter().map(|point| point.name).collect();
    let file = csv(&view, &apia);
    let listed = file.lines().skip(1).filter_map(|row| Some(row.split_once(',')?.0));
    assert!(listed.eq(["2011-12-29", "2011-12-31"]), "{file}");
    assert_eq!(names, ["2011-12-29", "2011-12-31"]);
}

/// A right that the key lacks has no link.
#[test]
fn the_navigation_has_what_the_rights_permit() {
    let (rights, zone): (Rights, _) = ("audit".parse().expect("a right"), Zone::utc());
    let (language, theme) = (Locale::En, Theme::System);
    let address = "/console/nothing";
    let (key_name, now) = ("office", UnixMs(0));
    let frame = Frame {
        language,
        theme,
        rights: &rights,
        key_name,
        zone: &zone,
        now,
        failed_checks: 1,
        address,
    };
    let text = crate::message::page(&frame, &crate::message::Message::Forbidden("read"));
    assert!(!text.contains("href=\"/console/devices\""), "{text}");
    assert!(text.contains("does not have the right read"), "{text}");
}

#[test]
fn the_largest_page_is_small() {
    for (query, points) in [("92", 92), ("448", 64), ("3660", 122)] {
        let query = [Some(query), None, None];
        let period = Period::of(query, TODAY).expect("a period");
        let name = "n".repeat(100);
        let names = (0..crate::groups::LISTED_MAX)
            .map(|at| (format!("group-{at:04}"), format!("Group {at} north")));
        let product = product(&name, i64::MAX);
        let needs =
            Need::ALL.iter().map(|need| (*need, BTreeSet::from(["K".repeat(32)]))).collect();
        let days = (period.first_before().0..=TODAY.0)
            .map(|day| (Day(day), turnover(10_000_000, 100_000_000_000, 5)));
        let sales = FleetSales {
            products: vec![product; 100],
            attention: Attention { device_count: i64::MAX, needs, refunding: i64::MAX },
            ..view(days.collect()).sales
        };
        let groups = Groups { names: names.collect(), chosen: None };
        let view = Overview { period, groups, sales, sort: Sort::Free };
        let text = rendered(&view, Locale::En);
        assert!(text.matches("<g><path").count() <= points);
        assert!(text.len() <= 73_728, "{} bytes", text.len());
    }
}

proptest! {
    /// The file has a row for each day of the period, and the rows add up to the figures.
    #[test]
    fn the_file_sums_up_to_the_figures(
        days in prop::collection::vec((0_i64..14, 0_i64..500), 0..9),
    ) {
        let days: Vec<(Day, Turnover)> = days
            .into_iter()
            .map(|(back, orders)| (Day(TODAY.0 - back), turnover(orders, orders * 150, 0)))
            .collect();
        let view = view(days);
        let file = csv(&view, &Zone::utc());
        let rows: Vec<Vec<&str>> =
            file.lines().skip(1).map(|line| line.split(',').collect()).collect();
        prop_assert_eq!(rows.len(), 7);
        let orders: i64 = rows.iter().map(|row| row[1].parse::<i64>().expect("a number")).sum();
        let all = view.sum(view.period.first(), view.period.last());
        prop_assert_eq!(orders, all.orders);
        let cents: i64 =
            rows.iter().map(|row| row[3].replace('.', "").parse::<i64>().expect("cents")).sum();
        prop_assert_eq!(cents, all.amount.cents());
    }
}
