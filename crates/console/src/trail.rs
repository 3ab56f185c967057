//! Entries of the audit trail as rows of a table.

use kiosque_contract::{AuditDetails, AuditEntry, ChangeCounts, FleetCounts};
use kiosque_model::UnixMs;
use kiosque_model::audit::AuditEvent;
use maud::{Markup, html};

use crate::components::{account_path, columns, table, time};
use crate::csv;
use crate::format;
use crate::frame::Frame;
use crate::text::{Text, texts};
use crate::words::{ACCOUNT, EVENT, IN_GROUP, REQUEST, SOURCE, TIME};

texts! {
    ACTOR: "Actor", "操作者";
    DETAIL: "Detail", "详情";
    REPLACED: "replaced the session opened {0} from {1}", "替换了 {0} 从 {1} 打开的会话";
    ENDED: "ended the session opened {0} from {1}", "结束了 {0} 从 {1} 打开的会话";
    TIMES: "{0} times", "{0} 次";
    LOGIN_REPLACED: "Login, replaced a session", "登录，替换了会话";
    FILE: "file {0}", "文件 {0}";
    IMPORTED: "{0} accepted, {1} updated, {2} unchanged, {3} rejected",
        "新增 {0}，更新 {1}，未变 {2}，被拒 {3}";
    GROUPS: "groups", "分组";
    ACCOUNTS: "accounts", "账户";
    PRODUCTS: "products", "商品";
    DEVICES: "devices", "设备";
    CHANGED: "{0}: {1} created, {2} changed", "{0}：新建 {1}，更改 {2}";
    ENDED_SESSIONS: "sessions ended: {0}", "结束的会话：{0}";
    NO_CHANGE: "nothing changed", "没有变更";

    /// Returns the name of an event.
    fn name(AuditEvent) {
        Login: "Login", "登录";
        LoginRefused: "Login refused", "登录被拒";
        SwitchGroup: "Group selected", "切换分组";
        Logout: "Logout", "退出登录";
        SessionReplaced: "Session replaced", "会话被替换";
        SessionEnded: "Session ended", "会话被结束";
        FleetApplied: "Fleet applied", "应用设备清单";
        KeyCreated: "Key created", "创建密钥";
        KeyRevoked: "Key revoked", "吊销密钥";
        Archived: "Orders archived", "归档订单";
        DeviceDeleted: "Device deleted", "删除设备";
        OrdersImported: "Orders imported", "导入订单";
        RatesImported: "Rates imported", "导入汇率";
        ImportInterrupted: "Import interrupted", "导入中断";
        ConsoleLinkCreated: "Console link created", "创建控制台链接";
        ConsoleLogin: "Console sign-in", "登录控制台";
        ConsoleLoginRefused: "Console sign-in refused", "登录控制台被拒";
        ConsoleLogout: "Console sign-out", "退出控制台";
    }
}

const COLUMNS: [Text; 7] = [TIME, EVENT, ACCOUNT, ACTOR, SOURCE, DETAIL, REQUEST];

/// Renders entries as a table.
pub(crate) fn entries(frame: &Frame<'_>, caption: &str, entries: &[AuditEntry]) -> Markup {
    let columns = columns(frame, &COLUMNS, &[]);
    table(caption, &columns, entries, |entry| cells(frame, entry, None))
}

/// Renders the entries of an account as a table. A login that replaced a session, which has two
/// entries, is one row.
pub(crate) fn sessions(frame: &Frame<'_>, caption: &str, entries: &[AuditEntry]) -> Markup {
    let columns = columns(frame, &COLUMNS, &[]);
    let mut left = entries.iter().peekable();
    let rows = std::iter::from_fn(|| {
        let entry = left.next()?;
        let is_login = |login: &&AuditEntry| {
            entry.event == AuditEvent::SessionReplaced.name()
                && login.event == AuditEvent::Login.name()
                && login.request_id == entry.request_id
        };
        Some((entry, left.next_if(is_login)))
    });
    table(caption, &columns, rows, |(entry, login)| cells(frame, entry, login))
}

