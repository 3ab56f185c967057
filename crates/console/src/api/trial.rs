//! The form that tries a call, and the answer to it.

use kiosque_contract::{ENDPOINTS, TokenRule};
use kiosque_openapi::reference::CallReference;
use maud::{Markup, html};

use super::Document;
use crate::components::{card, facts, text_field};
use crate::format;
use crate::frame::Frame;
use crate::text::texts;
use crate::words::{ANSWER, STATUS};

texts! {
    HEADING: "Try it", "试用";
    READ_HINT: "The call runs with the rights of your key.", "此调用以您的密钥权限执行。";
    TOKEN_HINT: "The call runs in this server. The token is neither stored nor logged, and is not \
        filled in again.", "此调用在本服务器内执行。令牌不会被保存或记入日志，也不会再次填入。";
    PASSWORD_HINT: "The call runs in this server. The password is neither stored nor logged, and \
        is not filled in again.", "此调用在本服务器内执行。密码不会被保存或记入日志，也不会再次填入。";
    LOG_IN_WARNING: "A login ends the other session of the account: a program that uses it is \
        refused until it logs in again.", "登录会结束该账户的另一会话：使用该会话的程序在重新登录前会被拒绝。";
    SESSION_WARNING: "The token is invalid afterwards: a program that uses it is refused until it \
        logs in again.", "此后该令牌失效：使用它的程序在重新登录前会被拒绝。";
    CONFIRM: "End that session", "结束该会话";
    NOT_CONFIRMED: "Nothing was sent. Confirm that the session may end.",
        "未发送任何请求。请确认可以结束该会话。";
    USERNAME: "User name", "用户名";
    PASSWORD: "Password", "密码";
    TOKEN: "Access token", "访问令牌";
    BODY: "Body, as JSON", "请求体（JSON）";
    SEND: "Send", "发送";
    NOT_OFFERED: "This call changes data and cannot be tried here. Use one of the snippets.",
        "此调用会更改数据，无法在此试用。请使用代码示例。";
    CUT: "The answer is longer; its first {0} bytes are shown.", "应答较长，仅显示前 {0} 字节。";
    EMPTY: "The answer has no body.", "应答没有正文。";
}

/// The names of the controls that are not parameters of the call.
pub mod control {
    /// The login name of an account.
    pub const USERNAME: &str = "username";
    /// Its password.
    pub const PASSWORD: &str = "password";
    /// The access token of an account.
    pub const TOKEN: &str = "token";
    /// The body of the request.
    pub const BODY: &str = "body";
    /// The consent to the end of a session.
    pub const CONFIRM: &str = "confirm";
}

/// The form of a call, by what it needs from the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A call of the operator that reads: parameters.
    Read,
    /// The login of an account: its name and password, and a confirmation.
    LogIn,
    /// A call that ends the session of its token: the token, and a confirmation.
    Session,
    /// Any other call of integrators: a token.
    Business,
}

impl Form {
    /// Returns the form of a call; `None` for a call that changes orders or the fleet.
    pub fn of(document: Document, call: &CallReference) -> Option<Form> {
        if document == Document::Operator {
            return (call.method == "GET").then_some(Form::Read);
        }
        let path = call.path.trim_start_matches('/');
        let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.path == path)?;
        Some(match endpoint.token {
            TokenRule::Ignored => Form::LogIn,
            TokenRule::OrMissing => Form::Session,
            TokenRule::OrInvalid => Form::Business,
        })
    }

    /// Returns whether the person has to confirm that a session may end.
    pub const fn needs_confirmation(self) -> bool {
        matches!(self, Form::LogIn | Form::Session)
    }
}

/// The form as it was sent. Secrets are not in it.
#[derive(Default)]
pub struct Trial {
    /// The controls that were filled in, by name.
    pub given: Vec<(String, String)>,
    /// The result, if the form was sent.
    pub outcome: Option<Outcome>,
}

/// The result of a form.
pub enum Outcome {
    /// The call was answered.
    Answered(Answered),
    /// The person has not confirmed that a session may end.
    NotConfirmed,
}

/// The answer to a call. It may have a token, so that it has no `Debug`.
pub struct Answered {
    /// The HTTP status with its name.
    pub status: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub body: String,
    /// The length of the part that is shown, in bytes, if there is more.
    pub cut_at: Option<usize>,
}

impl Trial {
    fn value(&self, name: &str) -> Option<&str> {
        let given = self.given.iter().find(|(key, _)| key == name);
        given.map(|(_, value)| value.as_str())
    }
}

/// Renders the form of a call of a document.
pub(super) fn form(
    frame: &Frame<'_>,
    document: Document,
    call: &CallReference,
    trial: &Trial,
) -> Markup {
    let Some(form) = Form::of(document, call) else {
        let body = html! { p.hint { (frame.say(NOT_OFFERED)) } };
        return card("try", frame.say(HEADING), "", &body);
    };
    let hint = match form {
        Form::Read => READ_HINT,
        Form::LogIn => PASSWORD_HINT,
        Form::Session | Form::Business => TOKEN_HINT,
    };
    let body = html! {
        p.hint { (frame.say(hint)) }
        form.try method="post" action=(document.path_of(&call.id)) {
            (secrets(frame, form))
            @for name in call.query.iter().map(|field| &field.name) {
                (text_field("text", name, name, trial.value(name).unwrap_or_default()))
            }
            @if form != Form::LogIn { (body_field(frame, call, trial)) }
            @if form.needs_confirmation() { (confirmation(frame, form)) }
            button { (frame.say(SEND)) }
        }
    };
    card("try", frame.say(HEADING), "", &body)
}

