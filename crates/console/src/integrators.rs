//! The accounts of the integrators with their live sessions, and the history of one account's
//! sessions.

use kiosque_contract::AuditEntry;
use kiosque_contract::inventory::{AccountItem, SessionItem};
use kiosque_model::UnixMs;
use maud::{Markup, html};

use crate::components::{
    Column, IsFirst, Tone, address, badge, card, empty, pager, parameter, table,
};
use crate::frame::{Frame, Page, Section};
use crate::text::texts;
use crate::trail;

texts! {
    ACCOUNTS: "Accounts", "账户";
    ACCOUNT: "Account", "账户";
    DISPLAY_NAME: "Name", "名称";
    GROUPS: "Groups", "分组";
    STATE: "State", "状态";
    ENABLED: "enabled", "已启用";
    DISABLED: "disabled", "已停用";
    NO_API: "no API access", "无 API 权限";
    SESSION: "Session", "会话";
    SINCE: "since {0}", "自 {0} 起";
    UNTIL: "until {0}", "至 {0}";
    FROM: "from {0}", "来自 {0}";
    IN_GROUP: "group {0}", "分组 {0}";
    NO_SESSION: "none", "无";
    NO_ACCOUNTS: "There is no account.", "没有账户。";
    TIMELINE: "Sessions, the newest event first", "会话记录（最新在前）";
    NO_EVENTS: "The audit trail has no entry of this account.", "审计记录中没有此账户。";
    BACK: "All accounts", "全部账户";
    NEEDS_AUDIT: "The history of an account's sessions requires the right audit.",
        "查看账户的会话记录需要 audit 权限。";
}

/// The path of the page of one account, whose `name` is a parameter.
pub const ACCOUNT_PATH: &str = "/console/integrators/account";

/// A part of the accounts.
#[derive(Clone, Debug)]
pub struct Integrators {
    /// The accounts, by login name.
    pub accounts: Vec<AccountItem>,
    /// The live sessions of these accounts, by login name.
    pub sessions: Vec<SessionItem>,
    /// The value of `after` of this page, unless it is the first.
    pub after: Option<String>,
    /// The value of `after` of the next page.
    pub next: Option<String>,
}

/// The history of an account.
#[derive(Clone, Debug)]
pub struct History {
    /// The login name.
    pub account: String,
    /// Its entries in the audit trail, the newest first; `None` without the right to read them.
    pub entries: Option<Vec<AuditEntry>>,
    /// The value of `after` of this page, unless it is the first.
    pub after: Option<String>,
    /// The value of `after` of the next page.
    pub next: Option<String>,
}

/// Renders the list of accounts.
#[must_use]
pub fn page(frame: &Frame<'_>, view: &Integrators) -> String {
    let columns = [ACCOUNT, DISPLAY_NAME, GROUPS, STATE, SESSION];
    let columns = columns.map(|heading| Column::text(frame.say(heading)));
    let rows = html! { @for account in &view.accounts { (row(frame, view, account)) } };
    let body = html! {
        @if view.accounts.is_empty() { (empty(frame.say(NO_ACCOUNTS))) }
        @else { (table(frame.say(ACCOUNTS), &columns, &rows)) }
        (pager(frame, "", IsFirst::of(view.after.as_deref()), view.next.as_deref()))
    };
    frame.render(&Page {
        heading: frame.say(Section::Integrators.name()),
        note: html! {},
        actions: html! {},
        content: card("accounts", frame.say(ACCOUNTS), "", &body),
        refresh_s: Some(5),
    })
}

fn row(frame: &Frame<'_>, view: &Integrators, account: &AccountItem) -> Markup {
    let session = view.sessions.iter().find(|session| session.account == account.account);
    html! {
        tr {
            td { a href=(address(ACCOUNT_PATH, &parameter("name", &account.account), "")) {
                (account.account)
            } }
            td { (account.display_name) }
            td { (account.group_ids.join(", ")) }
            td { (state(frame, account)) }
            td { (session_text(frame, session)) }
        }
    }
}

fn state(frame: &Frame<'_>, account: &AccountItem) -> Markup {
    match (account.enabled, account.third_party_api) {
        (false, _) => badge(Tone::Bad, frame.say(DISABLED)),
        (true, false) => badge(Tone::Warning, frame.say(NO_API)),
        (true, true) => badge(Tone::Good, frame.say(ENABLED)),
    }
}

fn session_text(frame: &Frame<'_>, session: Option<&SessionItem>) -> String {
    let Some(session) = session else { return frame.say(NO_SESSION).to_owned() };
    let at = |at: i64| frame.zone.text(UnixMs(at));
    let say = |text: crate::text::Text, value: &str| text.fill(frame.language, &[value]);
    let parts = [
        session.opened_timestamp.map(|opened| say(SINCE, &at(opened))),
        session.source.as_deref().map(|source| say(FROM, source)),
        session.group_id.as_deref().map(|group| say(IN_GROUP, group)),
        Some(say(UNTIL, &at(session.expires_timestamp))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Renders the history of an account.
#[must_use]
pub fn history(frame: &Frame<'_>, view: &History) -> String {
    let query = parameter("name", &view.account);
    let body = match &view.entries {
        None => empty(frame.say(NEEDS_AUDIT)),
        Some(entries) if entries.is_empty() => empty(frame.say(NO_EVENTS)),
        Some(entries) => trail::entries(frame, frame.say(TIMELINE), entries),
    };
    frame.render(&Page {
        heading: &view.account,
        note: html! {},
        actions: html! { a.button href=(Section::Integrators.path()) { (frame.say(BACK)) } },
        content: html! {
            (card("timeline", frame.say(TIMELINE), "", &body))
            (pager(frame, &query, IsFirst::of(view.after.as_deref()), view.next.as_deref()))
        },
        refresh_s: Some(2),
    })
}