/// Renders the cells of an entry; with `login`, the login that replaced its session, of both.
fn cells(frame: &Frame<'_>, entry: &AuditEntry, login: Option<&AuditEntry>) -> Markup {
    let event = entry.event.parse().ok().map(name);
    let event = login.map(|_| LOGIN_REPLACED).or(event);
    // The group that the login selected, not the previous session's.
    let group_id = login.unwrap_or(entry).group_id.clone();
    let shown = AuditEntry { group_id, ..entry.clone() };
    let account = entry.account.as_deref();
    html! {
        td { (time(frame, UnixMs(entry.timestamp))) }
        td.event { (event.map_or(entry.event.as_ref(), |event| frame.say(event))) }
        td { @if let Some(account) = account { a href=(account_path(account)) { (account) } } }
        td { (entry.actor_with_user().unwrap_or_default()) }
        td { (entry.source.as_deref().unwrap_or_default()) }
        td.long { (detail(frame, &shown, |at| frame.zone.text(at))) }
        td { code.id { (entry.request_id.as_deref().unwrap_or_default()) } }
    }
}

/// Returns the details in one line, with times as `written`; for an ended session, its origin.
fn detail(frame: &Frame<'_>, entry: &AuditEntry, written: impl Fn(UnixMs) -> String) -> String {
    let mut parts = Vec::new();
    if let Some(earlier) = &entry.replaced {
        let is_replaced = entry.event == AuditEvent::SessionReplaced.name();
        let text = if is_replaced { REPLACED } else { ENDED };
        let at = written(UnixMs(earlier.timestamp));
        parts.push(text.fill(frame.language, &[&at, &earlier.source]));
    }
    if let Some(group) = &entry.group_id {
        parts.push(IN_GROUP.fill(frame.language, &[group]));
    }
    let details = entry.details.as_ref();
    let changes = details.and_then(|details| changes(frame, details));
    parts.extend(changes.or_else(|| entry.detail.clone()));
    let file = details.and_then(|details| details.file.as_deref());
    parts.extend(file.map(|file| FILE.fill(frame.language, &[file])));
    if entry.count > 1 {
        parts.push(TIMES.fill(frame.language, &[&format::count(entry.count)]));
    }
    parts.join(", ")
}

/// Returns the changes of a fleet, without kinds that did not change, or the counts of an import.
fn changes(frame: &Frame<'_>, details: &AuditDetails) -> Option<String> {
    if let Some(fleet) = &details.fleet {
        let FleetCounts { groups, accounts, products, devices, sessions_ended } = fleet;
        let kinds = [(GROUPS, groups), (ACCOUNTS, accounts), (PRODUCTS, products)];
        let kinds = kinds.into_iter().chain([(DEVICES, devices)]);
        let changed = kinds.filter_map(|(kind, ChangeCounts { created, changed, .. })| {
            let counts = [created, changed].map(ToString::to_string);
            let values = [frame.say(kind), &counts[0], &counts[1]];
            (created + changed > 0).then(|| CHANGED.fill(frame.language, &values))
        });
        let ended = Some(sessions_ended).filter(|ended| **ended > 0);
        let ended = ended.map(|ended| ENDED_SESSIONS.fill(frame.language, &[&ended.to_string()]));
        let parts: Vec<String> = changed.chain(ended).collect();
        let nothing = || frame.say(NO_CHANGE).to_owned();
        return Some(if parts.is_empty() { nothing() } else { parts.join("; ") });
    }
    let AuditDetails { accepted, updated, unchanged, rejected, .. } = details;
    let counts = [(*accepted)?, (*updated)?, (*unchanged)?, (*rejected)?];
    let counts = counts.map(|count| count.to_string());
    Some(IMPORTED.fill(frame.language, &counts.each_ref().map(String::as_str)))
}

/// Returns entries of a page as CSV. All times are UTC.
pub fn csv(frame: &Frame<'_>, entries: &[AuditEntry], next: Option<&str>) -> String {
    let columns: [csv::Column<(&Frame<'_>, &AuditEntry)>; 8] = [
        ("entry_no", |(_, entry)| entry.entry_no.to_string()),
        ("time", |(_, entry)| UnixMs(entry.timestamp).rfc3339()),
        ("event", |(_, entry)| entry.event.to_string()),
        ("account", |(_, entry)| entry.account.clone().unwrap_or_default()),
        ("actor", |(_, entry)| entry.actor_with_user().unwrap_or_default()),
        ("source", |(_, entry)| entry.source.clone().unwrap_or_default()),
        ("request_id", |(_, entry)| entry.request_id.clone().unwrap_or_default()),
        ("detail", |(frame, entry)| detail(frame, entry, UnixMs::rfc3339)),
    ];
    let rows = entries.iter().map(|entry| (frame, entry));
    csv::table(&columns, rows, next.map(|_| csv::MORE_ROWS))
}
