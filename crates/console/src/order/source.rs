//! The source of an order on its page.

use kiosque_contract::AuditDetails;
use kiosque_contract::inventory::ImportItem;
use kiosque_model::UnixMs;
use maud::{Markup, html};

use crate::components::{card, facts, time};
use crate::format;
use crate::frame::Frame;
use crate::text::texts;
use crate::words::{FILE, SOURCE, USER};

texts! {
    IMPORT: "Import", "导入";
    STARTED: "Started", "开始时间";
    KEY: "Key of the stream", "数据流的密钥";
    NODE: "Node", "节点";
    ARRIVED: "Arrived", "到达时间";
    BETWEEN: "between {0} and {1}", "{0} 至 {1} 之间";
    UNKNOWN: "Unknown: it was purged with the audit trail, or the demo stored the order.",
        "未知：来源已随审计记录清除，或此订单由演示程序存入。";
}

/// How an order came in.
#[derive(Clone, Debug)]
pub enum Arrived {
    /// An import by a command.
    Import(Box<ImportItem>),
    /// A stream of orders.
    Stream {
        /// The name of its key.
        key_name: String,
        /// The node that received it, if known.
        node: Option<String>,
        /// The times between which it arrived.
        between: [UnixMs; 2],
    },
}

/// Renders the source of an order.
pub(super) fn source(frame: &Frame<'_>, arrived: Option<&Arrived>) -> Markup {
    let optional = |text: &Option<String>| html! { (text.as_deref().unwrap_or(format::NONE)) };
    let body = match arrived {
        None => html! { p.hint { (frame.say(UNKNOWN)) } },
        Some(Arrived::Import(import)) => {
            let AuditDetails { file, user, .. } = &import.details;
            facts(&[
                (frame.say(IMPORT), html! { (import.import_id) }),
                (frame.say(FILE), optional(file)),
                (frame.say(USER), optional(user)),
                (frame.say(STARTED), time(frame, UnixMs(import.started_timestamp))),
            ])
        }
        Some(Arrived::Stream { key_name, node, between }) => {
            let [since, until] = between.map(|at| frame.zone.text(at));
            let range = BETWEEN.fill(frame.language, &[&since, &until]);
            facts(&[
                (frame.say(KEY), html! { (key_name) }),
                (frame.say(NODE), optional(node)),
                (frame.say(ARRIVED), html! { (range) }),
            ])
        }
    };
    card("source", frame.say(SOURCE), "", &body)
}
