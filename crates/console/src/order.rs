//! One order: its lines, its amounts, the course of payment and shipment, and its record as
//! integrators see it.

pub(crate) mod source;

use kiosque_contract::inventory::OrderItem;
use kiosque_contract::{LineItem, OrderHead};
use maud::{Markup, html};

use crate::components::{Column, Tone, badge, card, columns, facts, table};
use crate::devices::path_of as device_path;
use crate::format;
use crate::frame::{Frame, Page};
use crate::orders::{PRICE as TOTAL, payment, shipment};
use crate::text::texts;
use crate::words::{AISLE, COPY, DEVICE, GROUP, PAYMENT, PRODUCT, SHIPMENT, STARTED, SUM_PAID};

pub use source::Arrived;

texts! {
    HEADING: "Order {0}", "订单 {0}";
    TRADE_NO: "Trade number", "交易号";
    TRADE_NO_IN: "Internal trade number", "内部交易号";
    CHANNEL: "Paid by", "支付方式";
    CARD: "Card", "卡号";
    PHONE: "Phone", "电话";
    ARCHIVED: "archived", "已归档";
    AMOUNTS: "Amounts", "金额";
    NAME: "Amount", "项目";
    MAJOR: "Major units", "主单位";
    MINOR: "Minor units", "最小单位";
    REFUNDED: "Refunded", "退款";
    COURSE: "Progress", "过程";
    NO_TIME: "no time reported", "未上报时间";
    LINES: "Lines", "商品明细";
    COUNT: "Count", "数量";
    PRICE: "Price", "单价";
    SUM: "Paid", "金额";
    LINES_MORE: "The lines add up to {0}, {1} more than was paid for the order: a discount on the \
        whole order, for example.", "明细合计 {0}，比订单实付多 {1}，例如整单优惠。";
    LINES_LESS: "The lines add up to {0}, {1} less than was paid for the order.",
        "明细合计 {0}，比订单实付少 {1}。";
    FAULT: "Fault", "故障";
    FAULT_CODE: "code {0}", "代码 {0}";
    RECORD: "Record as integrators see it", "集成方看到的记录";
}

/// One order.
#[derive(Clone, Debug)]
pub struct Order {
    /// The order, with its group.
    pub order: OrderItem,
    /// The name of the group.
    pub group_name: String,
    /// The record of an order list, as formatted JSON.
    pub record: String,
    /// How it arrived, if known.
    pub arrived: Option<Arrived>,
}

/// Renders an order.
pub fn page(frame: &Frame<'_>, view: &Order) -> String {
    let head = &view.order.record.head;
    let heading = HEADING.fill(frame.language, &[&head.order_id]);
    frame.render(&Page {
        heading: &heading,
        note: html! {
            @if view.order.archived { (badge(Tone::Neutral, frame.say(ARCHIVED))) }
        },
        content: html! {
            section.card { (summary(frame, view)) }
            div.grid {
                div.span-8 { (lines(frame, &view.order.record.detail_vo_list, head)) }
                div.span-4 { (course(frame, head)) (amounts(frame, head)) }
                div.span-12 { (source::source(frame, view.arrived.as_ref())) }
                div.span-12 { (record(frame, &view.record)) }
            }
        },
        ..Page::default()
    })
}

fn summary(frame: &Frame<'_>, view: &Order) -> Markup {
    let head = &view.order.record.head;
    let text = |text: &str| html! { (if text.is_empty() { format::NONE } else { text }) };
    let optional = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
    facts(&[
        (
            frame.say(DEVICE),
            html! {
                a href=(device_path(&head.device_code)) { (head.device_code) }
            },
        ),
        (frame.say(GROUP), text(&view.group_name)),
        (frame.say(TRADE_NO), text(&head.trade_no)),
        (frame.say(TRADE_NO_IN), text(&head.trade_no_in)),
        (frame.say(CHANNEL), optional(&head.pay_channel_name)),
        (frame.say(CARD), optional(&head.card_number)),
        (frame.say(PHONE), optional(&head.phone)),
    ])
}

