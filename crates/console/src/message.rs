//! A page with a message: a nonexistent address, a missing right, a failure.

use maud::html;

use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::period::{DAYS_MAX, Period};
use crate::text::{Text, texts};

texts! {
    NOT_FOUND: "Not found", "未找到";
    NOT_FOUND_TEXT: "There is no page or entry with this address. It may have been removed.",
        "此地址没有页面或条目，可能已被移除。";
    FORBIDDEN: "Not permitted", "没有权限";
    FORBIDDEN_TEXT: "The key {0} does not have the right {1}, which this page requires. Sign in \
        with another key, or ask for one.", "密钥 {0} 没有此页面所需的权限 {1}。请用其他密钥登录或申请。";
    FAILED: "The page cannot be shown", "无法显示此页面";
    FAILED_TEXT: "Reading the data failed. The server's log has the cause under request {0}.",
        "读取数据失败。服务器日志中以请求 {0} 记录了原因。";
    BAD_REQUEST: "This address is not valid", "此地址无效";
    BAD_REQUEST_TEXT: "The parameter {0} has a value that this page cannot use. Open the page \
        without it, and choose there.", "参数 {0} 的值无法使用。请不带该参数打开页面，再在页面中选择。";
    UNKNOWN_PARAMETER_TEXT: "This page has no parameter {0}. Open it without the parameter, and \
        choose there.", "此页面没有参数 {0}。请不带该参数打开页面，再在页面中选择。";
    BAD_PERIOD_TEXT: "The parameter {0} has a value that this page cannot use. Days are written \
        yyyy-MM-dd; the first is not after the last, and there are at most {1}.",
        "参数 {0} 的值无法使用。日期格式为 yyyy-MM-dd，起始日不得晚于结束日，最多 {1} 天。";
    TO_OVERVIEW: "To the overview", "返回概览";
}

/// A page that has only a message.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// 404: no page or entry has this address.
    NotFound,
    /// 403: the key lacks the right of this name.
    Forbidden(&'a str),
    /// 400: the parameter with this name has an invalid value.
    BadParameter(&'a str),
    /// 400: the page has no parameter with this name.
    UnknownParameter(&'a str),
    /// 500 and 503: the request with this id failed.
    Failed(&'a str),
}

impl Message<'_> {
    fn texts(&self, frame: &Frame<'_>) -> (Text, String) {
        let language = frame.language;
        match self {
            Message::NotFound => (NOT_FOUND, NOT_FOUND_TEXT.of(language).to_owned()),
            Message::Forbidden(right) => {
                (FORBIDDEN, FORBIDDEN_TEXT.fill(language, &[frame.key_name, right]))
            }
            Message::BadParameter(name) if Period::PARAMETERS.contains(name) => {
                let days_max = format::count(DAYS_MAX);
                (BAD_REQUEST, BAD_PERIOD_TEXT.fill(language, &[name, &days_max]))
            }
            Message::BadParameter(name) => (BAD_REQUEST, BAD_REQUEST_TEXT.fill(language, &[name])),
            Message::UnknownParameter(name) => {
                (BAD_REQUEST, UNKNOWN_PARAMETER_TEXT.fill(language, &[name]))
            }
            Message::Failed(request) => (FAILED, FAILED_TEXT.fill(language, &[request])),
        }
    }
}

/// Renders a message.
pub fn page(frame: &Frame<'_>, message: &Message<'_>) -> String {
    let (heading, text) = message.texts(frame);
    let content = html! {
        section.card.message {
            p { (text) }
            @if frame.rights.contain(Section::Overview.right()) {
                p { a href=(Section::Overview.path()) { (frame.say(TO_OVERVIEW)) } }
            }
        }
    };
    frame.render(&Page { heading: frame.say(heading), content, ..Page::default() })
}

#[cfg(test)]
mod tests {
    use kiosque_model::{Rights, Zone};

    use super::*;

    #[test]
    fn a_bad_parameter_is_explained_by_its_kind() {
        let (rights, zone) = (Rights::all(), Zone::utc());
        let frame = Frame::sample(&rights, &zone, "/console/devices?state=x");
        let text = |name| Message::BadParameter(name).texts(&frame).1;
        let of_a_day = "The parameter from has a value that this page cannot use. Days are written \
                        yyyy-MM-dd; the first is not after the last, and there are at most 3,660.";
        assert_eq!(text("from"), of_a_day);
        let of_another = "The parameter state has a value that this page cannot use. Open the page \
                          without it, and choose there.";
        assert_eq!(text("state"), of_another);
    }
}
