//! What comes in: streams of orders by their keys, imports, rejected lines, and heartbeats.

use kiosque_contract::inventory::{ImportItem, ImportState};
use kiosque_model::UnixMs;
use maud::{Markup, Render, html};

use crate::chart::spark;
use crate::components::{Column, Tone, ago, badge, card, download, empty, facts, table, time};
use crate::csv;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::text::{Text, texts};

texts! {
    STREAMS: "Streams by key", "按密钥统计的订单流";
    OF_NODE: "of this node, last {0} minutes", "本节点，近 {0} 分钟";
    KEY: "Key", "密钥";
    OTHER_KEYS: "other keys", "其他密钥";
    PER_SECOND: "Orders/s, last minute", "近一分钟订单/秒";
    MINUTES: "Orders a minute", "每分钟订单";
    MINUTES_SUMMARY: "Orders in each minute, the last one last: {0}", "每分钟订单数（最后为最近）：{0}";
    ACCEPTED: "New", "新增";
    UPDATED: "Updated", "更新";
    UNCHANGED: "Unchanged", "未变";
    REJECTED: "Rejected", "被拒";
    NO_STREAMS: "No stream has sent orders to this node in the last minutes.",
        "近几分钟没有订单流发送到本节点。";
    QUEUE: "Queue and heartbeats", "队列与心跳";
    STREAMS_OPEN: "Open streams", "打开的订单流";
    QUEUE_BYTES: "Text that is validated or waits", "校验中或等待中的文本";
    BYTES: "{0} bytes", "{0} 字节";
    STORING: "Group commit", "组提交";
    IS_STORING: "a transaction is under way, {0} chunks wait", "事务进行中，{0} 个数据块等待";
    IS_IDLE: "idle", "空闲";
    HEARTBEATS: "Heartbeats not written yet", "尚未写入的心跳";
    LAST_ACTIVE: "Last order or heartbeat of any device", "任一设备的最近订单或心跳";
    IMPORTS: "Imports", "导入";
    IMPORT: "Import", "导入编号";
    BEGUN: "Begun", "开始";
    STATE: "State", "状态";
    FILE: "File", "文件";
    USER: "User", "用户";
    RESULT: "Result", "结果";
    RUNNING: "running", "进行中";
    COMPLETE: "complete", "已完成";
    INTERRUPTED: "interrupted", "已中断";
    COUNTS: "{0} new, {1} updated, {2} unchanged, {3} rejected", "新增 {0}，更新 {1}，未变 {2}，被拒 {3}";
    SO_FAR: "{0} orders stored", "已存 {0} 单";
    RATES: "{0} rates", "{0} 个汇率";
    NO_IMPORTS: "There is no import.", "没有导入。";
    IMPORT_NOTE: "An import writes its rejected lines to a file, which the command names.",
        "导入命令会将被拒绝的行写入文件，并给出文件名。";
    REJECTED_LINES: "Latest rejected lines of streams", "订单流最近被拒绝的行";
    AT: "Time", "时间";
    LINE: "Line", "行";
    ORDER_ID: "Order id", "订单号";
    REASON: "Reason", "原因";
    NO_REJECTED: "This node has rejected no line since its start.", "本节点启动以来没有拒绝任何行。";
}

/// What comes in.
#[derive(Clone, Debug)]
pub struct Intake {
    /// The streams, by the name of their key.
    pub sources: Vec<SourceOrders>,
    /// The lines that were rejected last, the last one first.
    pub rejected: Vec<RejectedLine>,
    /// The latest imports, the last one first.
    pub imports: Vec<ImportItem>,
    /// Streams that are open.
    pub streams_open: usize,
    /// Bytes that are validated or wait to be stored.
    pub queue_bytes: usize,
    /// Chunks that wait while a transaction is under way; `None` if there is none.
    pub waiting: Option<usize>,
    /// Devices whose latest heartbeat is not written yet.
    pub heartbeats_unwritten: usize,
    /// The last order or heartbeat of any device.
    pub last_active: Option<UnixMs>,
}

/// The orders of the streams of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOrders {
    /// The name of the key; `None` for several keys together.
    pub name: Option<String>,
    /// The stored orders of each of the last minutes, the last one last.
    pub by_minute: Vec<i64>,
    /// New orders.
    pub accepted: i64,
    /// Changed orders.
    pub updated: i64,
    /// Orders that were stored already.
    pub unchanged: i64,
    /// Lines that were not stored.
    pub rejected: i64,
}

/// A line that was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedLine {
    /// When it was rejected.
    pub at: UnixMs,
    /// The name of the key.
    pub source: String,
    /// The number of the line in its stream.
    pub line: u64,
    /// Its order id, if it could be read.
    pub order_id: Option<String>,
    /// The reason.
    pub reason: String,
}

/// Renders the page.
#[must_use]
pub fn page(frame: &Frame<'_>, view: &Intake) -> String {
    let minutes = view.sources.first().map_or(0, |source| source.by_minute.len());
    let of_node = OF_NODE.fill(frame.language, &[&minutes.to_string()]);
    let note = if view.sources.is_empty() { "" } else { &of_node };
    let csv = format!("{}?format=csv", Section::Intake.path());
    frame.render(&Page {
        heading: frame.say(Section::Intake.name()),
        note: html! {},
        actions: download(frame, &csv),
        content: html! {
            (card("streams", frame.say(STREAMS), note, &streams(frame, view)))
            (card("queue", frame.say(QUEUE), "", &queue(frame, view)))
            (card("imports", frame.say(IMPORTS), "", &imports(frame, view)))
            (card("rejected", frame.say(REJECTED_LINES), "", &rejected(frame, view)))
        },
        refresh_s: Some(2),
    })
}

