//! Requests of integrators that were refused or failed: the look-up of one by its id, and lists of
//! them.

use kiosque_model::{RefusalKind, UnixMs};
use maud::{Markup, Render, html};

use crate::components::{
    Tone, account_path, address, badge, card, columns, empty, filter, parameter, table, text_field,
    time,
};
use crate::frame::{Frame, Section};
use crate::text::texts;
use crate::words::{ACCOUNT, ANSWER, CODE, NONE, REASON, REQUEST, SOURCE, TIME};

texts! {
    LOOK_UP: "A refused or failed request", "被拒绝或失败的请求";
    LOOK_UP_NOTE: "of the last day", "最近一天";
    REQUEST_ID: "Request id (the answer’s header x-request-id)", "请求编号（应答头 x-request-id）";
    CLAIMED: "{0}, as the token or the login claims", "{0}（由令牌或登录名声称）";
    FUNCTION: "Call", "请求内容";
    FIELDS: "Fields", "字段";
    NOT_READ: "not recorded: there is no body, it was not read, or it is secret",
        "未记录：没有正文、正文未读取，或属于机密";
    CAUSE: "Cause", "详情";
    REFUSALS: "Latest refused requests", "最近被拒绝的请求";
    NO_REFUSALS: "No request was refused in the last day.", "最近一天没有被拒绝的请求。";
    MISSING: "There is no refused request with this id.", "没有此编号的被拒绝请求。";
    MISSING_WHY: "It may have succeeded: only refused and failed requests are recorded. It may be \
        older than a day, or one of very many: then the oldest ones of the accounts with the most \
        refusals are deleted first, and a part is not recorded at all. It may be a call of the \
        operator’s listener, or of another platform. It may be less than two seconds old.",
        "它可能已成功：只记录被拒绝和失败的请求。它可能已超过一天，或因数量过多而未保留：被拒绝最多的账户\
        的最旧记录会先删除，部分请求不会被记录。它可能是运营接口的调用，或属于另一个平台，也可能发生不到两秒。";
    FAILED: "The server failed; its log has the cause under this id.",
        "服务器失败；日志中以此编号记录了原因。";

    /// Returns the explanation of a kind of refusal.
    fn explanation(RefusalKind) {
        ApiNotEnabled: "The account has no API access: set third_party_api in the fleet file.",
            "账户没有 API 权限：请在设备清单中设置 third_party_api。";
        NoGroup: "None of the account’s groups is active.", "账户没有任何启用的分组。";
        GroupClosed: "The group does not exist, is deactivated, or is not one of the account’s.",
            "分组不存在、已停用，或不属于该账户。";
        OutOfScope: "A device or group of the filters is not in the selected group’s scope; an \
            unknown one is answered in the same way.", "筛选的设备或分组不在所选分组范围内；未知编码的应答相同。";
        OrderUnknown: "The selected group has no order with this trade number.",
            "所选分组中没有此交易号的订单。";
        Invalid: "Fields are missing or have invalid values; the answer lists them.",
            "字段缺失或值无效；应答中已列出。";
        Credentials: "The login name or the password is wrong, or the account is disabled.",
            "登录名或密码错误，或账户已停用。";
        TooManyFailures: "Too many failed logins with this name or from this source; the password \
            was not compared.", "此登录名或来源的失败登录过多；未比对密码。";
        TokenMissing: "The request has no token in the header third-api-token.",
            "请求头 third-api-token 中没有令牌。";
        TokenInvalid: "The token is not the current one of an account: another login replaced it, \
            a switch of the group renewed it, it was logged out, or it was never valid.",
            "令牌不是账户的当前令牌：被另一次登录替换、因切换分组而更新、已退出，或从未有效。";
        SessionExpired: "The session has expired; the account must log in again.",
            "会话已过期，账户需重新登录。";
        Unreadable: "The body is not a readable JSON object.", "正文不是可读取的 JSON 对象。";
        NotFound: "There is no function with this path, or the method is not POST.",
            "没有此路径的功能，或方法不是 POST。";
    }
}

/// The parameter of the look-up: the id of a request.
pub const PARAMETER: &str = "request";

/// A look-up by id.
#[derive(Clone, Debug)]
pub struct LookUp {
    /// The requested id.
    pub request_id: String,
    /// The request, if it was found.
    pub found: Option<Refused>,
}

