//! The overview: the sales of a period compared with the previous period, and the devices that need
//! attention.

pub(crate) mod attention;
mod lists;

use kiosque_model::sales::{FleetSales, Turnover, Usd};
use kiosque_model::{Currency, Day, Need, Zone};
use maud::{Markup, html};

use crate::chart::{self, Bars};
use crate::components::{Tile, address, card, download, submit, tile};
use crate::csv;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::groups::Groups;
use crate::orders::{Sales, sales_path};
use crate::period::{Period, Span, SpanLength, picker};
use crate::sort::Sort;
use crate::text::texts;
use crate::words::{DAY, ORDER_COUNT};

pub use crate::chart::Point;

texts! {
    SALES: "Sales", "销售额";
    AVERAGE: "Average order", "客单价";
    SHIPPED: "Shipment success", "出货成功率";
    ONLINE: "Online now", "当前在线";
    OF_DEVICES: "{0} of {1} devices", "{1} 台设备中 {0} 台在线";
    VERSUS: "vs {0} d before", "较前 {0} 天";
    NOT_COMPARED: "no whole day yet", "尚无完整的一天";
    VERSUS_WEEKDAY: "vs the same weekday, {0}", "较上周同日 {0}";
    ON_WEEKDAY: "the same weekday, {0}: {1}", "上周同日 {0}：{1}";
    NO_SALES_BEFORE: "no sales before", "此前无销售";
    TREND: "Sales trend", "销售趋势";
    PER_DAY: "US dollars a day", "每日美元";
    PER_WEEK: "US dollars a week", "每周美元";
    PER_MONTH: "US dollars a month", "每月美元";
    TREND_SUMMARY: "Sales from {0} to {1}: {2} in {3} orders", "{0} 至 {1} 的销售额：{2}，共 {3} 单";
    WEEK: "Week", "周";
    MONTH: "Month", "月份";
    SPAN: "{0} to {1}", "{0} 至 {1}";
    PRODUCTS: "Best sellers", "畅销商品";
    ITEMS: "items", "件";
    DEVICES: "Sales by device", "设备销售额";
    DOLLARS: "US dollars", "美元";
    FAILURES: "Shipment failures", "出货失败";
    OF_SHIPMENTS: "of {0} orders", "共 {0} 单";
    NO_SALES: "No sales in these days.", "这些日期没有销售。";
    LAST_SALES: "These days have no sales. The last sales were on {0}.",
        "这些日期没有销售。最近的销售在 {0}。";
    SHOW_THEM: "Show the 28 days up to then", "查看截至该日的 28 天";
    NO_FAILURES: "No shipment has failed.", "没有出货失败的订单。";
    WITHOUT_RATE: "Not in the dollar amounts, since there is no exchange rate: {0}. Import rates \
        with “kiosque import rates”.", "因缺少汇率，以下未计入美元金额：{0}。请用“kiosque import rates”导入。";
    IN_CURRENCY: "{0} orders in {1}", "{1} {0} 单";
}

/// The days up to the last sales to which a period without sales leads.
const EARLIER_DAYS: i64 = 28;
/// The maximum number of rows on a card.
const ROWS_MAX: usize = 8;

/// The figures of a group, or of all groups.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The days that it shows.
    pub period: Period,
    /// The group that it shows.
    pub groups: Groups,
    /// The sales by day include the previous period; everything else is only about the period.
    pub sales: FleetSales,
    /// The order of the figures of the trend, if they are sorted.
    pub sort: Sort,
}

impl Overview {
    /// Returns the sales of the days from one to another.
    fn sum(&self, first: Day, last: Day) -> Turnover {
        let mut sum = Turnover::default();
        let days = self.sales.days.iter().filter(|(day, _)| (first..=last).contains(day));
        days.for_each(|(_, turnover)| sum.join(turnover));
        sum
    }

    /// Returns the address of the list of the period's sales, of all devices or of one.
    fn sales_path(&self, sales: Sales, device: &str) -> String {
        sales_path(sales, (self.period.first(), self.period.last()), device, &self.groups)
    }

    /// Returns the sales of the period's days that have ended, and of as many days of the previous
    /// period; `None` if no day has ended.
    fn compared(&self) -> Option<(Turnover, Turnover)> {
        let (first, last) = (self.period.first(), self.period.last_ended()?);
        let before = |day: Day| Day(day.0 - self.period.shift());
        Some((self.sum(first, last), self.sum(before(first), before(last))))
    }
}

