//! The list of orders.

use kiosque_contract::inventory::OrderItem;
use kiosque_model::Day;
use kiosque_model::order::{PayStatus, ShipmentStatus};
use maud::{Markup, html};

use crate::components::{
    Column, Tone, badge, choice, columns, download, empty, encoded, filter, only_card, pager,
    query_of, table, text_field,
};
use crate::csv;
use crate::devices::path_of as device_path;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::groups::Groups;
use crate::text::{Text, texts};
use crate::words::{
    ALL, FAILED, FROM, GROUP, NONE, ORDER, PAYMENT, SHIPMENT, STARTED, SUM_PAID, TO,
};

texts! {
    NUMBER: "Trade number or order id", "交易号或订单号";
    DEVICE: "Device code", "设备编码";
    CARD: "Card’s last four", "卡号后四位";
    ITEMS: "Items", "件数";
    PRICE: "Price", "订单金额";
    OR: "{0} or {1}", "{0}或{1}";
    SOLD: "paid, including refunded", "已支付（含退款）";
    NEEDS_DEVICE: "Searching by card requires a device: enter its code.",
        "卡号仅用于筛选某台设备的订单：请输入设备编码。";
    NONE_FOUND: "No order matches.", "没有匹配的订单。";
    NO_DEVICE: "There is no device with this code.", "没有此编码的设备。";
    MORE: "Only a part of the orders was searched. The next page continues.",
        "仅搜索了部分订单，下一页继续。";
    MORE_MATCH: "More orders may match than these. A device, a group or days narrow the search.",
        "可能还有更多匹配的订单。可按设备、分组或日期缩小范围。";
    UNPAID: "unpaid", "未支付";
    PAID: "paid", "已支付";
    CANCELLED: "cancelled", "已取消";
    REFUNDING: "refunding", "退款中";
    REFUNDED: "refunded", "已退款";
    SHIPPED: "shipped", "成功";
    SHIPPING: "in progress", "进行中";
    PARTIAL: "partial", "部分成功";
    OTHER: "status {0}", "状态 {0}";
}

/// The payment states of orders that are sales.
const SOLD_STATES: &str = "paid,refunding,refunded";
/// The shipment states that count as failed.
const FAILED_STATES: &str = "failed,partial";
/// The shipment states with a result.
const ENDED_STATES: &str = "success,failed,partial";
/// The state of open refunds.
const REFUNDING_STATE: &str = "refunding";

/// A part of the list of orders.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The names of groups, and the group of the orders.
    pub groups: Groups,
    /// The values of the form's fields.
    pub fields: Fields,
    /// The result of the search.
    pub found: Found,
    /// The key after which the part begins, if any.
    pub after: Option<String>,
    /// The key of the next part; `None` in the last one.
    pub next: Option<String>,
}

/// The values of the form, as given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `q`: a trade number or an order id.
    pub number: String,
    /// `device`: the code of a device.
    pub device: String,
    /// `card`: the last four digits of a card, among the orders of a device.
    pub card: String,
    /// `shipment`: comma-separated words for shipment states.
    pub shipment: String,
    /// `payment`: words for payment states.
    pub payment: String,
    /// `from`: the first day.
    pub from: String,
    /// `to`: the last day.
    pub to: String,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Found {
    /// A card was given, but neither a device nor a number.
    Nothing,
    /// The device does not exist.
    NoDevice,
    /// Orders, the newest first, and whether orders that were not searched may match.
    Orders(Vec<OrderItem>, Searched),
}

/// The extent of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// Everything on this page.
    Whole,
    /// The limit of one page was reached; the next one continues.
    Partly,
    /// The limit of a search by number was reached, which has no next page.
    Limited,
}

/// The sales of a period to which a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sales {
    /// All sales.
    All,
    /// Sales with a shipment that succeeded or failed.
    Ended,
    /// Sales with a shipment that failed, fully or partially.
    Failed,
}

/// Returns the address of the list of the sales on some days; of all devices if `device` is empty.
pub(crate) fn sales_path(
    sales: Sales,
    (first, last): (Day, Day),
    device: &str,
    groups: &Groups,
) -> String {
    let shipment = match sales {
        Sales::All => "",
        Sales::Ended => ENDED_STATES,
        Sales::Failed => FAILED_STATES,
    };
    let fields = Fields {
        device: device.to_owned(),
        shipment: shipment.to_owned(),
        payment: SOLD_STATES.to_owned(),
        from: first.to_string(),
        to: last.to_string(),
        ..Fields::default()
    };
    format!("{}?{}", Section::Orders.path(), query(&fields, groups))
}

