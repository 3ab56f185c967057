//! The audit trail: all operations, by account, event, source and time.

use kiosque_contract::AuditEntry;
use kiosque_model::audit::AuditEvent;
use maud::{Markup, html};

use crate::components::{card, choice, download, empty, filter, pager, query_of, text_field};
use crate::frame::{Frame, Page, Section};
use crate::period::day;
use crate::text::texts;
use crate::trail;
pub use crate::trail::csv;
use crate::words::{ACCOUNT, EVENT};

texts! {
    ALL_EVENTS: "All events", "全部事件";
    SOURCE: "Source address", "来源地址";
    SINCE: "Since", "起始日期";
    ENTRIES: "Entries, the newest first", "记录（最新在前）";
    NOTHING: "No entry matches the filters.", "没有符合条件的记录。";
    NO_ADDRESS: "“{0}” is not an address. Enter a whole one, such as 192.0.2.7 or 2001:db8::7.",
        "“{0}” 不是完整的地址。请输入完整地址，例如 192.0.2.7 或 2001:db8::7。";
    NO_TIME: "“{0}” is neither a date, such as 2026-03-01, nor a time, such as \
        2026-03-01 09:30:00.", "“{0}” 既不是日期（例如 2026-03-01），也不是时间（例如 2026-03-01 09:30:00）。";
}

/// A part of the audit trail.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The filters.
    pub filters: Filters,
    /// The entries, the newest first, or the filter that cannot be used.
    pub entries: Result<Vec<AuditEntry>, BadFilter>,
    /// The value of `after` of the next page.
    pub next: Option<String>,
}

/// A filter whose text a person typed, and which has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadFilter {
    /// The source is not an address.
    Source,
    /// `since` is neither a date nor a time.
    Since,
}

/// The filters of the page, as given; empty ones select everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// A login name.
    pub account: String,
    /// The name of an event.
    pub event: String,
    /// An address.
    pub source: String,
    /// A date, `yyyy-MM-dd`, or a time.
    pub since: String,
    /// The value of `after`.
    pub after: String,
}

impl Filters {
    /// Returns the query without the position in the list.
    fn query(&self) -> String {
        query_of(&[
            ("account", &self.account),
            ("event", &self.event),
            ("source", &self.source),
            ("since", &self.since),
        ])
    }
}

/// Renders the page.
pub fn page(frame: &Frame<'_>, view: &Audit) -> String {
    let filters = &view.filters;
    let query = view.filters.query();
    let events = AuditEvent::ALL.iter().map(|event| (event.name(), frame.say(trail::name(*event))));
    let fields = html! {
        (text_field("search", "account", frame.say(ACCOUNT), &filters.account))
        (choice("event", frame.say(EVENT), frame.say(ALL_EVENTS), events, &filters.event))
        (text_field("search", "source", frame.say(SOURCE), &filters.source))
        (text_field(since_kind(&filters.since), "since", frame.say(SINCE), &filters.since))
    };
    let after = Some(filters.after.as_str()).filter(|after| !after.is_empty());
    let shown = query_of(&[("after", &filters.after)]);
    let list = |entries: &[AuditEntry]| {
        html! {
            @if entries.is_empty() && view.next.is_none() { (empty(frame.say(NOTHING))) }
            @else { (trail::entries(frame, frame.say(ENTRIES), entries)) }
            (pager(frame, &query, after, view.next.as_deref()))
        }
    };
    frame.render(&Page {
        heading: frame.say(Section::Audit.name()),
        actions: html! {
            @if view.entries.is_ok() { (download(frame, &[&query, &shown, "format=csv"])) }
        },
        content: html! {
            (filter(frame, frame.path(), &fields))
            @match &view.entries {
                Ok(entries) => (card("entries", frame.say(ENTRIES), "", &list(entries))),
                Err(bad) => (alert(frame, *bad, filters)),
            }
        },
        ..Page::default()
    })
}

/// Returns the type of the field `since`: a field for a date shows no time.
fn since_kind(since: &str) -> &'static str {
    if since.is_empty() || day(since).is_some() { "date" } else { "text" }
}

fn alert(frame: &Frame<'_>, bad: BadFilter, filters: &Filters) -> Markup {
    let (text, given) = match bad {
        BadFilter::Source => (NO_ADDRESS, filters.source.as_str()),
        BadFilter::Since => (NO_TIME, filters.since.as_str()),
    };
    html! { p.notice role="alert" { (text.fill(frame.language, &[given])) } }
}