/// Renders the overview.
pub fn page(frame: &Frame<'_>, view: &Overview) -> String {
    let chosen = view.groups.chosen.as_deref().map(|id| view.groups.name_of(id));
    let heading = chosen.unwrap_or(frame.say(Section::Overview.name()));
    frame.render(&Page {
        heading,
        note: html! { p.note { (view.period.text(frame)) } },
        actions: html! {
            (group_picker(frame, view))
            (picker(frame, view.period, &view.groups))
            (download(frame,
                &[&view.period.query(), &view.groups.query(), &view.sort.query(), "format=csv"]))
        },
        content: html! {
            (tiles(frame, view))
            (without_rate(frame, view))
            (earlier(frame, view))
            div.grid {
                div.span-8 { (trend(frame, view)) }
                div.span-4 { (lists::products(frame, view)) }
                div.span-4 { (lists::devices(frame, view)) }
                div.span-4 { (attention::card_of(frame, view)) }
                div.span-4 { (lists::failures(frame, view)) }
            }
        },
        refresh_s: Some(5),
    })
}

/// Returns the sales of each day of the period as CSV.
pub fn csv(view: &Overview, zone: &Zone) -> String {
    fn dollars(amount: Usd) -> String {
        Currency::USD.major_of_minor(amount.cents().into())
    }
    let columns: [csv::Column<(Day, Turnover)>; 8] = [
        ("day", |(day, _)| day.to_string()),
        ("orders", |(_, of)| of.orders.to_string()),
        ("items", |(_, of)| of.items.to_string()),
        ("sales_usd", |(_, of)| dollars(of.amount)),
        ("refunds_usd", |(_, of)| dollars(of.refund)),
        ("shipped", |(_, of)| of.shipped.to_string()),
        ("failed", |(_, of)| of.failed.to_string()),
        ("orders_without_rate", |(_, of)| of.unconverted_orders.to_string()),
    ];
    let days = (view.period.first().0..=view.period.last().0).map(Day);
    let days = days.filter(|day| zone.has(*day)).map(|day| {
        let of = view.sum(day, day);
        Point::of(day, of.amount.cents(), of.orders)
    });
    let days: Vec<Point> = days.collect();
    let rows = view.sort.rows(&days).into_iter().map(|day| day.first);
    csv::table(&columns, rows.map(|day| (day, view.sum(day, day))), None)
}

fn group_picker(frame: &Frame<'_>, view: &Overview) -> Markup {
    // The period is kept.
    let query = view.period.query();
    let period = query.split('&').filter_map(|part| part.split_once('='));
    html! {
        form.filter method="get" action=(frame.path()) data-submit {
            @for (name, value) in period { input type="hidden" name=(name) value=(value); }
            (view.groups.field(frame))
            (submit(frame))
        }
    }
}

fn tiles(frame: &Frame<'_>, view: &Overview) -> Markup {
    let all = view.sum(view.period.first(), view.period.last());
    let compared = view.compared();
    let change = |figure: fn(&Turnover) -> i64| {
        let (now, before) = compared.as_ref()?;
        format::change_permille(figure(before), figure(now))
    };
    let first_before = view.period.first_before();
    let versus = match view.period.is_day() {
        true => VERSUS_WEEKDAY.fill(frame.language, &[&first_before.to_string()]),
        false => VERSUS.fill(frame.language, &[&view.period.length().to_string()]),
    };
    let day_before = view.sum(first_before, first_before);
    let note = |change: Option<i64>, before: String| match (&compared, change) {
        (Some(_), Some(_)) => versus.clone(),
        (Some(_), None) => frame.say(NO_SALES_BEFORE).to_owned(),
        // Today has not ended: a change would compare a part with a whole day.
        (None, _) if view.period.is_day() => {
            ON_WEEKDAY.fill(frame.language, &[&first_before.to_string(), &before])
        }
        (None, _) => frame.say(NOT_COMPARED).to_owned(),
    };
    let figure = |name, value: fn(&Turnover) -> String, change: Option<i64>| {
        let href = (name == ORDER_COUNT).then(|| view.sales_path(Sales::All, ""));
        let note = &note(change, value(&day_before));
        tile(&Tile { name: frame.say(name), value: value(&all), href, change, note })
    };
    let amount = |turnover: &Turnover| turnover.amount.cents();
    let shipped = |turnover: &Turnover| {
        kiosque_model::sales::permille(turnover.shipped, turnover.shipped + turnover.failed)
    };
    let online = view.sales.attention.device_count - view.sales.attention.count(Need::Silent);
    let of_devices = [format::count(online), format::count(view.sales.attention.device_count)];
    let of_devices = OF_DEVICES.fill(frame.language, &of_devices.each_ref().map(String::as_str));
    html! {
        dl.tiles #tiles data-live {
            (figure(SALES, |of| format::dollars(of.amount.cents()), change(amount)))
            (figure(ORDER_COUNT, |of| format::count(of.orders), change(|turnover| turnover.orders)))
            (figure(AVERAGE, |of| format::dollars(of.average_order_cents()),
                change(Turnover::average_order_cents)))
            (figure(SHIPPED, |of| format::share(of.shipped, of.shipped + of.failed),
                change(shipped)))
            (tile(&Tile {
                name: frame.say(ONLINE),
                value: format::share(online, view.sales.attention.device_count),
                href: None,
                change: None,
                note: &of_devices,
            }))
        }
    }
}

