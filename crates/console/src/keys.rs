//! The keys of the operator's calls and of this console: a list, and forms to create and revoke
//! keys.

use kiosque_model::{KeyEntry, Right};
use maud::{Markup, html};

use crate::components::{Tone, ago, badge, card, columns, download, empty, table, time};
use crate::csv;
use crate::frame::{Frame, Page, Section};
use crate::sort::{Columns, Listed, Sort, Value};
use crate::text::{Text, texts};
use crate::words::{COPY, CREATED, LAST_USE, NAME, STATE};

texts! {
    ALL: "All keys", "全部密钥";
    RIGHTS: "Rights", "权限";
    LIVE: "live", "有效";
    REVOKED: "revoked {0}", "已于 {0} 吊销";
    REVOKE: "Revoke", "吊销";
    REVOKE_NOW: "Revoke {0} now", "立即吊销 {0}";
    REVOKE_HINT: "Its next request is refused, and its console sessions end.",
        "其下一个请求将被拒绝，控制台会话也会结束。";
    NONE: "No keys.", "没有密钥。";
    CUT: "Only the newest revoked keys are listed. “kiosque operator-key list” lists all.",
        "已吊销的密钥仅列出最新的部分。“kiosque operator-key list”可列出全部。";
    CREATE: "Create a key", "创建密钥";
    CREATE_HINT: "A key can have the rights that your key has.", "新密钥只能拥有您的密钥所具有的权限。";
    NEW_KEY: "The new key {0}", "新密钥 {0}";
    ONCE: "Copy it now: it is shown only once, and only its digest is stored.",
        "请立即复制：仅显示一次，系统只保存其摘要。";
    NAME_TAKEN: "An active key has the name {0}. Choose another name, or revoke that key.",
        "名称 {0} 已被有效密钥使用。请换一个名称或吊销该密钥。";
    BAD_NAME: "“{0}” cannot be the name of a key: {1}", "“{0}” 不能作为密钥名称：{1}";
    NO_RIGHTS: "Choose at least one right.", "请至少选择一项权限。";
    NOT_GRANTED: "Your key does not have all of these rights.", "您的密钥不具有所选的全部权限。";
    UNKNOWN: "No active key has the name {0}.", "没有名为 {0} 的有效密钥。";
    DONE: "The key {0} is revoked.", "密钥 {0} 已吊销。";

    /// Returns a right with its meaning.
    fn right_text(Right) {
        Orders: "orders: send orders", "orders：发送订单";
        Activity: "activity: send heartbeats", "activity：发送心跳";
        Fleet: "fleet: apply a fleet", "fleet：应用设备清单";
        Audit: "audit: read the audit trail", "audit：查看审计记录";
        Read: "read: read the stored data", "read：查看已存数据";
        Keys: "keys: create and revoke keys", "keys：创建和吊销密钥";
    }
}

/// The keys, and the result of a form.
pub struct Keys {
    /// The keys, the newest first.
    pub keys: Vec<KeyEntry>,
    /// Whether older revoked keys are left out.
    pub is_cut: bool,
    /// Their order, if they are sorted.
    pub sort: Sort,
    /// The key in the form, as sent if it was not created.
    pub sent: NewKey,
    /// The result of the form that was sent.
    pub outcome: Option<Outcome>,
}

/// The values of the form that creates a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// The names of its rights.
    pub rights: Vec<String>,
}

impl Listed for KeyEntry {
    const COLUMNS: Columns<KeyEntry> = &[
        Some(("name", |key| Value::text(key.name.as_str()))),
        None,
        Some(("created", |key| Value::Number(key.created_at.0))),
        Some(("used", |key| Value::of(key.used_at.map(|at| at.0)))),
        Some(("revoked", |key| Value::of(key.revoked_at.map(|at| at.0)))),
    ];
}

/// The result of a form. It may have a key, so that it has no `Debug`.
pub enum Outcome {
    /// A key with this name was created; the second text is the key itself.
    Created(String, String),
    /// The key with this name was revoked.
    Revoked(String),
    /// A live key has the name.
    NameTaken(String),
    /// The text cannot be a name, for this reason.
    BadName(String, String),
    /// No right was chosen.
    NoRights,
    /// The rights exceed the rights of the person's key.
    NotGranted,
    /// No live key has the name.
    Unknown(String),
}

