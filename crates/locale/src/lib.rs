//! The texts for integrators in each language. A message that lacks a language does not compile.

use kiosque_contract::{Code, Envelope};
use kiosque_model::Refusal;
use kiosque_model::refusal::{Violation, ViolationKind};
use kiosque_model::setting::OutOfRange;
use kiosque_model::time::{NOT_A_FINER_UNIT, NOT_SECONDS};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A language of `msg` and of the console.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, EnumString, VariantArray)]
#[strum(ascii_case_insensitive, parse_err_ty = OutOfRange, parse_err_fn = unsupported)]
pub enum Locale {
    /// English.
    #[default]
    #[strum(serialize = "en")]
    En,
    /// Simplified Chinese.
    #[strum(serialize = "zh-CN")]
    ZhCn,
}

impl Locale {
    /// Every language.
    pub const ALL: &[Locale] = Locale::VARIANTS;

    /// Returns the language's tag, from which it is parsed in any case.
    pub fn tag(self) -> &'static str {
        self.into()
    }

    /// Returns the best match for an `X-Locale` header, which has the syntax of `Accept-Language`.
    pub fn best_match(header: &str) -> Option<Locale> {
        let choices = header.split(',').filter_map(|choice| {
            let (tag, weight) = choice.split_once(';').unwrap_or((choice, "q=1"));
            let weight = weight.trim().strip_prefix(['q', 'Q'])?.strip_prefix('=')?;
            let weight: f32 = weight.parse().ok()?;
            let locale = match tag.trim().split(['-', '_']).next()?.to_ascii_lowercase().as_str() {
                "en" => Locale::En,
                "zh" => Locale::ZhCn,
                _ => return None,
            };
            (weight > 0.0 && weight <= 1.0).then_some((weight, locale))
        });
        // Of equal weights, the first.
        let best = choices.rev().max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, locale)| locale)
    }
}

fn unsupported(text: &str) -> OutOfRange {
    OutOfRange(format!("{text:?} is not supported; use en or zh-CN"))
}

/// A text in each language, in the order of [`Locale::ALL`].
type Texts = [&'static str; Locale::ALL.len()];

/// A message of ENV-3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Message {
    /// 200.
    Success,
    /// -1.
    ApiNotEnabled,
    /// -1.
    NoGroup,
    /// -1.
    GroupClosed,
    /// -1.
    OutOfScope,
    /// -1.
    OrderUnknown,
    /// -1.
    Invalid,
    /// -1.
    TooManyFailures,
    /// -2.
    Credentials,
    /// -3.
    TokenMissing,
    /// -4.
    TokenInvalid,
    /// 0.
    NotFound,
    /// 500.
    System,
}

impl Message {
    /// Every message.
    pub const ALL: &[Message] = Message::VARIANTS;

    /// Returns the message of a refusal.
    pub const fn of(refusal: &Refusal) -> Message {
        match refusal {
            Refusal::ApiNotEnabled => Message::ApiNotEnabled,
            Refusal::NoGroup => Message::NoGroup,
            Refusal::GroupClosed => Message::GroupClosed,
            Refusal::OutOfScope => Message::OutOfScope,
            Refusal::OrderUnknown => Message::OrderUnknown,
            Refusal::Invalid(_) => Message::Invalid,
            Refusal::TooManyFailures { .. } => Message::TooManyFailures,
            Refusal::Credentials => Message::Credentials,
            Refusal::TokenMissing => Message::TokenMissing,
            Refusal::TokenInvalid | Refusal::SessionExpired => Message::TokenInvalid,
            Refusal::Unreadable(_) => Message::System,
            Refusal::NotFound => Message::NotFound,
        }
    }

    /// Returns the code of the message.
    pub const fn code(self) -> Code {
        self.code_and_texts().0
    }