fn without_rate(frame: &Frame<'_>, view: &Overview) -> Markup {
    let texts = view.sales.without_rate.iter().map(|(currency, orders)| {
        IN_CURRENCY.fill(frame.language, &[&format::count(*orders), currency])
    });
    let texts: Vec<String> = texts.collect();
    html! {
        @if !texts.is_empty() {
            p.notice.warning role="note" {
                (WITHOUT_RATE.fill(frame.language, &[&texts.join(", ")]))
            }
        }
    }
}

/// Links to the last days with sales, if the period has none.
fn earlier(frame: &Frame<'_>, view: &Overview) -> Markup {
    let Some(last) = view.sales.last_before else { return html! {} };
    let first = Day(last.0 + 1 - EARLIER_DAYS);
    let query = format!("from={first}&to={last}");
    html! {
        p.notice role="note" {
            (LAST_SALES.fill(frame.language, &[&last.to_string()])) " "
            a href=(address(frame.path(), &[&query, &view.groups.query()])) {
                (frame.say(SHOW_THEM))
            }
        }
    }
}

fn trend(frame: &Frame<'_>, view: &Overview) -> Markup {
    let (unit, name) = match view.period.span_length() {
        SpanLength::Day => (PER_DAY, DAY),
        SpanLength::Week => (PER_WEEK, WEEK),
        SpanLength::Month => (PER_MONTH, MONTH),
    };
    let all = view.sum(view.period.first(), view.period.last());
    let summary = TREND_SUMMARY.fill(
        frame.language,
        &[
            &view.period.first().to_string(),
            &view.period.last().to_string(),
            &format::dollars(all.amount.cents()),
            &format::count(all.orders),
        ],
    );
    let chart = Bars {
        id: "trend",
        summary: &summary,
        headings: [frame.say(name), frame.say(SALES), frame.say(ORDER_COUNT)],
        points: &points(frame, view),
        axis: format::whole_dollars,
        figure: format::dollars,
        sort: view.sort,
    };
    card("trend", frame.say(TREND), frame.say(unit), &chart::bars(frame, &chart))
}

fn points(frame: &Frame<'_>, view: &Overview) -> Vec<Point> {
    let length = view.period.span_length();
    let point = |span: Span| {
        let turnover = view.sum(span.first, span.last);
        let (first, last) = (span.first.to_string(), span.last.to_string());
        let day = chart::short(span.first);
        let (name, label) = match length {
            SpanLength::Day => (first, day),
            SpanLength::Week => (SPAN.fill(frame.language, &[&first, &last]), day),
            SpanLength::Month => {
                let month = first.get(..7).unwrap_or(&first).to_owned();
                (month.clone(), month)
            }
        };
        // Previous months have other lengths, so no span of theirs is the same.
        let shift = |day: Day| Day(day.0 - view.period.shift());
        let before = (length != SpanLength::Month)
            .then(|| view.sum(shift(span.first), shift(span.last)).amount.cents());
        let second_href = sales_path(Sales::All, (span.first, span.last), "", &view.groups);
        let second_href = Some(second_href).filter(|_| turnover.orders > 0);
        let is_complete = span.is_complete;
        let point = Point::of(span.first, turnover.amount.cents(), turnover.orders);
        Point { name, label, second_href, before, is_complete, ..point }
    };
    let exists = |span: &Span| length != SpanLength::Day || frame.zone.has(span.first);
    view.period.spans().into_iter().filter(exists).map(point).collect()
}

#[cfg(test)]
mod tests;