fn streams(frame: &Frame<'_>, view: &Intake) -> Markup {
    if view.sources.is_empty() {
        return empty(frame.say(NO_STREAMS));
    }
    let mut columns = vec![Column::text(frame.say(KEY)), Column::number(frame.say(PER_SECOND))];
    columns.push(Column::text(frame.say(MINUTES)));
    let counts = [ACCEPTED, UPDATED, UNCHANGED, REJECTED];
    columns.extend(counts.map(|text| Column::number(frame.say(text))));
    let rows = html! {
        @for source in &view.sources {
            tr {
                th scope="row" { (source.name.as_deref().unwrap_or(frame.say(OTHER_KEYS))) }
                td.number { (per_second(source.by_minute.last().copied().unwrap_or_default())) }
                td { (minutes(frame, &source.by_minute)) }
                @for count in [source.accepted, source.updated, source.unchanged, source.rejected] {
                    td.number { (format::count(count)) }
                }
            }
        }
    };
    table(frame.say(STREAMS), &columns, &rows)
}

fn minutes(frame: &Frame<'_>, orders: &[i64]) -> Markup {
    let figures: Vec<String> = orders.iter().map(|count| format::count(*count)).collect();
    let summary = MINUTES_SUMMARY.fill(frame.language, &[&figures.join(", ")]);
    spark(orders, &summary)
}

/// Formats the orders of a minute as orders a second, with one decimal.
fn per_second(orders: i64) -> String {
    let tenths = orders.saturating_add(3) / 6;
    format!("{}.{}", format::count(tenths / 10), tenths % 10)
}

fn queue(frame: &Frame<'_>, view: &Intake) -> Markup {
    let number = |number: usize| format::count(i64::try_from(number).unwrap_or(i64::MAX));
    let fill = |text: Text, value: usize| text.fill(frame.language, &[&number(value)]);
    let storing = match view.waiting {
        Some(waiting) => fill(IS_STORING, waiting),
        None => frame.say(IS_IDLE).to_owned(),
    };
    facts(&[
        (frame.say(STREAMS_OPEN), number(view.streams_open).render()),
        (frame.say(QUEUE_BYTES), fill(BYTES, view.queue_bytes).render()),
        (frame.say(STORING), storing.render()),
        (frame.say(HEARTBEATS), number(view.heartbeats_unwritten).render()),
        (frame.say(LAST_ACTIVE), ago(frame, view.last_active)),
    ])
}

fn imports(frame: &Frame<'_>, view: &Intake) -> Markup {
    if view.imports.is_empty() {
        return empty(frame.say(NO_IMPORTS));
    }
    let columns = [IMPORT, BEGUN, STATE, FILE, USER, RESULT];
    let columns = columns.map(|heading| Column::text(frame.say(heading)));
    let rows = html! {
        @for import in &view.imports {
            tr {
                th scope="row" { (import.import_id) }
                td { (time(frame, UnixMs(import.started_timestamp))) }
                td { (state(frame, &import.state)) }
                td { (import.details.file.as_deref().unwrap_or_default()) }
                td { (import.details.user.as_deref().unwrap_or_default()) }
                td { (result(frame, import)) }
            }
        }
    };
    html! {
        (table(frame.say(IMPORTS), &columns, &rows))
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

/// Returns the counts of an import that is complete, or how far another one is.
fn result(frame: &Frame<'_>, import: &ImportItem) -> String {
    let details = &import.details;
    let count = |count: u64| format::count(i64::try_from(count).unwrap_or(i64::MAX));
    if let Some(accepted) = details.accepted {
        let others = [details.updated, details.unchanged, details.rejected];
        let [updated, unchanged, rejected] = others.map(|other| count(other.unwrap_or_default()));
        return COUNTS.fill(frame.language, &[&count(accepted), &updated, &unchanged, &rejected]);
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
    let columns = [AT, KEY, LINE, ORDER_ID, REASON];
    let columns = columns.map(|heading| Column::text(frame.say(heading)));
    let rows = html! {
        @for line in view.rejected.iter().take(SHOWN_MAX) {
            tr {
                td { (time(frame, line.at)) }
                td { (line.source) }
                td.number { (line.line) }
                td { code { (line.order_id.as_deref().unwrap_or_default()) } }
                td { (line.reason) }
            }
        }
    };
    table(frame.say(REJECTED_LINES), &columns, &rows)
}

/// The rejected lines on the page; the download has all.
const SHOWN_MAX: usize = 50;

/// Returns the rejected lines as CSV.
#[must_use]
pub fn csv(view: &Intake) -> String {
    csv::file(
        ["time", "key", "line", "order_id", "reason"],
        view.rejected.iter().map(|line| {
            let id = line.order_id.clone().unwrap_or_default();
            [line.at.rfc3339(), line.source.clone(), line.line.to_string(), id, line.reason.clone()]
        }),
    )
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
