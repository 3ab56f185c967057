//! The summaries of the calls. Those in English are the documents' own.

use kiosque_openapi::reference::CallReference;
use maud::{Markup, html};

use super::fields::prose;
use crate::frame::Frame;
use crate::language::Language;

/// The summaries in Chinese, by `operationId`.
const CHINESE: [(&str, &str); 34] = [
    ("logIn", "登录，并替换该账户之前的会话。"),
    ("switchGroup", "选择另一个分组；新令牌替换旧令牌。"),
    ("logOut", "退出登录。"),
    ("devicePage", "列出所选分组或筛选分组的设备。"),
    ("queryOrderList", "列出一台设备的订单，最新到达的在前。"),
    ("orderDetail", "按交易号显示一个订单。"),
    ("orderChanges", "返回分组在游标之后变更的订单，可等待下一次变更。"),
    ("summary", "返回某一时段的关键指标，默认为本月至今；金额为美元。"),
    ("bestSellingProduct", "返回最畅销商品与排行；无销售时为 null。"),
    ("salesByDevice", "返回每台设备的销售额，金额最大的在前。"),
    ("salesTrend", "返回每天的销售额；无销售的日期为零。"),
    ("deviceAisle", "返回设备及其货柜、层与货道；价格为最小货币单位。"),
    ("deviceProfile", "返回分组的所有设备。"),
    ("onlineDevices", "返回每台设备的在线状态；没有请求体。"),
    ("livez", "程序运行时应答。"),
    ("metrics", "以 Prometheus 文本格式返回计数与指标。"),
    ("listAccounts", "按登录名返回账户，不含密码。"),
    ("receiveActivity", "存储设备心跳，每行一个。应答列出被拒绝的行，其余已存储。"),
    ("listAudit", "返回审计记录，最新在前。"),
    ("listChanges", "按最近变更返回分组的订单，每行一个；带 `follow` 时继续返回之后的每次变更。"),
    ("showDevice", "返回一台设备，含按日期的归属、按归属的订单及货道。"),
    ("listDevices", "按编码返回设备，含归属与最近活动。"),
    ("readFleet", "以设备清单文件返回清单，不含密码。"),
    ("applyFleet", "应用设备清单：创建或更改其中的条目。任一条目有错时，不应用任何内容。"),
    ("listGroups", "按编号返回分组，含设备、账户与订单的数量。"),
    ("listImports", "返回命令执行的导入，最近的在前。"),
    (
        "listOrders",
        "按分组与设备、以到达顺序返回订单，与集成方所见相同；带 `shipment`、`payment`、`since` 或 `until` 且没有 \
         `deviceCode` 时按时间返回，最新在前。",
    ),
    ("receiveOrders", "在订单到达时存储，每行一个。全部持久化后发送应答，其中列出被拒绝的行。"),
    ("listProducts", "按编号返回商品。"),
    ("listRates", "按货币与日期返回汇率。"),
    ("listSessions", "按登录名返回部分账户的有效会话；该部分可能没有会话。"),
    ("readStatus", "返回数据的总数与大小。"),
    ("readyz", "带会话的请求可应答且服务器未在停止时，返回 200。"),
    ("readyzOrders", "订单可存储且服务器未在停止时，返回 200；否则问题详情为其原因。"),
];

/// Returns the summary of a call in the language of the page, and the code of its language.
fn of(language: Language, call: &CallReference) -> (&str, Language) {
    let chinese = CHINESE.iter().find(|(id, _)| language == Language::Chinese && *id == call.id);
    chinese.map_or((call.summary.as_str(), Language::English), |(_, text)| (text, language))
}

/// Renders the summary of a call.
pub(super) fn summary(frame: &Frame<'_>, call: &CallReference) -> Markup {
    let (text, language) = of(frame.language, call);
    html! { span lang=(language.code()) { (prose(text)) } }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::Document;

    #[test]
    fn each_call_has_a_summary_in_chinese_and_no_other_has() {
        let calls = Document::ALL.into_iter().flat_map(|document| &document.reference().calls);
        let calls: BTreeSet<&str> = calls.map(|call| call.id.as_str()).collect();
        let named: BTreeSet<&str> = CHINESE.iter().map(|(id, _)| *id).collect();
        assert_eq!((named.len(), &named), (CHINESE.len(), &calls));
        let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
        assert!(CHINESE.iter().all(|(_, text)| text.contains(is_han)));
    }
}
