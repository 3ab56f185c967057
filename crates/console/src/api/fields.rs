//! Tables of fields.

use kiosque_openapi::reference::Field;
use maud::{Markup, html};

use super::chinese::prose;
use crate::components::{columns, table};
use crate::format;
use crate::frame::Frame;
use crate::text::texts;
use crate::words::NAME;

texts! {
    TYPE: "Type", "类型";
    REQUIRED: "Required", "必需";
    NULL: "Null", "可为空";
    LIMITS: "Limits", "限制";
    ABOUT: "Description", "描述";
    YES: "yes", "是";
    NO: "no", "否";
    DEFAULT: "default {0}", "默认 {0}";
}

/// Renders fields. `caption` names the table.
pub(super) fn list(frame: &Frame<'_>, caption: &str, fields: &[Field]) -> Markup {
    let columns = columns(frame, &[NAME, TYPE, REQUIRED, NULL, LIMITS, ABOUT], &[]);
    let answer = |is_so: bool| frame.say(if is_so { YES } else { NO });
    table(caption, &columns, fields, |field| {
        html! {
            th scope="row" { code { (field.name) } }
            td { (field.kind) }
            td { (answer(field.is_required)) }
            td { (answer(field.is_nullable)) }
            td { (limits(frame, field)) }
            td { (prose(frame.language, &field.about)) }
        }
    })
}

fn limits(frame: &Frame<'_>, field: &Field) -> String {
    let default = field.default.as_ref();
    let default = default.map(|default| DEFAULT.fill(frame.language, &[default]));
    let limits: Vec<String> = field.limits.iter().cloned().chain(default).collect();
    if limits.is_empty() { format::NONE.to_owned() } else { limits.join("; ") }
}
