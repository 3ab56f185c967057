//! The card with what needs attention.

use kiosque_model::Need;
use maud::{Markup, html};

use super::Overview;
use crate::components::{address, card, empty, parameter};
use crate::devices::{need_name, need_rule};
use crate::format;
use crate::frame::{Frame, Section};
use crate::orders::refunding_path;
use crate::text::texts;
use crate::words::NEEDS_ATTENTION;

texts! {
    NOTHING: "Nothing needs attention.", "没有需要关注的事项。";
    REFUNDING: "Open refunds", "退款中的订单";
    CHECKS: "Service checks that are not ok", "服务检查未通过";
    RULES: "Rules", "规则";
}

/// Renders the count of each reason, with a link to what it counts.
pub(super) fn card_of(frame: &Frame<'_>, view: &Overview) -> Markup {
    let group = view.groups.query();
    let devices = Need::ALL.iter().copied().map(|need| (need, view.sales.attention.count(need)));
    let devices = devices.filter(|(_, count)| *count > 0).map(|(need, count)| {
        let path = address(Section::Devices.path(), &[&parameter("needs", need.code()), &group]);
        (frame.say(need_name(need)), path, count)
    });
    let refunding = view.sales.attention.refunding;
    let refunds =
        (refunding > 0).then(|| (frame.say(REFUNDING), refunding_path(&view.groups), refunding));
    let checks = (frame.failed_checks > 0)
        .then(|| (frame.say(CHECKS), Section::Service.path().to_owned(), frame.failed_checks));
    let lines: Vec<(&str, String, i64)> =
        checks.into_iter().chain(devices).chain(refunds).collect();
    let body = html! {
        @if lines.is_empty() { (empty(frame.say(NOTHING))) }
        @else {
            ul.rows {
                @for (name, path, count) in &lines {
                    li { a href=(path) { (name) " " span.note { (format::count(*count)) } } }
                }
            }
        }
        details {
            summary { (frame.say(RULES)) }
            ul {
                @for need in Need::ALL { li { (frame.say(need_rule(*need))) } }
            }
        }
    };
    card("attention", frame.say(NEEDS_ATTENTION), "", &body)
}
