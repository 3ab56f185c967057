//! Input: streams of orders by key, imports, rejected lines, and heartbeats.

use std::cmp::Reverse;

use kiosque_contract::RejectedOrder;
use kiosque_contract::inventory::{ImportItem, ImportState};
use kiosque_model::intake::KeyOrders;
use kiosque_model::{UnixMs, shortened};
use maud::{Markup, Render, html};

use crate::chart::spark;
use crate::components::{
    Column, Tone, ago, badge, card, columns, download, empty, facts, table, time,
};
use crate::csv;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::text::{Text, texts};
use crate::words::{FILE, KEY, REASON, STATE, TIME, USER};

texts! {
    STREAMS: "Streams by key", "按密钥统计的订单流";
    OF_NODE: "of this node, last {0} minutes", "本节点，近 {0} 分钟";
    OTHER_KEYS: "other keys", "其他密钥";
    PER_SECOND: "Orders/s, last minute", "近一分钟订单/秒";
    MINUTES: "Orders a minute", "每分钟订单";
    NEWEST: "Newest order", "最新订单";
    LAG: "Its lag", "其延迟";
    LAG_NOTE: "The lag is the time from the start of a trade until its order was stored.",
        "延迟指从交易开始到订单存储的时间。";
    SECONDS: "{0} s", "{0} 秒";
    MINUTES_LONG: "{0} min", "{0} 分钟";
    HOURS: "{0} h", "{0} 小时";
    DAYS: "{0} d", "{0} 天";
    MINUTES_SUMMARY: "Orders per minute, oldest first: {0}", "每分钟订单数（最后为最近）：{0}";
    ACCEPTED: "New", "新增";
    UPDATED: "Updated", "更新";
    UNCHANGED: "Unchanged", "未变";
    REJECTED: "Rejected", "被拒";
    NO_STREAMS: "No stream has sent orders to this node in the last minutes.",
        "近几分钟没有订单流发送到本节点。";
    QUEUE: "Queue and heartbeats", "队列与心跳";
    STREAMS_OPEN: "Open streams", "打开的订单流";
    QUEUE_BYTES: "Orders being validated or waiting to be stored", "校验中或等待存储的订单";
    BYTES: "{0} bytes", "{0} 字节";
    STORING: "Group commit", "组提交";
    IS_STORING: "a transaction is in progress, {0} chunks are waiting", "事务进行中，{0} 个数据块等待";
    IS_IDLE: "idle", "空闲";
    HEARTBEATS: "Heartbeats not written yet", "尚未写入的心跳";
    LAST_ACTIVE: "Last order or heartbeat of any device", "任一设备的最近订单或心跳";
    IMPORTS: "Imports", "导入";
    IMPORT: "Import", "导入编号";
    BEGUN: "Begun", "开始";
    RESULT: "Result", "结果";
    RUNNING: "running", "进行中";
    COMPLETE: "complete", "已完成";
    INTERRUPTED: "interrupted", "已中断";
    COUNTS: "{0} new, {1} updated, {2} unchanged, {3} rejected", "新增 {0}，更新 {1}，未变 {2}，被拒 {3}";
    SO_FAR: "{0} orders stored", "已存 {0} 单";
    RATES: "{0} rates", "{0} 个汇率";
    NO_IMPORTS: "No imports yet.", "没有导入。";
    IMPORTS_CUT: "Earlier imports are not listed. “kiosque import list” lists all.",
        "更早的导入未列出。“kiosque import list”可列出全部。";
    IMPORT_NOTE: "Imports write all rejected lines to a file, whose name the command prints.",
        "导入命令会将所有被拒绝的行写入文件，并给出文件名。";
    REJECTED_LINES: "Latest rejected lines", "最近被拒绝的行";
    REJECTED_NOTE: "of the streams of this node and of the latest imports", "本节点订单流与最近导入";
    FROM: "From", "来自";
    FROM_IMPORT: "import {0}", "导入 {0}";
    LINE: "Line", "行";
    ORDER_ID: "Order id", "订单号";
    NO_REJECTED: "No stream of this node and none of the latest imports has rejected a line.",
        "本节点的订单流与最近的导入均没有拒绝任何行。";
}

/// What comes in.
#[derive(Clone, Debug)]
pub struct Intake {
    /// The streams, by the name of their key.
    pub streams: Vec<KeyOrders>,
    /// The last rejected lines, in any order.
    pub rejected: Vec<RejectedLine>,
    /// The latest imports, the last one first.
    pub imports: Vec<ImportItem>,
    /// Whether there are earlier imports.
    pub imports_are_cut: bool,
    /// Streams that are open.
    pub streams_open: usize,
    /// Bytes that are being validated or wait to be stored.
    pub queue_bytes: usize,
    /// Chunks that wait while a transaction is in progress; `None` if there is none.
    pub waiting: Option<usize>,
    /// Devices whose latest heartbeat has not been written yet.
    pub heartbeats_unwritten: usize,
    /// The last order or heartbeat of any device.
    pub last_active: Option<UnixMs>,
}