fn lines(frame: &Frame<'_>, lines: &[LineItem], head: &OrderHead) -> Markup {
    let currency = &head.currency;
    let mut columns = columns(frame, &[PRODUCT, AISLE], &[COUNT, PRICE, SUM]);
    columns.extend([SHIPMENT, FAULT].map(|text| Column::text(frame.say(text))));
    let table = table(frame.say(LINES), &columns, lines, |line| {
        html! {
            th scope="row" { (line.goods_name) " " span.note { (line.goods_id) } }
            td { (line.aisle_code) }
            td.number { (format::count(line.count)) }
            td.number { (format::major(line.sale_price, currency)) }
            td.number { (format::major(line.pay_amount, currency)) }
            td { (shipment(frame, line.shipment_status)) }
            td {
                @if line.shipment_err_code != 0 {
                    (FAULT_CODE.fill(frame.language, &[&line.shipment_err_code.to_string()]))
                    " "
                }
                (line.shipment_fail_desc.as_deref().unwrap_or_default())
            }
        }
    });
    let body = html! {
        (table)
        @if let Some(note) = difference(frame, lines, head) { p.note { (note) } }
    };
    card("lines", frame.say(LINES), "", &body)
}

/// Returns the difference between the lines of a paid order and the amount paid, if any.
fn difference(frame: &Frame<'_>, lines: &[LineItem], head: &OrderHead) -> Option<String> {
    if head.pay_amount == 0 || lines.is_empty() {
        return None;
    }
    let sum = lines.iter().fold(0_i64, |sum, line| sum.saturating_add(line.pay_amount));
    let more = sum.saturating_sub(head.pay_amount);
    let text = match more {
        0 => return None,
        1.. => LINES_MORE,
        _ => LINES_LESS,
    };
    let amount = |minor| format::major(minor, &head.currency);
    Some(text.fill(frame.language, &[&amount(sum), &amount(more.saturating_abs())]))
}

fn course(frame: &Frame<'_>, head: &OrderHead) -> Markup {
    let step = |name, status: Option<Markup>, at: Option<&str>| {
        html! {
            li class=[at.is_none().then_some("off")] {
                b { (frame.say(name)) } " " @if let Some(status) = status { (status) }
                br;
                span.note { (at.unwrap_or(frame.say(NO_TIME))) }
            }
        }
    };
    let paid = payment(frame, head.pay_status);
    let shipped = shipment(frame, head.shipment_status);
    let body = html! {
        ul.timeline {
            (step(STARTED, None, Some(&head.trade_start_time)))
            (step(PAYMENT, Some(paid), head.pay_end_time.as_deref()))
            (step(SHIPMENT, Some(shipped), head.shipment_time.as_deref()))
        }
    };
    card("course", frame.say(COURSE), "", &body)
}

fn amounts(frame: &Frame<'_>, head: &OrderHead) -> Markup {
    let columns = columns(frame, &[NAME], &[MAJOR, MINOR]);
    let amounts =
        [(TOTAL, head.total_amount), (SUM_PAID, head.pay_amount), (REFUNDED, head.refund_amount)];
    let table = table(frame.say(AMOUNTS), &columns, amounts, |(name, minor)| {
        html! {
            th scope="row" { (frame.say(name)) }
            td.number { (format::major(minor, &head.currency)) }
            td.number { (minor) }
        }
    });
    card("amounts", frame.say(AMOUNTS), "", &table)
}

fn record(frame: &Frame<'_>, json: &str) -> Markup {
    let body = html! {
        pre #json tabindex="0" { (json) }
        p.more { button type="button" data-copy="json" { (frame.say(COPY)) } }
    };
    card("record", frame.say(RECORD), "JSON", &body)
}
