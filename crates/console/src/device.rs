//! One device: its cabinet, its sales by hour, its latest orders and its owners.

pub(crate) mod cabinet;
pub(crate) mod sales;

use kiosque_contract::inventory::{DeviceItem, DeviceOwner, OrderItem};
use kiosque_model::sales::Totals;
use kiosque_model::{Day, DeviceState, UnixMs};
use maud::{Markup, html};

use crate::chart;
use crate::components::{address, ago, card, columns, empty, facts, parameter, table, time};
use crate::devices::state_badge;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::groups::Groups;
use crate::orders;
use crate::text::texts;
use crate::words::{ADDRESS, CREATED, DAY, GROUP, LAST_ACTIVE, ORDER_COUNT, STATE, STOCK};

pub use cabinet::Aisle;
pub use sales::days as sales_days;

texts! {
    CODE: "Code", "编码";
    MODEL: "Model", "型号";
    NEXT_MOVE: "Next move", "下次转移";
    MOVE: "to {0} at {1}", "{1} 转至 {0}";
    HOURS: "Orders by hour", "按小时订单数";
    HOURS_NOTE: "last 7 days", "最近 7 天";
    HOURS_CUT: "among its latest {0} orders", "取最近 {0} 单";
    HOURS_SUMMARY: "Orders of the last 7 days by hour: {0}", "最近 7 天按小时的订单：共 {0} 单";
    RECENT: "Latest orders", "最近订单";
    ALL_ORDERS: "All orders of this device", "此设备的全部订单";
    NO_ORDERS: "No orders.", "没有订单。";
    OWNERS: "Owners", "归属记录";
    SINCE: "Since", "起";
    UNTIL: "Until", "止";
    BEGINNING: "the beginning", "最初";
    PRESENT: "now", "至今";
}

/// One device.
#[derive(Clone, Debug)]
pub struct Device {
    /// The device.
    pub device: DeviceItem,
    /// Its state.
    pub state: DeviceState,
    /// The names of groups.
    pub groups: Groups,
    /// Its owners, the first one first.
    pub owners: Vec<DeviceOwner>,
    /// Its aisles, in their order.
    pub aisles: Vec<Aisle>,
    /// Its sales on the days of [`sales_days`], each with its day and currency.
    pub sales: Vec<(Day, String, Totals)>,
    /// Its sales in each hour of the last days, today last.
    pub hours: Vec<(Day, [i64; 24])>,
    /// The number of its latest orders from which the hours were counted, if it has more.
    pub hours_of_latest: Option<i64>,
    /// Its latest orders, the last one to arrive first.
    pub orders: Vec<OrderItem>,
}

/// Renders a device.
pub fn page(frame: &Frame<'_>, view: &Device) -> String {
    let device = &view.device;
    frame.render(&Page {
        heading: &device.device_name,
        note: html! { p.note { (device.device_code) } },
        actions: html! {},
        content: html! {
            section.card { (summary(frame, view)) }
            (sales::render(frame, view))
            (cabinet::render(frame, &view.aisles))
            div.grid {
                div.span-8 { (hours(frame, view)) }
                div.span-4 { (owners(frame, view)) }
                div.span-12 { (recent(frame, view)) }
            }
        },
        refresh_s: Some(5),
    })
}

fn summary(frame: &Frame<'_>, view: &Device) -> Markup {
    let device = &view.device;
    let last_active = device.last_active_timestamp.map(UnixMs);
    let next_move = device.next_move.as_ref().map(|next| {
        let at = frame.zone.text(UnixMs(next.since_timestamp));
        MOVE.fill(frame.language, &[view.groups.name_of(&next.group_id), &at])
    });
    let mut named = vec![
        (frame.say(STATE), state_badge(view.state, frame)),
        (frame.say(LAST_ACTIVE), ago(frame, last_active)),
        (frame.say(GROUP), html! { (view.groups.name_of(&device.group_id)) }),
        (frame.say(ORDER_COUNT), html! { (format::count(device.order_count)) }),
        (frame.say(STOCK), html! { (format::count(device.total_curr_stock)) }),
        (frame.say(CODE), html! { (device.device_code) }),
        (frame.say(MODEL), html! { (device.device_model) }),
        (frame.say(ADDRESS), html! { (device.address) }),
        (frame.say(CREATED), time(frame, UnixMs(device.created_timestamp))),
    ];
    if let Some(text) = next_move {
        named.push((frame.say(NEXT_MOVE), html! { (text) }));
    }
    facts(&named)
}

fn hours(frame: &Frame<'_>, view: &Device) -> Markup {
    let orders: i64 = view.hours.iter().flat_map(|(_, counts)| counts).sum();
    let summary = HOURS_SUMMARY.fill(frame.language, &[&format::count(orders)]);
    let cut =
        view.hours_of_latest.map(|count| HOURS_CUT.fill(frame.language, &[&format::count(count)]));
    let note = cut.as_deref().unwrap_or(frame.say(HOURS_NOTE));
    let body = chart::hours(frame, &summary, frame.say(DAY), &view.hours);
    card("hours", frame.say(HOURS), note, &body)
}

fn recent(frame: &Frame<'_>, view: &Device) -> Markup {
    let all = address(Section::Orders.path(), &[&parameter("device", &view.device.device_code)]);
    let body = html! {
        @if view.orders.is_empty() { (empty(frame.say(NO_ORDERS))) }
        @else {
            (orders::rows(frame, &view.orders, None))
            p.more { a href=(all) { (frame.say(ALL_ORDERS)) } }
        }
    };
    card("recent", frame.say(RECENT), "", &body)
}

fn owners(frame: &Frame<'_>, view: &Device) -> Markup {
    let columns = columns(frame, &[GROUP, SINCE, UNTIL], &[]);
    let at = |at: Option<i64>, open| match at {
        Some(at) => time(frame, UnixMs(at)),
        None => html! { (frame.say(open)) },
    };
    let table = table(frame.say(OWNERS), &columns, view.owners.iter().rev(), |owner| {
        html! {
            th scope="row" { (view.groups.name_of(&owner.group_id)) }
            td { (at(owner.since_timestamp, BEGINNING)) }
            td { (at(owner.until_timestamp, PRESENT)) }
        }
    });
    card("owners", frame.say(OWNERS), "", &table)
}