    /// Returns the text, exactly as in ENV-3.
    pub const fn text(self, locale: Locale) -> &'static str {
        self.code_and_texts().1[locale as usize]
    }

    /// Returns whether a text is this message, in any language.
    pub fn has_text(self, text: &str) -> bool {
        Locale::ALL.iter().any(|locale| self.text(*locale) == text)
    }

    /// Returns the envelope with this message; `enMsg` is null on success alone (ENV-6).
    pub fn envelope<T>(self, locale: Locale, data: T) -> Envelope<T> {
        let en_msg = (self != Message::Success).then(|| self.text(Locale::En).into());
        Envelope { code: self.code().number(), msg: self.text(locale).into(), en_msg, data }
    }

    const fn code_and_texts(self) -> (Code, Texts) {
        match self {
            Message::Success => (Code::Success, ["success", "成功"]),
            Message::ApiNotEnabled => {
                let en = "Third-party API access is not enabled for this account. \
                    Please contact the platform operator.";
                (Code::Business, [en, "该账号未开通第三方 API 权限，请联系平台运营人员。"])
            }
            Message::NoGroup => {
                let en = "Current user is not bound to any group, login denied";
                (Code::Business, [en, "当前用户未绑定任何集团，禁止登录"])
            }
            Message::GroupClosed => {
                let en = "Group does not exist or has been deactivated";
                (Code::Business, [en, "集团不存在或已停用"])
            }
            Message::OutOfScope => {
                let en = "Requested device/group is not within your permission scope";
                (Code::Business, [en, "请求的设备或集团不在您的权限范围内"])
            }
            Message::OrderUnknown => (Code::Business, ["Order does not exist", "订单不存在"]),
            Message::Invalid => (Code::Business, ["The request is not valid", "请求参数不合法"]),
            Message::TooManyFailures => {
                let en = "Too many failed logins. Please try again later.";
                (Code::Business, [en, "登录失败次数过多，请稍后再试。"])
            }
            Message::Credentials => {
                (Code::Credentials, ["User name or password is wrong.", "用户名或密码错误。"])
            }
            Message::TokenMissing => {
                (Code::TokenMissing, ["Request head doesnot have token", "请求头缺少 token"])
            }
            Message::TokenInvalid => {
                let en = "Token is incorrect or invalid,please login again";
                (Code::TokenInvalid, [en, "token 错误或已失效，请重新登录"])
            }
            Message::NotFound => (Code::NotFound, ["Not found", "路径不存在"]),
            Message::System => (Code::System, ["system error", "系统错误"]),
        }
    }
}

/// Returns a violation in words, beginning with the field.
pub fn violation(violation: &Violation, locale: Locale) -> String {
    let (number, texts) = number_and_texts(violation.kind);
    let text = texts[locale as usize].replace("{}", &number);
    format!("{} {text}", violation.field)
}

