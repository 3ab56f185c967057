//! The list of orders.

use kiosque_contract::inventory::OrderItem;
use maud::{Markup, html};

use crate::components::{
    Column, IsFirst, Tone, badge, card, download, empty, encoded, filter, pager, parameter, table,
    text_field,
};
use crate::csv;
use crate::devices::path_of as device_path;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::groups::Groups;
use crate::text::texts;

texts! {
    NUMBER: "Trade number or order id", "交易号或订单号";
    DEVICE: "Device code", "设备编码";
    CARD: "Card’s last four", "卡号后四位";
    FROM: "From", "从";
    TO: "To", "至";
    TIME: "Trade started", "交易开始";
    ORDER: "Order", "订单";
    ITEMS: "Items", "件数";
    AMOUNT: "Amount", "金额";
    PAYMENT: "Payment", "支付";
    SHIPMENT: "Shipment", "出货";
    GROUP: "Group", "分组";
    HINT: "The orders that arrived or changed last. Give a device, or the number of an order, for \
        others.", "最近到达或更改的订单。查找其他订单请输入设备编码或订单编号。";
    NEEDS_DEVICE: "Days and cards select among the orders of a device: give its code.",
        "日期和卡号仅用于筛选某台设备的订单：请输入设备编码。";
    NONE_FOUND: "No order matches.", "没有匹配的订单。";
    NO_DEVICE: "There is no device with this code.", "没有此编码的设备。";
    MORE: "Only a part of the orders was searched. The next page goes on.",
        "仅搜索了部分订单，下一页继续。";
    UNPAID: "unpaid", "未支付";
    PAID: "paid", "已支付";
    CANCELLED: "cancelled", "已取消";
    REFUNDING: "refunding", "退款中";
    REFUNDED: "refunded", "已退款";
    NOT_SHIPPED: "none", "无";
    SHIPPED: "shipped", "成功";
    SHIPPING: "in progress", "进行中";
    FAILED: "failed", "失败";
    PARTIAL: "partial", "部分成功";
    OTHER: "status {0}", "状态 {0}";
}

/// A part of the list of orders.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The names of groups, and the group of the orders.
    pub groups: Groups,
    /// The values of the form's fields.
    pub fields: Fields,
    /// The result of the search.
    pub found: Found,
    /// Whether the part begins after a key, and the key of the next one.
    pub after: Option<String>,
    /// The key of the next part; `None` in the last one.
    pub next: Option<String>,
}

/// The values of the form, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `q`: a trade number or an order id.
    pub number: String,
    /// `device`: the code of a device.
    pub device: String,
    /// `card`: the last four digits of a card, among the orders of a device.
    pub card: String,
    /// `from`: the first day, among the orders of a device.
    pub from: String,
    /// `to`: the last day.
    pub to: String,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Found {
    /// A day or a card was given, and neither a device nor a number.
    Nothing,
    /// Nothing was given: the orders that arrived or changed last.
    Newest(Vec<OrderItem>),
    /// The device does not exist.
    NoDevice,
    /// Orders, the last one to arrive first, and whether orders may match that were not searched.
    Orders(Vec<OrderItem>, Searched),
}

/// How much a search has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// All that is on this page.
    Whole,
    /// The limit of one page was reached.
    Partly,
}

/// The orders that a table lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Those of one device.
    Device,
    /// Those of any device.
    Any,
}

/// Renders the list.
#[must_use]
pub fn page(frame: &Frame<'_>, view: &Orders) -> String {
    let query = query(view);
    let body = html! {
        (filter(frame, Section::Orders.path(), &fields(frame, view)))
        @match &view.found {
            Found::Nothing => (empty(frame.say(NEEDS_DEVICE))),
            Found::Newest(orders) => {
                p.note { (frame.say(HINT)) }
                @if !orders.is_empty() { (rows(frame, orders, Of::Any)) }
            }
            Found::NoDevice => (empty(frame.say(NO_DEVICE))),
            Found::Orders(orders, searched) => {
                @if orders.is_empty() { (empty(frame.say(NONE_FOUND))) }
                @else { (rows(frame, orders, Of::Any)) }
                @if *searched == Searched::Partly { p.note { (frame.say(MORE)) } }
            }
        }
        (pager(frame, &query, IsFirst::of(view.after.as_deref()), view.next.as_deref()))
    };
    let heading = frame.say(Section::Orders.name());
    let csv = format!("{}?{query}&format=csv", Section::Orders.path());
    frame.render(&Page {
        heading,
        note: html! {},
        actions: html! {
            @if matches!(view.found, Found::Orders(..) | Found::Newest(_)) {
                (download(frame, &csv))
            }
        },
        content: card("orders", heading, "", &body),
        refresh_s: None,
    })
}