/// Returns the address of the list of the orders that are being refunded.
pub(crate) fn refunding_path(groups: &Groups) -> String {
    let payment = REFUNDING_STATE.to_owned();
    let fields = Fields { payment, ..Fields::default() };
    format!("{}?{}", Section::Orders.path(), query(&fields, groups))
}

/// Renders the list.
pub fn page(frame: &Frame<'_>, view: &Orders) -> String {
    let query = query(&view.fields, &view.groups);
    let body = html! {
        (filter(frame, Section::Orders.path(), &fields(frame, view)))
        @match &view.found {
            Found::Nothing => (empty(frame.say(NEEDS_DEVICE))),
            Found::NoDevice => (empty(frame.say(NO_DEVICE))),
            Found::Orders(orders, searched) => {
                @if orders.is_empty() { (empty(frame.say(NONE_FOUND))) }
                @else { (rows(frame, orders, Some(&view.groups))) }
                @match searched {
                    Searched::Whole => {}
                    Searched::Partly => { p.note { (frame.say(MORE)) } }
                    Searched::Limited => { p.note { (frame.say(MORE_MATCH)) } }
                }
            }
        }
        (pager(frame, &query, view.after.as_deref(), view.next.as_deref()))
    };
    let heading = frame.say(Section::Orders.name());
    let after = query_of(&[("after", view.after.as_deref().unwrap_or_default())]);
    frame.render(&Page {
        heading,
        actions: html! {
            @if matches!(view.found, Found::Orders(..)) {
                (download(frame, &[&query, &after, "format=csv"]))
            }
        },
        content: only_card("orders", heading, &body),
        ..Page::default()
    })
}

fn query(fields: &Fields, groups: &Groups) -> String {
    let Fields { number, device, card, shipment, payment, from, to } = fields;
    query_of(&[
        ("q", number),
        ("device", device),
        ("card", card),
        ("shipment", shipment),
        ("payment", payment),
        ("from", from),
        ("to", to),
        ("group", groups.chosen.as_deref().unwrap_or_default()),
    ])
}

fn fields(frame: &Frame<'_>, view: &Orders) -> Markup {
    let Fields { number, device, card, shipment, payment, from, to } = &view.fields;
    let or = |one: Text, other: Text| OR.fill(frame.language, &[frame.say(one), frame.say(other)]);
    let shipments = SHIPMENTS.map(|(_, text)| text);
    let payments = PAYMENTS.map(|(_, text)| text);
    let failed = (FAILED_STATES, or(FAILED, PARTIAL));
    let sold = (SOLD_STATES, frame.say(SOLD).to_owned());
    html! {
        (text_field("search", "q", frame.say(NUMBER), number))
        (text_field("search", "device", frame.say(DEVICE), device))
        (text_field("date", "from", frame.say(FROM), from))
        (text_field("date", "to", frame.say(TO), to))
        (states(
            frame, "shipment", SHIPMENT, ShipmentStatus::WORDS, shipments, failed, shipment
        ))
        (states(frame, "payment", PAYMENT, PayStatus::WORDS, payments, sold, payment))
        (text_field("text", "card", frame.say(CARD), card))
        (view.groups.field(frame))
    }
}

/// Renders the choice of states: all, each single word, and `several` together. Other words in an
/// address are also offered.
fn states(
    frame: &Frame<'_>,
    name: &str,
    label: Text,
    words: &[&str],
    texts: [Text; 5],
    several: (&str, String),
    chosen: &str,
) -> Markup {
    let each = words.iter().zip(texts).map(|(word, text)| (*word, frame.say(text).to_owned()));
    let mut options: Vec<(&str, String)> = each.chain([several]).collect();
    if !chosen.is_empty() && options.iter().all(|(words, _)| *words != chosen) {
        options.push((chosen, chosen.to_owned()));
    }
    choice(name, frame.say(label), frame.say(ALL), options, chosen)
}