/// A request that was refused or that failed.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Its id.
    pub request_id: String,
    /// When it arrived.
    pub at: UnixMs,
    /// The account, or the claimed one.
    pub account: Option<String>,
    /// Whether its token is or was valid for the account.
    pub is_proven: bool,
    /// The address of the sender.
    pub source: String,
    /// The method, the path and the page.
    pub asked: String,
    /// The fields of the body, as JSON.
    pub fields: Option<String>,
    /// The status of HTTP.
    pub status: u16,
    /// The code of the answer, if it has one.
    pub code: Option<i64>,
    /// The message of the answer.
    pub message: String,
    /// The data of the answer: one violation each.
    pub data: Vec<String>,
    /// The kind of the refusal; `None` if the server failed.
    pub kind: Option<RefusalKind>,
    /// The cause of a failure, or a remark on the token.
    pub cause: Option<String>,
}

/// Returns the address of the look-up of a request.
pub(crate) fn path_of(request_id: &str) -> String {
    address(Section::Integrators.path(), &[&parameter(PARAMETER, request_id)])
}

/// Renders the form of the look-up, with its result.
pub(crate) fn look_up(frame: &Frame<'_>, look_up: Option<&LookUp>) -> Markup {
    let id = look_up.map_or("", |look_up| look_up.request_id.as_str());
    let field = text_field("search", PARAMETER, frame.say(REQUEST_ID), id);
    let body = html! {
        (filter(frame, Section::Integrators.path(), &field))
        @if let Some(look_up) = look_up {
            @match &look_up.found {
                Some(found) => (one(frame, found)),
                None => {
                    (empty(frame.say(MISSING)))
                    p.note { (frame.say(MISSING_WHY)) }
                }
            }
        }
    };
    card("request", frame.say(LOOK_UP), frame.say(LOOK_UP_NOTE), &body)
}

fn one(frame: &Frame<'_>, request: &Refused) -> Markup {
    let code = request.code.map(|code| code.to_string()).unwrap_or_default();
    let mut rows = vec![
        (frame.say(REQUEST), html! { code { (request.request_id) } }),
        (frame.say(TIME), time(frame, request.at)),
        (frame.say(ACCOUNT), account(frame, request)),
        (frame.say(SOURCE), request.source.render()),
        (frame.say(FUNCTION), html! { code { (request.asked) } }),
        (frame.say(FIELDS), fields(frame, request)),
        (frame.say(CODE), html! { (code) " (HTTP " (request.status) ")" }),
        (frame.say(ANSWER), answer(request)),
        (frame.say(REASON), frame.say(request.kind.map_or(FAILED, explanation)).render()),
    ];
    if let Some(cause) = &request.cause {
        rows.push((frame.say(CAUSE), cause.render()));
    }
    html! {
        dl.details {
            @for (name, value) in &rows { div { dt { (name) } dd { (value) } } }
        }
    }
}

fn account(frame: &Frame<'_>, request: &Refused) -> Markup {
    let Some(name) = &request.account else { return frame.say(NONE).render() };
    let text = match request.is_proven {
        true => name.clone(),
        false => CLAIMED.fill(frame.language, &[name]),
    };
    html! { a href=(account_path(name)) { (text) } }
}

fn fields(frame: &Frame<'_>, request: &Refused) -> Markup {
    match &request.fields {
        Some(fields) => html! { code { (fields) } },
        None => frame.say(NOT_READ).render(),
    }
}

fn answer(request: &Refused) -> Markup {
    html! {
        (request.message)
        @if !request.data.is_empty() {
            ul { @for line in &request.data { li { (line) } } }
        }
    }
}

/// Renders the latest requests of an account.
pub(crate) fn list(frame: &Frame<'_>, requests: &[Refused]) -> Markup {
    let columns = columns(frame, &[TIME, FUNCTION, SOURCE, CODE, ANSWER, REQUEST], &[]);
    let body = html! {
        @if requests.is_empty() { (empty(frame.say(NO_REFUSALS))) }
        @else { (table(frame.say(REFUSALS), &columns, requests, |one| cells(frame, one))) }
    };
    card("refusals", frame.say(REFUSALS), frame.say(LOOK_UP_NOTE), &body)
}

fn cells(frame: &Frame<'_>, request: &Refused) -> Markup {
    let code = request.code.map(|code| code.to_string()).unwrap_or_default();
    let tone = if request.kind.is_none() { Tone::Bad } else { Tone::Warning };
    html! {
        td { (time(frame, request.at)) }
        td.long { code { (request.asked) } }
        td { (request.source) }
        td { (badge(tone, &code)) }
        td.long { (request.data.first().unwrap_or(&request.message)) }
        td { a href=(path_of(&request.request_id)) { code.id { (request.request_id) } } }
    }
}