fn query(view: &Orders) -> String {
    let Fields { number, device, card, from, to } = &view.fields;
    let parts = [("q", number), ("device", device), ("card", card), ("from", from), ("to", to)];
    let parts = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let mut parts: Vec<String> = parts.map(|(name, value)| parameter(name, value)).collect();
    parts.extend(Some(view.groups.query()).filter(|query| !query.is_empty()));
    parts.join("&")
}

fn fields(frame: &Frame<'_>, view: &Orders) -> Markup {
    let Fields { number, device, card, from, to } = &view.fields;
    html! {
        (text_field("search", "q", frame.say(NUMBER), number))
        (text_field("search", "device", frame.say(DEVICE), device))
        (text_field("date", "from", frame.say(FROM), from))
        (text_field("date", "to", frame.say(TO), to))
        (text_field("text", "card", frame.say(CARD), card))
        (view.groups.field(frame))
    }
}

/// Renders orders as a table.
pub(crate) fn rows(frame: &Frame<'_>, orders: &[OrderItem], of: Of) -> Markup {
    let mut columns = vec![Column::text(frame.say(TIME)), Column::text(frame.say(ORDER))];
    if of == Of::Any {
        columns.extend([DEVICE, GROUP].map(|text| Column::text(frame.say(text))));
    }
    columns.extend([ITEMS, AMOUNT].map(|text| Column::number(frame.say(text))));
    columns.extend([PAYMENT, SHIPMENT].map(|text| Column::text(frame.say(text))));
    let rows = html! {
        @for order in orders {
            @let head = &order.record.head;
            @let items: i64 = order.record.detail_vo_list.iter().map(|line| line.count).sum();
            tr {
                td { time { (head.trade_start_time) } }
                th scope="row" { a href=(path_of(&order.group_id, &head.order_id)) {
                    (head.order_id)
                } }
                @if of == Of::Any {
                    td { a href=(device_path(&head.device_code)) { (head.device_code) } }
                    td { (order.group_id) }
                }
                td.number { (format::count(items)) }
                td.number { (format::major(head.pay_amount, &head.currency)) }
                td { (payment(frame, head.pay_status)) }
                td { (shipment(frame, head.shipment_status)) }
            }
        }
    };
    table(frame.say(Section::Orders.name()), &columns, &rows)
}

/// Renders a `payStatus`.
pub(crate) fn payment(frame: &Frame<'_>, status: i64) -> Markup {
    let (tone, text) = match status {
        0 => (Tone::Neutral, UNPAID),
        1 => (Tone::Good, PAID),
        2 => (Tone::Neutral, CANCELLED),
        3 => (Tone::Warning, REFUNDING),
        4 => (Tone::Warning, REFUNDED),
        other => return unknown(frame, other),
    };
    badge(tone, frame.say(text))
}

/// Renders a `shipmentStatus`.
pub(crate) fn shipment(frame: &Frame<'_>, status: i64) -> Markup {
    let (tone, text) = match status {
        0 => (Tone::Neutral, NOT_SHIPPED),
        1 => (Tone::Good, SHIPPED),
        2 => (Tone::Neutral, SHIPPING),
        3 => (Tone::Bad, FAILED),
        4 => (Tone::Warning, PARTIAL),
        other => return unknown(frame, other),
    };
    badge(tone, frame.say(text))
}

fn unknown(frame: &Frame<'_>, status: i64) -> Markup {
    badge(Tone::Neutral, &OTHER.fill(frame.language, &[&status.to_string()]))
}

/// Returns the path of an order's page.
pub(crate) fn path_of(group: &str, order: &str) -> String {
    format!("{}/{}/{}", Section::Orders.path(), encoded(group), encoded(order))
}

/// Returns the orders of a list as CSV. Amounts are minor units of the currency.
#[must_use]
pub fn csv(view: &Orders) -> String {
    const COLUMNS: [&str; 11] = [
        "trade_start_time",
        "group_id",
        "device_code",
        "order_id",
        "trade_no",
        "trade_no_in",
        "currency",
        "pay_amount",
        "refund_amount",
        "pay_status",
        "shipment_status",
    ];
    let orders = match &view.found {
        Found::Orders(orders, _) | Found::Newest(orders) => orders.as_slice(),
        Found::Nothing | Found::NoDevice => &[],
    };
    csv::file(
        COLUMNS,
        orders.iter().map(|order| {
            let head = order.record.head.clone();
            [
                head.trade_start_time,
                order.group_id.clone(),
                head.device_code,
                head.order_id,
                head.trade_no,
                head.trade_no_in,
                head.currency,
                head.pay_amount.to_string(),
                head.refund_amount.to_string(),
                head.pay_status.to_string(),
                head.shipment_status.to_string(),
            ]
        }),
    )
}