/// Renders orders as a table; with `groups`, orders of several devices and groups.
pub(crate) fn rows(frame: &Frame<'_>, orders: &[OrderItem], groups: Option<&Groups>) -> Markup {
    let origin: &[Text] = if groups.is_some() { &[DEVICE, GROUP] } else { &[] };
    let texts = [&[STARTED, ORDER], origin].concat();
    let mut columns = columns(frame, &texts, &[ITEMS, SUM_PAID, PRICE]);
    columns.extend([PAYMENT, SHIPMENT].map(|text| Column::text(frame.say(text))));
    let amount = |name: Text, minor, currency: &str| {
        html! { td.number data-name=(frame.say(name)) { (format::major(minor, currency)) } }
    };
    let table = table(frame.say(Section::Orders.name()), &columns, orders, |order| {
        let head = &order.record.head;
        let items: i64 = order.record.detail_vo_list.iter().map(|line| line.count).sum();
        html! {
            td { time { (head.trade_start_time) } }
            th scope="row" { a href=(path_of(&order.group_id, &head.order_id)) {
                (head.order_id)
            } }
            @if let Some(groups) = groups {
                td { a href=(device_path(&head.device_code)) { (head.device_code) } }
                td.wide { (groups.name_of(&order.group_id)) }
            }
            td.number.wide { (format::count(items)) }
            (amount(SUM_PAID, head.pay_amount, &head.currency))
            (amount(PRICE, head.total_amount, &head.currency))
            td { (payment(frame, head.pay_status)) }
            td { (shipment(frame, head.shipment_status)) }
        }
    });
    html! { div.orders { (table) } }
}

/// The states of a payment, by their numbers.
const PAYMENTS: [(Tone, Text); 5] = [
    (Tone::Neutral, UNPAID),
    (Tone::Good, PAID),
    (Tone::Neutral, CANCELLED),
    (Tone::Warning, REFUNDING),
    (Tone::Warning, REFUNDED),
];
/// The states of a shipment, by their numbers.
const SHIPMENTS: [(Tone, Text); 5] = [
    (Tone::Neutral, NONE),
    (Tone::Good, SHIPPED),
    (Tone::Neutral, SHIPPING),
    (Tone::Bad, FAILED),
    (Tone::Warning, PARTIAL),
];

/// Renders a `payStatus`.
pub(crate) fn payment(frame: &Frame<'_>, status: i64) -> Markup {
    state(frame, &PAYMENTS, status)
}

/// Renders a `shipmentStatus`.
pub(crate) fn shipment(frame: &Frame<'_>, status: i64) -> Markup {
    state(frame, &SHIPMENTS, status)
}

fn state(frame: &Frame<'_>, states: &[(Tone, Text)], status: i64) -> Markup {
    match usize::try_from(status).ok().and_then(|status| states.get(status)) {
        Some((tone, text)) => badge(*tone, frame.say(*text)),
        None => badge(Tone::Neutral, &OTHER.fill(frame.language, &[&status.to_string()])),
    }
}

/// Returns the path of an order's page.
pub(crate) fn path_of(group: &str, order: &str) -> String {
    format!("{}/{}/{}", Section::Orders.path(), encoded(group), encoded(order))
}

/// Returns the orders of a list as CSV. Amounts are minor units of the currency. The last row of a
/// search that was limited says so in its first column.
pub fn csv(view: &Orders) -> String {
    let columns: [csv::Column<&OrderItem>; 11] = [
        ("trade_start_time", |order| order.record.head.trade_start_time.clone()),
        ("group_id", |order| order.group_id.clone()),
        ("device_code", |order| order.record.head.device_code.clone()),
        ("order_id", |order| order.record.head.order_id.clone()),
        ("trade_no", |order| order.record.head.trade_no.clone()),
        ("trade_no_in", |order| order.record.head.trade_no_in.clone()),
        ("currency", |order| order.record.head.currency.clone()),
        ("pay_amount", |order| order.record.head.pay_amount.to_string()),
        ("refund_amount", |order| order.record.head.refund_amount.to_string()),
        ("pay_status", |order| order.record.head.pay_status.to_string()),
        ("shipment_status", |order| order.record.head.shipment_status.to_string()),
    ];
    let (orders, searched): (&[OrderItem], Searched) = match &view.found {
        Found::Orders(orders, searched) => (orders, *searched),
        Found::Nothing | Found::NoDevice => (&[], Searched::Whole),
    };
    // A limited search has no next page.
    let more = view.next.is_some().then_some(csv::MORE_ROWS);
    let more = if searched == Searched::Limited { Some(MORE_MATCH.en) } else { more };
    csv::table(&columns, orders, more)
}
