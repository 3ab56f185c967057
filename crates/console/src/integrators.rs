//! The accounts of the integrators with their live sessions, and the history of one account's
//! sessions.

use std::time::Duration;

use kiosque_contract::inventory::{AccountItem, SessionItem};
use kiosque_contract::{AuditEntry, Code};
use kiosque_model::usage::{FunctionUsage, Guesses};
use kiosque_model::{Right, SourcePrefix, UnixMs};
use maud::{Markup, html};

pub use crate::components::account_path;
use crate::components::{
    Column, Tone, ago, badge, card, columns, download, empty, facts, pager, parameter, query_of,
    table,
};
use crate::csv;
use crate::format;
use crate::frame::{ACCOUNT_PATH, Frame, Page, Section};
use crate::groups::Groups;
use crate::refused::{self, LookUp, Refused};
use crate::sort::{Columns, Listed, Sort, Value};
use crate::text::texts;
use crate::trail;
use crate::words::{
    ACCOUNT, ACCOUNTS, CODE, DISABLED, GROUPS, IN_GROUP, LAST_USE, NAME, NONE, SOURCE, STATE,
};

texts! {
    ENABLED: "enabled", "已启用";
    NO_API: "no API access", "无 API 权限";
    SESSION: "Session", "会话";
    SINCE: "since {0}", "自 {0} 起";
    UNTIL: "until {0}", "至 {0}";
    FROM: "from {0}", "来自 {0}";
    CODES: "Answers by code", "按代码统计的应答";
    REQUESTS: "Requests", "请求";
    NO_REQUESTS: "No request yet.", "尚无请求。";
    NOT_RECORDED: "{0} refused requests came too fast to be recorded.",
        "{0} 个被拒绝的请求因同时过多而未记录。";
    GUESSES: "Failed logins by source", "按来源统计的失败登录";
    OF_NODE: "of this node, since its start", "本节点，自启动以来";
    FAILED_LOGINS: "Failed logins", "失败登录";
    LAST: "Last", "最近";
    NO_GUESSES: "No login has failed.", "没有失败的登录。";
    FUNCTIONS: "Requests by function", "按功能统计的请求";
    FUNCTION: "Function", "功能";
    REFUSED: "Refused", "被拒绝";
    FAILED: "Failed", "失败";
    MEAN: "Mean", "平均";
    SLOWEST: "Slowest", "最慢";
    NO_ACCOUNTS: "No accounts.", "没有账户。";
    TIMELINE: "Sessions, the newest event first", "会话记录（最新在前）";
    NO_EVENTS: "The audit trail has no entry of this account.", "审计记录中没有此账户。";
    NO_GROUP: "no group", "无分组";
    END: "End the session", "结束会话";
    END_HINT: "Its token is refused from now on. The account may log in again: to prevent that, \
        disable it in the fleet.",
        "其令牌将立即失效。账户可重新登录；如需禁止登录，请在设备清单中停用该账户。";
    END_NOW: "End the session of {0} now", "立即结束 {0} 的会话";
    NEEDS_AUDIT: "The history of an account's sessions requires the right audit.",
        "查看账户的会话记录需要 audit 权限。";

    /// Returns the meaning of a code of answers (ENV-3).
    fn code_meaning(Code) {
        Success: "success", "成功";
        Business: "refused by a business rule", "业务拒绝";
        Credentials: "wrong login name or password", "用户名或密码错误";
        TokenMissing: "no token", "缺少令牌";
        TokenInvalid: "token unknown, replaced or expired", "令牌未知、已被替换或已过期";
        NotFound: "no such path", "路径不存在";
        System: "unreadable request, or system failure", "请求无法读取或系统故障";
    }
}

/// A part of the accounts.
#[derive(Clone, Debug)]
pub struct Integrators {
    /// The accounts, by login name.
    pub accounts: Vec<Account>,
    /// Their order, if they are sorted.
    pub sort: Sort,
    /// The value of `after` of this page, unless it is the first.
    pub after: Option<String>,
    /// The value of `after` of the next page.
    pub next: Option<String>,
    /// The number of requests answered with each code, since the start of this node.
    pub codes: Vec<(i64, u64)>,
    /// The failed logins since the start of this node, by source.
    pub guesses: Vec<(SourcePrefix, Guesses)>,
    /// Refused requests that this node could not record.
    pub not_recorded: u64,
    /// The look-up of a request, if one was requested.
    pub look_up: Option<LookUp>,
}

/// An account with its live session.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The account.
    pub item: AccountItem,
    /// Whether one of its groups is active.
    pub has_active_group: bool,
    /// Its live session.
    pub session: Option<SessionItem>,
    /// Its last use, in the current session or an earlier one.
    pub last_use: Option<UnixMs>,
}

impl Listed for Account {
    const COLUMNS: Columns<Account> = &[
        Some(("account", |account| Value::text(&account.item.account))),
        Some(("name", |account| Value::text(&account.item.display_name))),
        None,
        None,
        Some(("session", |account| {
            Value::of(account.session.as_ref().map(|session| session.opened_timestamp))
        })),
        Some(("used", |account| Value::of(account.last_use.map(|at| at.0)))),
    ];
}

