//! The sales of a device on its page: of today, of 7 days and of 28 days, and of each day.

use std::collections::BTreeMap;

use kiosque_model::Day;
use kiosque_model::sales::Totals;
use maud::{Markup, html};

use super::Device;
use crate::chart::{self, Bars, Point};
use crate::components::{card, columns, empty, linked, table};
use crate::format;
use crate::frame::Frame;
use crate::orders::{Sales, sales_path};
use crate::sort::Sort;
use crate::text::{Text, texts};
use crate::words::{DAY, ORDER_COUNT, SEVEN_DAYS, SUM_PAID, TODAY};

texts! {
    SALES: "Sales", "销售";
    PERIOD: "Period", "时段";
    ALL_DAYS: "28 days", "28 天";
    FAILED: "Shipment failed", "出货失败";
    SUMMARY: "Orders of each of the last 28 days: {0}", "最近 28 天每天的订单：共 {0} 单";
    NONE: "No sales in the last 28 days.", "最近 28 天没有销售。";
}

/// The number of days that are shown, including today.
const DAYS: i64 = 28;
const PERIODS: [(Text, i64); 3] = [(TODAY, 1), (SEVEN_DAYS, 7), (ALL_DAYS, DAYS)];

/// Returns the first and the last day whose sales the page of a device shows.
pub fn days(today: Day) -> (Day, Day) {
    (Day(today.0 + 1 - DAYS), today)
}

/// Renders the sales.
pub(super) fn render(frame: &Frame<'_>, view: &Device) -> Markup {
    let today = frame.zone.day_of(frame.now);
    let body = match view.sales.is_empty() {
        true => empty(frame.say(NONE)),
        false => html! {
            div.grid {
                div.span-6 { (periods(frame, view, today)) }
                div.span-6 { div { (trend(frame, view, today)) } }
            }
        },
    };
    card("sales", frame.say(SALES), "", &body)
}

fn periods(frame: &Frame<'_>, view: &Device, today: Day) -> Markup {
    let columns = columns(frame, &[PERIOD], &[ORDER_COUNT, SUM_PAID, FAILED]);
    table(frame.say(SALES), &columns, PERIODS, |(name, days)| {
        let (all, by_currency) = sum(view, Day(today.0 - days));
        let days = (Day(today.0 + 1 - days), today);
        let count = |count: i64, sales| {
            let path = sales_path(sales, days, &view.device.device_code, &view.groups);
            linked(Some(&*path).filter(|_| count > 0), &format::count(count))
        };
        html! {
            th scope="row" { (frame.say(name)) }
            td.number { (count(all.orders, Sales::All)) }
            td.number { (amounts(&by_currency)) }
            td.number { (count(all.failed, Sales::Failed)) }
        }
    })
}

/// Sums the sales after a day: all of them, whose amounts are meaningless, and by currency.
fn sum(view: &Device, after: Day) -> (Totals, BTreeMap<&str, Totals>) {
    let mut all = Totals::default();
    let mut by_currency = BTreeMap::<&str, Totals>::new();
    for (_, currency, totals) in view.sales.iter().filter(|(day, ..)| *day > after) {
        all.add(*totals, 1);
        by_currency.entry(currency).or_default().add(*totals, 1);
    }
    (all, by_currency)
}

fn amounts(by_currency: &BTreeMap<&str, Totals>) -> String {
    let amounts = by_currency.iter().map(|(currency, of)| format::major(of.amount, currency));
    let amounts: Vec<String> = amounts.collect();
    if amounts.is_empty() { format::NONE.to_owned() } else { amounts.join(", ") }
}

fn trend(frame: &Frame<'_>, view: &Device, today: Day) -> Markup {
    let (first, last) = days(today);
    let points = (first.0..=last.0).map(|number| {
        let day = Day(number);
        let of_day = view.sales.iter().filter(|(sold, ..)| *sold == day);
        let mut totals = Totals::default();
        of_day.for_each(|(_, _, of_currency)| totals.add(*of_currency, 1));
        let point = Point::of(day, totals.orders, totals.failed);
        let label = chart::short(day);
        Point { name: day.to_string(), label, is_complete: day != today, ..point }
    });
    let points: Vec<Point> = points.collect();
    let orders: i64 = points.iter().map(|point| point.value).sum();
    chart::bars(
        frame,
        &Bars {
            id: "sales-of-days",
            summary: &SUMMARY.fill(frame.language, &[&format::count(orders)]),
            headings: [frame.say(DAY), frame.say(ORDER_COUNT), frame.say(FAILED)],
            points: &points,
            axis: format::count,
            figure: format::count,
            sort: Sort::Fixed,
        },
    )
}