/// A line that was not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedLine {
    /// When it was rejected.
    pub at: UnixMs,
    /// The stream or the import that contained it.
    pub from: LineOrigin,
    /// Its number in the stream or the file, its order id and the reason.
    pub line: RejectedOrder,
}

/// The stream or the import of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOrigin {
    /// A stream with the key of this name.
    Stream(String),
    /// The import with this number.
    Import(i64),
}

impl Intake {
    /// Returns the rejected lines, the last one first.
    fn latest_rejected(&self) -> Vec<&RejectedLine> {
        let mut lines: Vec<&RejectedLine> = self.rejected.iter().collect();
        lines.sort_by_key(|one| Reverse((one.at, one.line.line)));
        lines
    }
}

/// Renders the page.
pub fn page(frame: &Frame<'_>, view: &Intake) -> String {
    let minutes = view.streams.first().map_or(0, |stream| stream.by_minute.len());
    let of_node = OF_NODE.fill(frame.language, &[&minutes.to_string()]);
    let note = if view.streams.is_empty() { "" } else { &of_node };
    frame.render(&Page {
        heading: frame.say(Section::Intake.name()),
        note: html! {},
        actions: download(frame, &["format=csv"]),
        content: html! {
            (card("streams", frame.say(STREAMS), note, &streams(frame, view)))
            (card("queue", frame.say(QUEUE), "", &queue(frame, view)))
            (card("imports", frame.say(IMPORTS), "", &imports(frame, view)))
            (card("rejected", frame.say(REJECTED_LINES), frame.say(REJECTED_NOTE),
                &rejected(frame, view)))
        },
        refresh_s: Some(2),
    })
}

fn streams(frame: &Frame<'_>, view: &Intake) -> Markup {
    if view.streams.is_empty() {
        return empty(frame.say(NO_STREAMS));
    }
    let mut columns = columns(frame, &[KEY], &[PER_SECOND]);
    columns.push(Column::text(frame.say(MINUTES)));
    let counts = [ACCEPTED, UPDATED, UNCHANGED, REJECTED];
    columns.extend(counts.map(|text| Column::number(frame.say(text))));
    columns.extend([NEWEST, LAG].map(|text| Column::text(frame.say(text))));
    let table = table(frame.say(STREAMS), &columns, &view.streams, |stream| {
        html! {
            th scope="row" { (stream.key.as_deref().unwrap_or(frame.say(OTHER_KEYS))) }
            td.number { (per_second(stream.by_minute.last().copied().unwrap_or_default())) }
            td { (spark(frame, &stream.by_minute, MINUTES_SUMMARY)) }
            @let of = &stream.counts;
            @for lines in [of.accepted, of.updated, of.unchanged, of.rejected] {
                td.number { (format::count(lines)) }
            }
            @if let Some(order) = stream.newest {
                td { (ago(frame, Some(order.trade_start))) }
                td { (span(frame, order.stored_at.0.saturating_sub(order.trade_start.0))) }
            } @else {
                td {} td {}
            }
        }
    });
    html! {
        (table)
        p.note { (frame.say(LAG_NOTE)) }
    }
}

/// Returns a length of time in its largest unit, rounded down. An order may be dated slightly ahead
/// of the clock; its lag is 0.
fn span(frame: &Frame<'_>, ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    let (text, number) = match seconds {
        ..120 => (SECONDS, seconds),
        120..7_200 => (MINUTES_LONG, seconds / 60),
        7_200..172_800 => (HOURS, seconds / 3_600),
        _ => (DAYS, seconds / 86_400),
    };
    text.fill(frame.language, &[&format::count(number)])
}

/// Formats the orders of a minute as orders a second, with one decimal.
fn per_second(orders: i64) -> String {
    let tenths = orders.saturating_add(3) / 6;
    format!("{}.{}", format::count(tenths / 10), tenths % 10)
}

fn queue(frame: &Frame<'_>, view: &Intake) -> Markup {
    let fill = |text: Text, value: usize| text.fill(frame.language, &[&format::count(value)]);
    let storing = match view.waiting {
        Some(waiting) => fill(IS_STORING, waiting),
        None => frame.say(IS_IDLE).to_owned(),
    };
    facts(&[
        (frame.say(STREAMS_OPEN), format::count(view.streams_open).render()),
        (frame.say(QUEUE_BYTES), fill(BYTES, view.queue_bytes).render()),
        (frame.say(STORING), storing.render()),
        (frame.say(HEARTBEATS), format::count(view.heartbeats_unwritten).render()),
        (frame.say(LAST_ACTIVE), ago(frame, view.last_active)),
    ])
}