fn secrets(frame: &Frame<'_>, form: Form) -> Markup {
    let secret = |name: &str, label: &str| {
        html! {
            label { (label)
                input type="password" name=(name) required autocomplete="off";
            }
        }
    };
    html! {
        @match form {
            Form::Read => {}
            Form::LogIn => {
                (text_field("text", control::USERNAME, frame.say(USERNAME), ""))
                (secret(control::PASSWORD, frame.say(PASSWORD)))
            }
            Form::Session | Form::Business => (secret(control::TOKEN, frame.say(TOKEN))),
        }
    }
}

fn body_field(frame: &Frame<'_>, call: &CallReference, trial: &Trial) -> Markup {
    let example = || Some(format!("{:#}", call.body.as_ref()?.example.as_ref()?));
    let given = trial.value(control::BODY).map(str::to_owned);
    html! {
        @if call.body.is_some() {
            label { (frame.say(BODY))
                textarea name=(control::BODY) rows="6" spellcheck="false" autocomplete="off" {
                    (given.or_else(example).unwrap_or_default())
                }
            }
        }
    }
}

fn confirmation(frame: &Frame<'_>, form: Form) -> Markup {
    let warning = if form == Form::LogIn { LOG_IN_WARNING } else { SESSION_WARNING };
    html! {
        p.notice.warning { (frame.say(warning)) }
        label.check { input type="checkbox" name=(control::CONFIRM) value="yes" required; " "
            (frame.say(CONFIRM))
        }
    }
}

/// Renders the result of the form.
pub(super) fn outcome(frame: &Frame<'_>, outcome: &Outcome) -> Markup {
    let answered = match outcome {
        Outcome::NotConfirmed => {
            return html! { p.notice role="alert" { (frame.say(NOT_CONFIRMED)) } };
        }
        Outcome::Answered(answered) => answered,
    };
    let status = (frame.say(STATUS), html! { b { (answered.status) } });
    let headers = answered.headers.iter().map(|(name, value)| (name.as_str(), html! { (value) }));
    let headers: Vec<(&str, Markup)> = std::iter::once(status).chain(headers).collect();
    let body = html! {
        (facts(&headers))
        @if answered.body.is_empty() { p.hint { (frame.say(EMPTY)) } } @else {
            pre #body tabindex="0" { (indented(&answered.body)) }
        }
        @if let Some(bytes) = answered.cut_at {
            p.hint { (CUT.fill(frame.language, &[&format::count(bytes)])) }
        }
    };
    card("answer", frame.say(ANSWER), "", &body)
}

/// Indents JSON, or the beginning of it, without changing a character of its values. Other texts
/// are returned as they are.
fn indented(text: &str) -> String {
    if !text.starts_with(['{', '[']) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    let mut last = ' ';
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    for c in text.chars() {
        if in_text {
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if matches!(c, ']' | '}') {
            depth = depth.saturating_sub(1);
            if !matches!(last, '[' | '{') {
                line(&mut out, depth);
            }
        } else {
            if matches!(last, '[' | '{' | ',') {
                line(&mut out, depth);
            }
            in_text = c == '"';
            depth += usize::from(matches!(c, '[' | '{'));
        }
        out.push(c);
        if c == ':' && !in_text {
            out.push(' ');
        }
        last = if in_text { '"' } else { c };
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn calls_that_change_data_have_no_form_and_those_that_end_a_session_need_a_confirmation() {
        let forms = |document: Document| {
            let calls = document.reference().iter();
            calls.map(move |call| (call.id.as_str(), Form::of(document, call)))
        };
        let none = forms(Document::Operator).filter(|(_, form)| form.is_none());
        let none: Vec<&str> = none.map(|(id, _)| id).collect();
        assert_eq!(none, ["receiveActivity", "applyFleet", "receiveOrders"]);
        let confirmed = forms(Document::Integrators)
            .filter(|(_, form)| form.is_some_and(Form::needs_confirmation));
        let confirmed: Vec<&str> = confirmed.map(|(id, _)| id).collect();
        assert_eq!(confirmed, ["logIn", "switchGroup", "logOut"]);
        assert!(forms(Document::Integrators).all(|(_, form)| form.is_some()));
    }

    #[test]
    fn json_is_indented_and_other_text_is_not() {
        assert_eq!(
            indented(r#"{"a":[1,{}],"b":[]}"#),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"
        );
        assert_eq!(indented("ok\n"), "ok\n");
        assert_eq!(indented(r#"{"a":"x,{\"y"#), "{\n  \"a\": \"x,{\\\"y");
    }

    proptest! {
        #[test]
        fn indenting_changes_no_value(texts in proptest::collection::vec(".{0,20}", 0..4), n: i64) {
            let value = serde_json::json!({ "a": texts, "b": { "c": n, "d": [] } });
            let shown: Value = serde_json::from_str(&indented(&value.to_string())).expect("JSON");
            prop_assert_eq!(shown, value);
        }
    }
}