/// The history of an account.
#[derive(Clone, Debug)]
pub struct History {
    /// The account.
    pub account: Account,
    /// The names of the groups.
    pub groups: Groups,
    /// Its entries in the audit trail, the newest first; `None` without the right to read them.
    pub entries: Option<Vec<AuditEntry>>,
    /// Its requests since the start of this node, by function.
    pub functions: Vec<FunctionUsage>,
    /// The order of the functions, if they are sorted.
    pub sort: Sort,
    /// Its latest refused requests, the last one first.
    pub refused: Vec<Refused>,
    /// The value of `after` of this page, unless it is the first.
    pub after: Option<String>,
    /// The value of `after` of the next page.
    pub next: Option<String>,
}

impl Listed for FunctionUsage {
    const COLUMNS: Columns<FunctionUsage> = &[
        Some(("function", |function| Value::text(function.route))),
        Some(("requests", |function| Value::count(function.requests))),
        Some(("refused", |function| Value::count(function.refused))),
        Some(("failed", |function| Value::count(function.failed))),
        Some(("mean", |function| Value::count(function.mean.as_micros()))),
        Some(("slowest", |function| Value::count(function.slowest.as_micros()))),
    ];
}

/// Renders the list of accounts.
pub fn page(frame: &Frame<'_>, view: &Integrators) -> String {
    let columns = columns(frame, &[ACCOUNT, NAME, GROUPS, STATE, SESSION, LAST_USE], &[]);
    let columns = view.sort.columns::<Account>(frame, columns);
    let rows = view.sort.rows(&view.accounts);
    let body = html! {
        @if rows.is_empty() { (empty(frame.say(NO_ACCOUNTS))) }
        @else { (table(frame.say(ACCOUNTS), &columns, rows, |account| cells(frame, account))) }
        (pager(frame, "", view.after.as_deref(), view.next.as_deref()))
    };
    let after = query_of(&[("after", view.after.as_deref().unwrap_or_default())]);
    frame.render(&Page {
        heading: frame.say(Section::Integrators.name()),
        actions: download(frame, &["format=csv", &view.sort.query(), &after]),
        content: html! {
            (card("accounts", frame.say(ACCOUNTS), "", &body))
            (refused::look_up(frame, view.look_up.as_ref()))
            div.grid {
                div.span-6 {
                    (card("codes", frame.say(CODES), frame.say(OF_NODE), &codes(frame, view)))
                }
                div.span-6 {
                    (card("guesses", frame.say(GUESSES), frame.say(OF_NODE), &guesses(frame, view)))
                }
            }
        },
        // A form that is filled in is not replaced.
        ..Page::default()
    })
}

/// Returns the accounts of the page with their sessions as CSV.
pub fn csv(view: &Integrators) -> String {
    fn of_session(of: &Account, field: fn(&SessionItem) -> String) -> String {
        of.session.as_ref().map(field).unwrap_or_default()
    }
    let columns: [csv::Column<&Account>; 9] = [
        ("account", |of| of.item.account.clone()),
        ("display_name", |of| of.item.display_name.clone()),
        ("groups", |of| of.item.group_ids.join(" ")),
        ("enabled", |of| of.item.enabled.to_string()),
        ("third_party_api", |of| of.item.third_party_api.to_string()),
        ("session_since", |of| of_session(of, |it| UnixMs(it.opened_timestamp).rfc3339())),
        ("session_from", |of| of_session(of, |it| it.source.clone())),
        ("session_group", |of| of_session(of, |it| it.group_id.clone().unwrap_or_default())),
        ("last_use", |of| csv::time(of.last_use)),
    ];
    let more = view.next.is_some().then_some(csv::MORE_ROWS);
    csv::table(&columns, view.sort.rows(&view.accounts), more)
}

fn cells(frame: &Frame<'_>, of: &Account) -> Markup {
    let account = &of.item;
    html! {
        td { a href=(account_path(&account.account)) { (account.account) } }
        td { (account.display_name) }
        td { (account.group_ids.join(", ")) }
        td { (state(frame, of)) }
        td.long { (session_text(frame, of.session.as_ref())) }
        td { (ago(frame, of.last_use)) }
    }
}

fn codes(frame: &Frame<'_>, view: &Integrators) -> Markup {
    let columns = columns(frame, &[CODE], &[REQUESTS]);
    let table = table(frame.say(CODES), &columns, &view.codes, |(code, answers)| {
        html! {
            th scope="row" { (code) " " span.note { (meaning(frame, *code)) } }
            td.number { (format::count(*answers)) }
        }
    });
    html! {
        @if view.codes.is_empty() { (empty(frame.say(NO_REQUESTS))) }
        @else { (table) }
        @if view.not_recorded > 0 {
            p.note { (NOT_RECORDED.fill(frame.language, &[&format::count(view.not_recorded)])) }
        }
    }
}