/// Renders the page.
pub fn page(frame: &Frame<'_>, view: &Keys) -> String {
    frame.render(&Page {
        heading: frame.say(Section::Keys.name()),
        actions: download(frame, &["format=csv", &view.sort.query()]),
        content: html! {
            @if let Some(outcome) = &view.outcome { (shown(frame, outcome)) }
            (card("create", frame.say(CREATE), "", &create_form(frame, &view.sent)))
            (card("keys", frame.say(ALL), "", &list(frame, view)))
        },
        ..Page::default()
    })
}

/// Returns the keys as CSV. The last row of a part of them says so in its first column.
pub fn csv(view: &Keys) -> String {
    let columns: [csv::Column<&KeyEntry>; 5] = [
        ("name", |key| key.name.to_string()),
        ("rights", |key| key.rights.to_string()),
        ("created", |key| key.created_at.rfc3339()),
        ("last_use", |key| csv::time(key.used_at)),
        ("revoked", |key| csv::time(key.revoked_at)),
    ];
    csv::table(&columns, view.sort.rows(&view.keys), view.is_cut.then_some(CUT.en))
}

fn shown(frame: &Frame<'_>, outcome: &Outcome) -> Markup {
    let say = |text: Text, values: &[&str]| text.fill(frame.language, values);
    let (role, text) = match outcome {
        Outcome::Created(name, key) => {
            let body = html! {
                p { (frame.say(ONCE)) }
                p { code #key { (key) } " " button type="button" data-copy="key" {
                    (frame.say(COPY))
                } }
            };
            return card("created", &say(NEW_KEY, &[name]), "", &body);
        }
        Outcome::Revoked(name) => ("status", say(DONE, &[name])),
        Outcome::NameTaken(name) => ("alert", say(NAME_TAKEN, &[name])),
        Outcome::BadName(name, error) => ("alert", say(BAD_NAME, &[name, error])),
        Outcome::NoRights => ("alert", say(NO_RIGHTS, &[])),
        Outcome::NotGranted => ("alert", say(NOT_GRANTED, &[])),
        Outcome::Unknown(name) => ("alert", say(UNKNOWN, &[name])),
    };
    html! { p.notice role=(role) { (text) } }
}

fn create_form(frame: &Frame<'_>, sent: &NewKey) -> Markup {
    html! {
        form.form method="post" action=(Section::Keys.path()) {
            input type="hidden" name="action" value="create";
            label { (frame.say(NAME))
                input type="text" name="name" value=(sent.name) required maxlength="64"
                    autocomplete="off";
            }
            fieldset {
                legend { (frame.say(RIGHTS)) }
                p.hint { (frame.say(CREATE_HINT)) }
                @for right in frame.rights.iter() {
                    @let is_sent = sent.rights.iter().any(|name| name == right.name());
                    label { input type="checkbox" name="may" value=(right.name()) checked[is_sent];
                        (frame.say(right_text(right)))
                    }
                }
            }
            button.primary { (frame.say(CREATE)) }
        }
    }
}

fn list(frame: &Frame<'_>, view: &Keys) -> Markup {
    let columns = columns(frame, &[NAME, RIGHTS, CREATED, LAST_USE, STATE, REVOKE], &[]);
    let columns = view.sort.columns::<KeyEntry>(frame, columns);
    let table = table(frame.say(ALL), &columns, view.sort.rows(&view.keys), |key| {
        html! {
            td { (key.name.as_str()) }
            td { (key.rights.to_string().replace(',', ", ")) }
            td { (time(frame, key.created_at)) }
            td { (ago(frame, key.used_at)) }
            td { (state(frame, key)) }
            td { @if key.revoked_at.is_none() { (revoke_form(frame, key.name.as_str())) } }
        }
    });
    html! {
        @if view.keys.is_empty() { (empty(frame.say(NONE))) }
        @else { (table) }
        @if view.is_cut { p.note { (frame.say(CUT)) } }
    }
}

fn state(frame: &Frame<'_>, key: &KeyEntry) -> Markup {
    match key.revoked_at {
        None => badge(Tone::Good, frame.say(LIVE)),
        Some(at) => badge(Tone::Neutral, &REVOKED.fill(frame.language, &[&frame.zone.text(at)])),
    }
}

/// Returns a form that must be opened before it can be sent.
fn revoke_form(frame: &Frame<'_>, name: &str) -> Markup {
    html! {
        details {
            summary { (frame.say(REVOKE)) }
            form method="post" action=(Section::Keys.path()) {
                input type="hidden" name="action" value="revoke";
                input type="hidden" name="name" value=(name);
                p.hint { (frame.say(REVOKE_HINT)) }
                button.danger { (REVOKE_NOW.fill(frame.language, &[name])) }
            }
        }
    }
}
