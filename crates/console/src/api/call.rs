//! One call: its request, its answers, snippets that send it, and a form that tries it.

use kiosque_openapi::reference::{CallReference, Content, Field};
use kiosque_openapi::refusals;
use maud::{Markup, html};

use super::chinese::prose;
use super::trial::{self, Trial};
use super::{Document, fields, snippets};
use crate::components::{card, columns, table};
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::text::texts;
use crate::words::{CODE, REQUEST, STATUS};

texts! {
    ALL: "All calls", "全部调用";
    PARAMETERS: "Parameters", "参数";
    OF_QUERY: "in the query string", "位于查询字符串";
    OF_HEADER: "in a header", "位于请求头";
    BODY: "Body", "请求体";
    NO_BODY: "The call takes no body.", "此调用没有请求体。";
    WITH_TOKEN: "Its header {0} has the access token.", "请求头 {0} 为访问令牌。";
    WITH_KEY: "Its header Authorization has the key.", "请求头 Authorization 为密钥。";
    WITHOUT_SECRET: "It takes neither token nor key.", "不需要令牌或密钥。";
    ANSWERS: "Answers", "应答";
    MEANING: "Meaning", "含义";
    CONTENT_TYPE: "Content type", "内容类型";
    HEADERS: "Headers", "响应头";
    SUCCESS: "Body of a success", "成功时的正文";
    FAILURE: "Body of a failure", "失败时的正文";
    PLAIN: "Text.", "纯文本。";
    REFUSALS: "Codes of refusals", "拒绝代码";
    MESSAGE: "Message", "消息";
    EXAMPLE: "Example", "示例";
}

/// A call, and the form that tries it.
pub struct CallPage<'a> {
    /// Its document.
    pub document: Document,
    /// The call.
    pub call: &'a CallReference,
    /// The base URL of the document's calls.
    pub server: &'a str,
    /// The form.
    pub trial: Trial,
}

/// Renders a call.
pub fn page(frame: &Frame<'_>, view: &CallPage<'_>) -> String {
    let call = view.call;
    frame.render(&Page {
        heading: &call.id,
        note: view.document.address(call),
        actions: html! { a.button href=(Section::Api.path()) { (frame.say(ALL)) } },
        content: html! {
            section.card {
                p { (prose(frame.language, &call.summary)) }
                @for paragraph in &call.paragraphs {
                    p.more { (prose(frame.language, paragraph)) }
                }
            }
            @if let Some(outcome) = &view.trial.outcome { (trial::outcome(frame, outcome)) }
            (trial::form(frame, view.document, call, &view.trial))
            (request(frame, view))
            (answers(frame, view))
            (snippets::list(frame, view.document, call, view.server))
        },
        refresh_s: None,
    })
}

fn request(frame: &Frame<'_>, view: &CallPage<'_>) -> Markup {
    use kiosque_contract::TOKEN_HEADER;
    let call = view.call;
    let secret = match (call.has_secret, view.document) {
        (false, _) => frame.say(WITHOUT_SECRET).to_owned(),
        (true, Document::Integrators) => WITH_TOKEN.fill(frame.language, &[TOKEN_HEADER]),
        (true, Document::Operator) => frame.say(WITH_KEY).to_owned(),
    };
    let body = html! {
        p { (secret) }
        @for (parameters, text) in [(&call.query, OF_QUERY), (&call.headers, OF_HEADER)] {
            @if !parameters.is_empty() {
                h3 { (frame.say(PARAMETERS)) " " span.note { (frame.say(text)) } }
                (fields::list(frame, frame.say(PARAMETERS), parameters))
            }
        }
        @match &call.body {
            None => p { (frame.say(NO_BODY)) },
            Some(body) => {
                h3 { (frame.say(BODY)) " " span.note { (body.content_type) } }
                @if !body.about.is_empty() { p.hint { (prose(frame.language, &body.about)) } }
                (fields::list(frame, frame.say(BODY), &body.fields))
                (example(frame, body))
            }
        }
    };
    card("request", frame.say(REQUEST), "", &body)
}

fn answers(frame: &Frame<'_>, view: &CallPage<'_>) -> Markup {
    let call = view.call;
    let columns = columns(frame, &[STATUS, MEANING, CONTENT_TYPE, HEADERS], &[]);
    let table = table(frame.say(ANSWERS), &columns, &call.answers, |answer| {
        html! {
            th scope="row" { (answer.status) }
            td { (prose(frame.language, &answer.about)) }
            td { (answer.content_type) }
            td { @if answer.headers.is_empty() { (format::NONE) } (answer.headers.join(", ")) }
        }
    });
    let body = html! {
        (table)
        h3 { (frame.say(SUCCESS)) " " span.note { (call.success.content_type) } }
        @if call.success.fields.is_empty() { p { (frame.say(PLAIN)) } } @else {
            (fields::list(frame, frame.say(SUCCESS), &call.success.fields))
        }
        (example(frame, &call.success))
        (failure(frame, view.document, &call.failure))
    };
    card("answers", frame.say(ANSWERS), "", &body)
}

/// Renders the fields of a failure, and the codes of integrators' refusals.
fn failure(frame: &Frame<'_>, document: Document, failure: &[Field]) -> Markup {
    let columns = columns(frame, &[CODE, MESSAGE], &[]);
    let refusals = table(frame.say(REFUSALS), &columns, refusals(frame.language), |refusal| {
        html! { th scope="row" { (refusal.0) } td { (refusal.1) } }
    });
    html! {
        @if !failure.is_empty() {
            details.other {
                summary { (frame.say(FAILURE)) }
                (fields::list(frame, frame.say(FAILURE), failure))
            }
        }
        @if document == Document::Integrators {
            details.other {
                summary { (frame.say(REFUSALS)) }
                (refusals)
            }
        }
    }
}

fn example(frame: &Frame<'_>, content: &Content) -> Markup {
    html! {
        @if let Some(example) = &content.example {
            details.other {
                summary { (frame.say(EXAMPLE)) }
                pre tabindex="0" { (format!("{example:#}")) }
            }
        }
    }
}