/// Returns the meaning of an answer's code (ENV-3).
fn meaning(frame: &Frame<'_>, number: i64) -> &'static str {
    let code = Code::ALL.iter().find(|code| i64::from(code.number()) == number);
    code.map_or("", |code| frame.say(code_meaning(*code)))
}

fn guesses(frame: &Frame<'_>, view: &Integrators) -> Markup {
    if view.guesses.is_empty() {
        return empty(frame.say(NO_GUESSES));
    }
    let columns = [
        Column::text(frame.say(SOURCE)),
        Column::number(frame.say(FAILED_LOGINS)),
        Column::text(frame.say(LAST)),
    ];
    table(frame.say(GUESSES), &columns, &view.guesses, |(source, Guesses { logins, last })| {
        html! {
            th scope="row" { (source.to_string()) }
            td.number { (format::count(*logins)) }
            td { (ago(frame, Some(*last))) }
        }
    })
}

fn functions(frame: &Frame<'_>, view: &History) -> Markup {
    if view.functions.is_empty() {
        return empty(frame.say(NO_REQUESTS));
    }
    let columns = columns(frame, &[FUNCTION], &[REQUESTS, REFUSED, FAILED, MEAN, SLOWEST]);
    let columns = view.sort.columns::<FunctionUsage>(frame, columns);
    table(frame.say(FUNCTIONS), &columns, view.sort.rows(&view.functions), |function| {
        html! {
            th scope="row" { code { (function.route) } }
            @for count in [function.requests, function.refused, function.failed] {
                td.number { (format::count(count)) }
            }
            @for time in [function.mean, function.slowest] {
                td.number { (milliseconds(time)) }
            }
        }
    })
}

/// Formats a time as milliseconds with one decimal.
fn milliseconds(time: Duration) -> String {
    let tenths = time.as_micros().saturating_add(50) / 100;
    format!("{}.{} ms", format::count(tenths / 10), tenths % 10)
}

/// Returns whether an account can log in, or why it cannot.
fn state(frame: &Frame<'_>, of: &Account) -> Markup {
    match (of.item.enabled, of.item.third_party_api, of.has_active_group) {
        (false, ..) => badge(Tone::Bad, frame.say(DISABLED)),
        (true, false, _) => badge(Tone::Warning, frame.say(NO_API)),
        (true, true, false) => badge(Tone::Warning, frame.say(NO_GROUP)),
        (true, true, true) => badge(Tone::Good, frame.say(ENABLED)),
    }
}

fn session_text(frame: &Frame<'_>, session: Option<&SessionItem>) -> String {
    let Some(session) = session else { return frame.say(NONE).to_owned() };
    let at = |at: i64| frame.zone.text(UnixMs(at));
    let say = |text: crate::text::Text, value: &str| text.fill(frame.language, &[value]);
    let parts = [
        Some(say(SINCE, &at(session.opened_timestamp))),
        Some(say(FROM, &session.source)),
        session.group_id.as_deref().map(|group| say(IN_GROUP, group)),
        Some(say(UNTIL, &at(session.expires_timestamp))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Renders the history of an account.
pub fn history(frame: &Frame<'_>, view: &History) -> String {
    let name = &view.account.item.account;
    let query = parameter("name", name);
    let body = match &view.entries {
        None => empty(frame.say(NEEDS_AUDIT)),
        Some(entries) if entries.is_empty() => empty(frame.say(NO_EVENTS)),
        Some(entries) => trail::sessions(frame, frame.say(TIMELINE), entries),
    };
    frame.render(&Page {
        heading: name,
        note: html! {},
        actions: html! {
            @if view.entries.is_some() {
                @let after = query_of(&[("after", view.after.as_deref().unwrap_or_default())]);
                (download(frame, &[&query, "format=csv", &after]))
            }
        },
        content: html! {
            section.card #account data-live { (summary(frame, view)) }
            @if view.account.session.is_some() && frame.rights.contain(Right::Fleet) {
                section.card #end { (end_form(frame, name)) }
            }
            (card("timeline", frame.say(TIMELINE), "", &body))
            (refused::list(frame, &view.refused))
            (card("functions", frame.say(FUNCTIONS), frame.say(OF_NODE), &functions(frame, view)))
            (pager(frame, &query, view.after.as_deref(), view.next.as_deref()))
        },
        refresh_s: Some(2),
    })
}

fn summary(frame: &Frame<'_>, view: &History) -> Markup {
    let of = &view.account;
    let groups = of.item.group_ids.iter().map(|id| view.groups.name_of(id));
    let groups = groups.collect::<Vec<_>>().join(", ");
    facts(&[
        (frame.say(NAME), html! { (of.item.display_name) }),
        (frame.say(STATE), state(frame, of)),
        (frame.say(GROUPS), html! { (if groups.is_empty() { format::NONE } else { &groups }) }),
        (frame.say(SESSION), html! { (session_text(frame, of.session.as_ref())) }),
        (frame.say(LAST_USE), ago(frame, of.last_use)),
    ])
}

fn end_form(frame: &Frame<'_>, account: &str) -> Markup {
    html! {
        details {
            summary { (frame.say(END)) }
            form method="post" action=(ACCOUNT_PATH) {
                input type="hidden" name="name" value=(account);
                p.hint { (frame.say(END_HINT)) }
                button.danger { (END_NOW.fill(frame.language, &[account])) }
            }
        }
    }
}