fn imports(frame: &Frame<'_>, view: &Intake) -> Markup {
    if view.imports.is_empty() {
        return empty(frame.say(NO_IMPORTS));
    }
    let columns = columns(frame, &[IMPORT, BEGUN, STATE, FILE, USER, RESULT], &[]);
    let table = table(frame.say(IMPORTS), &columns, &view.imports, |import| {
        html! {
            th scope="row" { (import.import_id) }
            td { (time(frame, UnixMs(import.started_timestamp))) }
            td { (state(frame, &import.state)) }
            td { (import.details.file.as_deref().unwrap_or_default()) }
            td { (import.details.user.as_deref().unwrap_or_default()) }
            td.long { (result(frame, import)) }
        }
    });
    html! {
        (table)
        @if view.imports_are_cut { p.note { (frame.say(IMPORTS_CUT)) } }
        p.note { (frame.say(IMPORT_NOTE)) }
    }
}

fn state(frame: &Frame<'_>, state: &ImportState) -> Markup {
    match state {
        ImportState::Running => badge(Tone::Neutral, frame.say(RUNNING)),
        ImportState::Complete => badge(Tone::Good, frame.say(COMPLETE)),
        ImportState::Interrupted => badge(Tone::Warning, frame.say(INTERRUPTED)),
    }
}

/// Returns the counts of a complete import, or the progress of another one.
fn result(frame: &Frame<'_>, import: &ImportItem) -> String {
    let details = &import.details;
    if let Some(accepted) = details.accepted {
        let counts = [Some(accepted), details.updated, details.unchanged, details.rejected];
        let counts = counts.map(|count| format::count(count.unwrap_or_default()));
        return COUNTS.fill(frame.language, &counts.each_ref().map(String::as_str));
    }
    if let Some(rates) = details.rates {
        return RATES.fill(frame.language, &[&rates.to_string()]);
    }
    let stored =
        details.orders.map(|orders| SO_FAR.fill(frame.language, &[&format::count(orders)]));
    stored.unwrap_or_default()
}

fn rejected(frame: &Frame<'_>, view: &Intake) -> Markup {
    if view.rejected.is_empty() {
        return empty(frame.say(NO_REJECTED));
    }
    let columns = columns(frame, &[TIME, FROM, LINE, ORDER_ID, REASON], &[]);
    table(
        frame.say(REJECTED_LINES),
        &columns,
        view.latest_rejected().into_iter().take(SHOWN_MAX),
        |one| {
            html! {
                td { (time(frame, one.at)) }
                td { (origin(frame, &one.from)) }
                td.number { (one.line.line) }
                td { code { (one.line.order_id.as_deref().unwrap_or_default()) } }
                td.long { (shortened(&one.line.reason, REASON_CHARS_MAX)) }
            }
        },
    )
}

fn origin(frame: &Frame<'_>, from: &LineOrigin) -> String {
    match from {
        LineOrigin::Stream(key) => key.clone(),
        LineOrigin::Import(number) => FROM_IMPORT.fill(frame.language, &[&number.to_string()]),
    }
}

/// The maximum number of rejected lines on the page; the download has all of them.
const SHOWN_MAX: usize = 50;
/// The maximum characters of a reason on the page; the download has the whole reason.
const REASON_CHARS_MAX: usize = 160;

/// Returns the rejected lines as CSV.
pub fn csv(view: &Intake) -> String {
    let columns: [csv::Column<&RejectedLine>; 6] = [
        ("time", |one| one.at.rfc3339()),
        ("key", |one| match &one.from {
            LineOrigin::Stream(key) => key.clone(),
            LineOrigin::Import(_) => String::new(),
        }),
        ("import", |one| match one.from {
            LineOrigin::Stream(_) => String::new(),
            LineOrigin::Import(number) => number.to_string(),
        }),
        ("line", |one| one.line.line.to_string()),
        ("order_id", |one| one.line.order_id.clone().unwrap_or_default()),
        ("reason", |one| one.line.reason.clone()),
    ];
    csv::table(&columns, view.latest_rejected(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_a_second_have_one_decimal() {
        let rates = [0, 1, 3, 60, 65, 600_000].map(per_second);
        assert_eq!(rates, ["0.0", "0.0", "0.1", "1.0", "1.1", "10,000.0"]);
    }
}