/// Returns the texts of a violation after its field, and the number that replaces `{}` in them.
fn number_and_texts(kind: ViolationKind) -> (String, Texts) {
    let number = match kind {
        ViolationKind::OverMaximum(most) | ViolationKind::TooMuchWork(most) => most.to_string(),
        ViolationKind::RangeTooLong(days) | ViolationKind::RangeToNowTooLong(days) => {
            days.to_string()
        }
        ViolationKind::TooMany(most) => most.to_string(),
        _ => String::new(),
    };
    let texts = match kind {
        ViolationKind::Blank => ["must not be blank", "不能为空"],
        ViolationKind::NotText => ["must be a string", "必须是字符串"],
        ViolationKind::NotFlag => ["must be true or false", "必须是 true 或 false"],
        ViolationKind::NotInteger => ["must be an integer", "必须是整数"],
        ViolationKind::NotZeroOrOne => ["must be 0 or 1", "必须是 0 或 1"],
        ViolationKind::NotPositive => ["must be a positive integer", "必须是正整数"],
        ViolationKind::Negative => ["must not be negative", "不能为负数"],
        ViolationKind::OverMaximum(_) => ["must be at most {}", "不能大于 {}"],
        ViolationKind::NotCursor => [
            "must be the value of next in an answer, or null",
            "必须是某次应答中的 next，或为 null",
        ],
        ViolationKind::ForeignCursor => [
            "must be the value of next in an answer for the selected group; if it is, the data was \
             restored to an earlier state: begin again with null",
            "必须是当前集团某次应答中的 next；如果已经是，则数据已恢复到较早的状态：请以 null \
             重新开始",
        ],
        ViolationKind::Repeated => ["must be given once", "只能出现一次"],
        ViolationKind::AfterEnd => ["must not be after endTimestamp", "不能晚于 endTimestamp"],
        ViolationKind::AfterNow => {
            ["must not be after now, the default end", "不能晚于当前时间（默认的结束时间）"]
        }
        ViolationKind::NoTradeNumber => {
            ["or tradeNoIn must not be blank", "与 tradeNoIn 不能同时为空"]
        }
        ViolationKind::NotTexts => ["must be a list of strings", "必须是字符串数组"],
        ViolationKind::TooMany(_) => ["must have at most {} entries", "最多包含 {} 项"],
        ViolationKind::RangeTooLong(_) => {
            ["must not be more than {} days before endTimestamp", "距 endTimestamp 不能超过 {} 天"]
        }
        ViolationKind::RangeToNowTooLong(_) => [
            "must not be more than {} days before now, the default end",
            "距当前时间（默认的结束时间）不能超过 {} 天",
        ],
        ViolationKind::Seconds => [NOT_SECONDS, "必须以毫秒为单位；十位数字像是秒"],
        ViolationKind::FinerUnit => {
            [NOT_A_FINER_UNIT, "必须以毫秒为单位；十六位数字像是微秒，十九位数字像是纳秒"]
        }
        ViolationKind::TooMuchWork(_) => [
            "must be later: deviceCodes × days must be at most {}",
            "过早：deviceCodes × 天数不能超过 {}",
        ],
    };
    (number, texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_locale_takes_the_best_match() {
        for (header, want) in [
            ("en", Some(Locale::En)),
            ("zh-CN", Some(Locale::ZhCn)),
            ("zh_cn", Some(Locale::ZhCn)),
            ("ZH-hans-CN", Some(Locale::ZhCn)),
            ("en-GB", Some(Locale::En)),
            ("fr", None),
            ("fr, zh;q=0.3, en;q=0.7", Some(Locale::En)),
            ("fr, zh;q=0.9, en;q=0.7", Some(Locale::ZhCn)),
            ("zh;Q=0.9, en;q=0.1", Some(Locale::ZhCn)),
            ("en;q=0", None),
            ("en;q=x", None),
            ("zh;q=nan", None),
            ("en;q=0.2, zh;q=1.5", Some(Locale::En)),
            ("zh;q=inf, en", Some(Locale::En)),
            ("", None),
        ] {
            assert_eq!(Locale::best_match(header), want, "{header:?}");
        }
    }

    #[test]
    fn a_language_is_found_by_its_tag() {
        assert_eq!([Locale::En, Locale::ZhCn].map(Locale::tag), ["en", "zh-CN"]);
        let tagged = ["EN", "zh-cn", "zh", "fr"].map(|tag| tag.parse().ok());
        assert_eq!(tagged, [Some(Locale::En), Some(Locale::ZhCn), None, None]);
    }

    #[test]
    fn every_message_has_words_of_its_own_in_every_language() {
        for locale in Locale::ALL {
            let words: std::collections::HashSet<_> =
                Message::ALL.iter().map(|message| message.text(*locale)).collect();
            assert_eq!(words.len(), Message::ALL.len());
            assert!(words.iter().all(|text| !text.trim().is_empty()));
        }
    }

    #[test]
    fn a_violation_begins_with_its_field() {
        let too_large = Violation { field: "size", kind: ViolationKind::OverMaximum(100) };
        assert_eq!(violation(&too_large, Locale::En), "size must be at most 100");
        assert_eq!(violation(&too_large, Locale::ZhCn), "size 不能大于 100");
    }
}
